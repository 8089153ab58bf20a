/* What graphs share with launches. */
#ifndef DRAGOMAN_DRIVER_LAUNCH_H
#define DRAGOMAN_DRIVER_LAUNCH_H

#include "driver/driver.h"

/* One launch attribute's effect; CUDA_ERROR_INVALID_VALUE for one that is not known. */
CUresult launch_apply_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue *value, struct launch_config *config);
CUresult launch_put(struct queue *queue, struct function *function, const struct launch_config *config);

#endif
