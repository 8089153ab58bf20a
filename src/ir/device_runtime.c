/* Names of the device runtime's functions. */
#include "ir/device_runtime.h"

#include <string.h>

static const char *without(const char *prefix, const char *name)
{
	size_t length = strlen(prefix);
	return strncmp(name, prefix, length) ? NULL : name + length;
}

/* Those for per-thread default streams end in _ptsz: a thread's default stream is one like its block's here. */
int ir_device_call(const char *name)
{
	static const char per_thread[] = "_ptsz";
	static const char *const names[] = {
#define X(name) #name,
		DEVICE_CALLS(X)
#undef X
	};
	const char *rest = without("__cudaCDP2", name);
	if (!rest)
		rest = without("cuda", name);
	if (!rest) /* what headers of CUDA 12 call cudaDeviceSynchronize() there */
		return strcmp(name, "__cudaDeviceSynchronizeDeprecationAvoidance") ? -1 : DEVICE_CALL_DeviceSynchronize;
	size_t length = strlen(rest);
	if (length > sizeof per_thread - 1 && !strcmp(rest + length - (sizeof per_thread - 1), per_thread))
		length -= sizeof per_thread - 1;
	for (int i = 0; i < DEVICE_CALL_COUNT; i++)
		if (strlen(names[i]) == length && !strncmp(names[i], rest, length))
			return i;
	return -1;
}
