/* What most tests of the driver API begin with. Needs check.h. */
#ifndef DRAGOMAN_TEST_CONTEXT_H
#define DRAGOMAN_TEST_CONTEXT_H

#include <cuda.h>

/* The primary context of device 0, made current. */
static inline void context_begin(void)
{
	CUcontext context;
	CUdevice device;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGet(&device, 0));
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK_OK(cuCtxSetCurrent(context));
}

#endif
