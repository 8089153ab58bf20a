/* libamdhip64, HIP's runtime: opened when first asked for, from DRAGOMAN_HIP, or the newest release that the loader finds, or ROCm's own
 * folder, which is on no path by default. Whatever it lacks is NULL in the table. */
#include "backend/amd/amd.h"

#include <dlfcn.h>
#include <stdio.h>

static const char *const names[] = {
	"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so",
};

static const struct {
	const char *name;
	size_t at;
} entries[] = {
#define ENTRY(name, result, arguments) { #name, offsetof(struct hip, name) },
	HIP_ENTRIES(ENTRY)
#undef ENTRY
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hip table;
static char path[512];
static bool opened;

static void *open_library(void)
{
	const char *wanted = env_get("DRAGOMAN_HIP");
	void *library = NULL;
	if (wanted) {
		library = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
		const char *why = library ? NULL : dlerror();
		snprintf(path, sizeof path, library ? "%s" : "DRAGOMAN_HIP=%s cannot be opened: %s", wanted, why ? why : "");
		return library;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(names) && !library; i++) {
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		snprintf(path, sizeof path, "%s", names[i]);
	}
	if (!library)
		snprintf(path, sizeof path, "HIP's runtime is not installed (libamdhip64.so.5 to .7, package rocm-hip-runtime or libamdhip64)");
	return library;
}

static void open_once(void)
{
	void *library = open_library();
	if (!library)
		return;
	opened = true;
	for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
		void *address = dlsym(library, entries[i].name);
		memcpy((char *)&table + entries[i].at, &address, sizeof address);
	}
}

const struct hip *amd_hip(void)
{
	pthread_once(&once, open_once);
	return &table;
}

const char *amd_hip_path(bool *found)
{
	amd_hip();
	*found = opened;
	return path;
}

int amd_hip_missing(const char *name)
{
	static _Atomic bool told[ARRAY_LENGTH(entries)];
	for (size_t i = 0; i < ARRAY_LENGTH(entries); i++)
		if (!strcmp(entries[i].name, name) && !atomic_exchange(&told[i], true))
			log_error("%s has no %s: a newer ROCm is needed for what the program asks", path, name);
	return HIP_NOT_SUPPORTED;
}
