/* The driver's side of calls from device code. */
#ifndef DRAGOMAN_DRIVER_DEVICE_CALLS_H
#define DRAGOMAN_DRIVER_DEVICE_CALLS_H

#include "driver/driver.h"

extern const struct device_driver driver_for_device_code;

#endif
