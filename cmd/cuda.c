/* The way to our own libcuda (cuda.h). */
#include "cuda.h"

#include "command.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

const char *cuda_error(const struct cuda *cuda, int error)
{
	const char *name = NULL;
	return !cuda->error_name(error, &name) && name ? name : "an unknown error";
}

const struct cuda *cuda_open(void)
{
	static struct cuda cuda;
	static const struct {
		const char *name;
		size_t at;
	} entries[] = {
#define ENTRY(field, entry, arguments) { entry, offsetof(struct cuda, field) },
		CUDA_CALLS(ENTRY)
#undef ENTRY
	};
	char path[PATH_MAX + 32];
	const char *folder = libraries_folder();
	cuda_handle context;
	int device, error;
	snprintf(path, sizeof path, "%s/libcuda.so.1", folder ? folder : "");
	void *library = folder ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!library) {
		say("%s", folder ? dlerror() : "cannot find the folder with Dragoman's libcuda.so.1; see dragoman doctor");
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
		void *address = dlsym(library, entries[i].name);
		if (!address) {
			say("%s has no %s", path, entries[i].name);
			return NULL;
		}
		memcpy((char *)&cuda + entries[i].at, &address, sizeof address);
	}
	error = cuda.init(0);
	if (!error)
		error = cuda.device_get(&device, 0);
	if (!error)
		error = cuda.context_retain(&context, device);
	if (!error)
		error = cuda.context_set(context);
	if (!error)
		return &cuda;
	say("there is no device to use: %s", cuda_error(&cuda, error));
	return NULL;
}
