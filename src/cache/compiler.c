/* Opens the compiler, the one object of ours that brings LLVM, when a kernel is met that is not in the cache. RTLD_LOCAL:
 * its symbols, and LLVM's, stay its own. A program that has loaded another LLVM before is told apart by LLVM's
 * symbol versions. */
#define _GNU_SOURCE
#include "cache/cache.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { STATUS_JIT_COMPILER_NOT_FOUND = 221 };

static const struct compiler *loaded;
static pthread_once_t load_once = PTHREAD_ONCE_INIT, identity_once = PTHREAD_ONCE_INIT;
static char identity[96];

static bool compiler_path(char out[PATH_MAX])
{
	const char *path = env_get("DRAGOMAN_COMPILER");
	if (path)
		return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
	const char *folder = env_library_folder();
	return folder && snprintf(out, PATH_MAX, "%s/libdragoman-compiler.so", folder) < PATH_MAX;
}

static void load(void)
{
	char path[PATH_MAX];
	if (!compiler_path(path)) {
		log_error("cannot tell where our own libraries are, so neither where the compiler is");
		return;
	}
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		log_error("kernels cannot be compiled: %s", dlerror());
		return;
	}
	const struct compiler *(*get)(void);
	*(void **)&get = dlsym(library, "dragoman_compiler");
	const struct compiler *compiler = get ? get() : NULL;
	if (!compiler || compiler->interface != COMPILER_INTERFACE) {
		log_error("kernels cannot be compiled: %s is of another version of Dragoman", path);
		dlclose(library);
		return;
	}
	log_info("compiler: %s (%s)", path, compiler->version);
	loaded = compiler;
}

const struct compiler *compiler_load(int *status)
{
	pthread_once(&load_once, load);
	*status = loaded ? 0 : STATUS_JIT_COMPILER_NOT_FOUND;
	return loaded;
}

/* Size and time of the file: any change of the compiler changes them, and asking costs one system call. Where the compiler is not
 * installed it is taken for the one that filled the cache: kernels that are in it run without a compiler. */
static void identify(void)
{
	char path[PATH_MAX];
	struct stat file;
	if (compiler_path(path) && !stat(path, &file))
		snprintf(identity, sizeof identity, "%s %lld %lld.%09ld", DRAGOMAN_VERSION, (long long)file.st_size,
			 (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
	else if (!cache_last_compiler(identity, sizeof identity))
		snprintf(identity, sizeof identity, "%s", DRAGOMAN_VERSION);
}

const char *compiler_identity(void)
{
	pthread_once(&identity_once, identify);
	return identity;
}

/* The compiler has one of its own: it shares no object with us. */
void compile_result_fini(struct compile_result *result)
{
	free(result->object);
	free(result->symbols);
	*result = (struct compile_result){ 0 };
}
