/* Which of NVIDIA's libraries there are, and which of them we stand in for. */
#include "command.h"

#include "codegen/codegen.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool has_driver(const char *folder)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
	return !access(path, R_OK);
}

const char *libraries_folder(void)
{
	static char folder[PATH_MAX];
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length <= 0)
		return NULL;
	self[length] = 0;
	char *slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = 0;
	/* build/dragoman and build/lib; PREFIX/bin/dragoman and PREFIX/LIBDIR/dragoman, wherever PREFIX was moved to; where
	 * it was to be installed. */
	static const char *const places[] = { "lib", ("../" DRAGOMAN_LIBDIR), DRAGOMAN_INSTALLED };
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		bool absolute = places[i][0] == '/';
		snprintf(path, sizeof path, "%s%s%s", absolute ? "" : self, absolute ? "" : "/", places[i]);
		if (realpath(path, folder) && has_driver(folder))
			return folder;
	}
	return NULL;
}

/* Up to ".so": "libcudart" of libcudart.so.13. */
static size_t stem_length(const char *soname)
{
	const char *end = strstr(soname, ".so");
	return end ? (size_t)(end - soname) : strlen(soname);
}

bool library_is_cuda(const char *soname)
{
	static const char *const stems[] = {
		"libcuda",          "libcudart",
		"libcublas",        "libcublasLt",
		"libcufft",         "libcufftw",
		"libcurand",        "libcusolver",
		"libcusolverMg",    "libcusparse",
		"libcusparseLt",    "libcutensor",
		"libcudnn",         "libnvrtc",
		"libnvJitLink",     "libnvfatbin",
		"libnvptxcompiler", "libnvvm",
		"libnccl",          "libnvidia-ml",
		"libnvjpeg",        "libcupti",
		"libnvToolsExt",    "libcufile",
		"libnvblas",        "libnvidia-ptxjitcompiler",
		"libcudss",         "libnvshmem_host",
		"libcheckpoint",    "libcuinj64",
	};
	static const char *const families[] = { "libnpp", "libcudnn_", "libcufftMp", "libcublasMp", "libnvrtc-" };
	size_t length = stem_length(soname);
	for (size_t i = 0; i < ARRAY_LENGTH(stems); i++)
		if (strlen(stems[i]) == length && !memcmp(stems[i], soname, length))
			return true;
	for (size_t i = 0; i < ARRAY_LENGTH(families); i++)
		if (!strncmp(soname, families[i], strlen(families[i])))
			return true;
	return false;
}

bool library_is_ours(const char *soname)
{
	const char *folder = libraries_folder();
	char path[2 * PATH_MAX];
	if (!folder || strchr(soname, '/'))
		return false;
	snprintf(path, sizeof path, "%s/%s", folder, soname);
	return !access(path, R_OK);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

bool library_versions(const char *soname, struct text *out)
{
	struct dirent **names;
	const char *folder = libraries_folder();
	size_t start = out->count, length = stem_length(soname);
	int count = folder ? scandir(folder, &names, NULL, by_name) : -1;
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		if (stem_length(name) == length && !memcmp(name, soname, length) && !strncmp(name + length, ".so.", 4))
			text_printf(out, "%s%s", out->count > start ? ", " : "", name);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return out->count > start;
}

const struct compiler *compiler_open(struct text *why)
{
	char path[2 * PATH_MAX];
	const char *folder = libraries_folder();
	const char *other = env_get("DRAGOMAN_COMPILER"); /* as compiler_load() has it */
	snprintf(path, sizeof path, "%s%s",
		 other    ? other
		 : folder ? folder
			  : "",
		 other ? "" : "/libdragoman-compiler.so");
	void *library = other || folder ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		text_printf(why, "%s (it needs LLVM 19: apt-get install libllvm19)",
			    other || folder ? dlerror() : "Dragoman's libraries are not beside this command");
		return NULL;
	}
	const struct compiler *(*get)(void) =
		(const struct compiler *(*)(void))(uintptr_t)dlsym(library, "dragoman_compiler");
	const struct compiler *compiler = get ? get() : NULL;
	if (!compiler || compiler->interface != COMPILER_INTERFACE) {
		text_printf(why, "%s is of another version of Dragoman", path);
		return NULL;
	}
	return compiler;
}
