/* HIP's errors as CUDA's. HIP took CUDA's numbers; where the driver API has another, or none, the nearest is here. */
#include "backend/amd/amd.h"

#include <stdio.h>

int amd_status(int error)
{
	switch (error) {
	case HIP_SUCCESS:
		return STATUS_SUCCESS;
	/* Of the runtime API alone. */
	case HIP_INVALID_CONFIGURATION:
	case HIP_INVALID_PITCH:
	case HIP_INVALID_DEVICE_POINTER:
	case HIP_INVALID_COPY_DIRECTION:
	case HIP_MISSING_CONFIGURATION:
		return STATUS_INVALID_VALUE;
	case HIP_INVALID_SYMBOL:
		return STATUS_NOT_FOUND;
	case HIP_INSUFFICIENT_DRIVER:
		return STATUS_NO_DEVICE;
	case HIP_PRIOR_LAUNCH_FAILURE:
		return STATUS_LAUNCH_FAILED;
	case HIP_INVALID_DEVICE_FUNCTION:
		return STATUS_INVALID_IMAGE;
	/* HIP's own. */
	case HIP_RUNTIME_MEMORY:
		return STATUS_OUT_OF_MEMORY;
	case HIP_RUNTIME_OTHER:
		return STATUS_UNKNOWN;
	default: /* CUDA's numbers go up to 999 */
		return error > 0 && error <= STATUS_UNKNOWN ? error : STATUS_UNKNOWN;
	}
}

int amd_failed(int error, const char *format, ...)
{
	const struct hip *hip = amd_hip();
	const char *name = error && hip->hipGetErrorName ? hip->hipGetErrorName(error) : NULL;
	const char *text = error && hip->hipGetErrorString ? hip->hipGetErrorString(error) : NULL;
	char what[256];
	va_list arguments;
	if (!error)
		return STATUS_SUCCESS;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	log_error("%s: HIP says %s (%d%s%s)", what, name ? name : "an error", error, text ? ", " : "", text ? text : "");
	return amd_status(error);
}

bool amd_is_sticky(int status)
{
	switch (status) {
	case STATUS_ILLEGAL_ADDRESS:
	case STATUS_ASSERT:
	case STATUS_ILLEGAL_INSTRUCTION:
	case STATUS_MISALIGNED_ADDRESS:
	case STATUS_LAUNCH_FAILED:
	case 702: /* launch timeout */
	case 214: /* ECC, uncorrectable */
	case STATUS_UNKNOWN:
		return true;
	default:
		return false;
	}
}
