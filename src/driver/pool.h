/* Stream-ordered memory: pools. CUDA Driver API 6.15 "Stream Ordered Memory Allocator". */
#ifndef DRAGOMAN_DRIVER_POOL_H
#define DRAGOMAN_DRIVER_POOL_H

#include "driver/driver.h"

/* An allocation of a pool's leaves the map: its memory returns to the pool. */
void pool_give_back(const struct allocation *allocation);
/* The device's memory is short: give it all that pools hold free. */
void pools_trim(struct driver_device *device);
/* The host has waited for work of the device: give back what pools hold beyond their thresholds. */
void pools_synchronized(struct driver_device *device);
void pools_forget_context(struct context *context);
unsigned pool_handle_types(const struct allocation *allocation);

#endif
