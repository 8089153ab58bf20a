/* What graphs share with launches. */
#ifndef DRAGOMAN_DRIVER_LAUNCH_H
#define DRAGOMAN_DRIVER_LAUNCH_H

#include "driver/driver.h"

/* One launch attribute's effect; CUDA_ERROR_INVALID_VALUE for one that is not known. */
CUresult launch_apply_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue *value, struct launch_config *config);
CUresult launch_put(struct queue *queue, struct function *function, const struct launch_config *config);

/* cluster.c */
bool cluster_possible(const struct function *function);
/* Completes config->cluster; CUDA_ERROR_INVALID_CLUSTER_SIZE where the kernel or the grid does not go with it. */
CUresult cluster_check(const struct function *function, struct launch_config *config);
/* The launch with its grid counted in blocks; false where it is so already. */
bool cluster_scale_grid(const struct function *function, const struct launch_config *config, struct launch_config *scaled);

#endif
