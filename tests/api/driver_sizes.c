/* What kernels need, as a process says that has read their PTX, and as the next one says that reads their heads only because the cache knows
 * the sizes (src/driver/sizes.c). Expectations: what the PTX declares. Each process is this program with an argument. */
#define _GNU_SOURCE
#include <cuda.h>

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { FUNCTIONS = 64 };

/* Kernels k0 to k63: kI adds I to its element, calls a function with 4 * 16 bytes of shared memory where I is even, and has 4 * (I + 1) bytes of
 * its own. Bodies have braces where they do not count. */
static char *make_ptx(const char *more)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, ".version 7.8\n.target sm_80\n.address_size 64\n.func helper()\n{ .shared .align 4 .b8 own[64]; .reg .b32 %%x;\n"
		     " st.shared.u32 [own], %%x; ret; }\n%s", more);
	for (int i = 0; i < FUNCTIONS; i++)
		fprintf(out, ".visible .entry k%d(.param .u64 p) .maxntid %d\n{ // } \" not the end\n /* nor { this */ .reg .b64 %%a; .reg .b32 %%x, %%t;\n"
			     " .shared .align 4 .b8 tile[%d]; ld.param.u64 %%a, [p]; cvta.to.global.u64 %%a, %%a; mov.u32 %%t, %%tid.x;\n"
			     " mad.wide.u32 %%a, %%t, 4, %%a; ld.global.u32 %%x, [%%a]; add.u32 %%x, %%x, %d; { .pragma \"nounroll\"; }\n"
			     " st.shared.u32 [tile], %%x; %s st.global.u32 [%%a], %%x; ret; }\n",
			i, 32 * (i % 8 + 1), 4 * (i + 1), i, i % 2 ? "" : "call helper;");
	fclose(out);
	return text;
}

static int use_kernels(const char *ptx, int threads)
{
	CUcontext context;
	CUmodule module;
	CUdeviceptr p;
	unsigned values[64];

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, ptx))
		return 2;
	for (int i = 0; i < FUNCTIONS; i++) {
		char name[8];
		CUfunction function;
		int shared, most, local;

		snprintf(name, sizeof name, "k%d", i);
		CHECK_OK(cuModuleGetFunction(&function, module, name));
		CHECK_OK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
		CHECK_OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
		CHECK_OK(cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function));
		CHECK_INT(shared, 4 * (i + 1) + (i % 2 ? 0 : 64));
		CHECK_INT(most, 32 * (i % 8 + 1));
		CHECK_INT(local, 0);
	}
	CHECK_OK(cuMemAlloc(&p, sizeof values));
	for (int i = 0; i < 2; i++) {
		CUfunction function;
		void *parameters[] = {&p};

		CHECK_OK(cuModuleGetFunction(&function, module, i ? "k7" : "k6"));
		CHECK_OK(cuMemsetD32(p, 100, 64));
		CHECK_OK(cuLaunchKernel(function, 1, 1, 1, (unsigned)threads, 1, 1, 0, NULL, parameters, NULL));
		CHECK_OK(cuMemcpyDtoH(values, p, sizeof values));
		for (int k = 0; k < 64; k++)
			CHECK_INT(values[k], k < threads ? 106 + i : 100);
	}
	CHECK_OK(cuModuleUnload(module));
	return check_end();
}

/* A new process on the same folder; what it said, at the level of debugging, in `said`. */
static void run_child(const char *self, const char *what, const char *threads, char *said, size_t size)
{
	char command[4200];
	FILE *lines;

	snprintf(command, sizeof command, "DRAGOMAN_LOG=debug '%s' %s %s 2>&1", self, what, threads);
	lines = popen(command, "r");
	CHECK(lines);
	said[fread(said, 1, size - 1, lines)] = 0;
	CHECK_INT(pclose(lines), 0);
}

static int known(const char *said)
{
	return strstr(said, "their bodies are not read") != NULL;
}

/* Cuts each of the entries that are there to `length` bytes. */
static void damage(const char *folder, long length)
{
	DIR *listing = opendir(folder);
	struct dirent *file;
	char path[512];

	while (listing && (file = readdir(listing))) {
		snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
		if (strlen(file->d_name) == 64)
			CHECK_OK(truncate(path, length));
	}
	if (listing)
		closedir(listing);
}

int main(int argc, char **argv)
{
	static char said[1 << 20];
	char folder[] = "/tmp/dragoman-sizes-XXXXXX", command[64], self[4096] = {0};
	/* A variable of the device in a body has to get its place when the module is loaded. */
	const char *with_variable = ".func other() { .global .u32 mine = 5; .reg .b32 %x; ld.global.u32 %x, [mine]; ret; }\n";

	if (argc > 2) {
		char *ptx = make_ptx(strcmp(argv[1], "variable") ? "" : with_variable);
		int failed = use_kernels(ptx, atoi(argv[2]));

		free(ptx);
		return failed;
	}
	CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	CHECK(mkdtemp(folder));
	setenv("DRAGOMAN_CACHE_DIR", folder, 1);
	run_child(self, "plain", "32", said, sizeof said);
	CHECK(!known(said));
	run_child(self, "plain", "32", said, sizeof said);
	CHECK(known(said));
	run_child(self, "plain", "64", said, sizeof said); /* compiles for another shape, what it has to read the bodies for */
	CHECK(known(said));
	damage(folder, 200);
	run_child(self, "plain", "64", said, sizeof said);
	CHECK(!known(said) && strstr(said, "damaged"));
	run_child(self, "plain", "64", said, sizeof said);
	CHECK(known(said));
	run_child(self, "variable", "32", said, sizeof said);
	run_child(self, "variable", "32", said, sizeof said);
	CHECK(!known(said));
	snprintf(command, sizeof command, "rm -r %s", folder);
	CHECK_OK(system(command));
	return check_end();
}
