/* DRAGOMAN_COMPARE: each launch is done twice, on the CPU and on an AMD GPU, and what they wrote is compared. For tests of the AMD back end
 * and for its users: `dragoman run --device cpu,amd --compare PROGRAM`. */
#ifndef DRAGOMAN_DRIVER_COMPARE_H
#define DRAGOMAN_DRIVER_COMPARE_H

#include "driver/driver.h"

/* The device that launches are done on too. Before anything runs. */
void compare_init(const struct device_ops *ops, struct device *device);
/* A launch as the queue does it, and again there. Back when all is done. */
CUresult compare_launch(struct queue *queue, struct function *function, const struct launch_config *config);
void compare_forget(const struct module *module); /* it is about to be unloaded */

#endif
