/* Names of the device runtime's functions. */
#include "ir/device_runtime.h"

#include <string.h>

/* Those for per-thread default streams end in _ptsz: a thread's default stream is one like its block's here. */
int ir_device_call(const char *name)
{
	static const char prefix[] = "__cudaCDP2", per_thread[] = "_ptsz";
	static const char *const names[] = {
#define X(name) #name,
		DEVICE_CALLS(X)
#undef X
	};
	if (strncmp(name, prefix, sizeof prefix - 1))
		return -1;
	name += sizeof prefix - 1;
	size_t length = strlen(name);
	if (length > sizeof per_thread - 1 && !strcmp(name + length - (sizeof per_thread - 1), per_thread))
		length -= sizeof per_thread - 1;
	for (int i = 0; i < DEVICE_CALL_COUNT; i++)
		if (strlen(names[i]) == length && !strncmp(names[i], name, length))
			return i;
	return -1;
}
