/* What the tests of the CPU back end share: the device, a module of all test kernels (kernels/), launching. Include once a
 * program, before anything is started. */
#ifndef CPU_TEST_H
#define CPU_TEST_H

#define _GNU_SOURCE
#include "backend/cpu/cpu.h"
#include "kernels/kernels.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define RUN(...)      assert_int_equal((__VA_ARGS__), 0)
#define FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_begin, fixture_end)

struct fixture {
	const struct device_ops *ops;
	struct device *device;
	struct ptx_module *ptx;
	struct device_module *module;
	struct device_queue *queue;
};
static struct fixture fx;

static const char fixture_ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; st.param.b32 [r], %a; ret; }\n"
	".visible .global .align 8 .u64 table[3] = { twice, counter, counter+4 };\n"
	".visible .const .align 2 .u16 small[4] = { 1, 2, 0xffff };\n"
	".extern .global .u32 nowhere;\n"
#define KERNEL(name, ...)                                                                                              \
	".visible .entry " #name "(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }\n"
	TEST_KERNELS
#undef KERNEL
	".visible .entry unknown() { ret; }\n";

/* The stand-in for the compiler lies beside this program. */
static inline void fixture_environment(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	assert_true(length > 0);
	path[length] = 0;
	snprintf(strrchr(path, '/'), 64, "/kernels/libtest-compiler.so");
	setenv("DRAGOMAN_COMPILER", path, 1);
	if (!getenv("DRAGOMAN_CACHE_DIR"))
		setenv("DRAGOMAN_CACHE", "off", 1);
	if (!getenv("DRAGOMAN_THREADS"))
		setenv("DRAGOMAN_THREADS", "3", 1);
}

static inline int fixture_begin(void **state)
{
	struct ptx_diagnostic diagnostic = { 0 };
	int count;
	(void)state;
	fixture_environment();
	fx.ops = &cpu_device_ops;
	RUN(fx.ops->count(&count));
	assert_int_equal(count, 1);
	RUN(fx.ops->open(0, &fx.device));
	fx.ptx = ptx_parse(fixture_ptx, sizeof fixture_ptx - 1, "t.ptx", &diagnostic);
	if (!fx.ptx)
		fail_msg("%s", diagnostic.message);
	RUN(fx.ops->module_load(fx.device, fx.ptx, &fx.module, &diagnostic));
	RUN(fx.ops->queue_create(fx.device, 0, &fx.queue));
	return 0;
}

static inline int fixture_end(void **state)
{
	(void)state;
	fx.ops->queue_destroy(fx.queue);
	fx.ops->module_unload(fx.module);
	ptx_destroy(fx.ptx);
	fx.ops->close(fx.device);
	return 0;
}

static inline struct device_kernel *kernel_of(const char *name)
{
	struct device_kernel *kernel;
	const struct ptx_function *function = ptx_find_entry(fx.ptx, name);
	assert_non_null(function);
	RUN(fx.ops->module_kernel(fx.module, function, &kernel));
	return kernel;
}

struct shape {
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared;
	bool cooperative;
};
#define SHAPE(blocks, threads) ((struct shape){ { blocks, 1, 1 }, { threads, 1, 1 }, 0, false })

static inline int launch_on(struct device_queue *queue, const char *name, struct shape shape, uint64_t a, uint64_t b, uint64_t c,
			    uint64_t d)
{
	uint64_t parameters[4] = { a, b, c, d };
	struct launch_config config = { .parameters = parameters, .parameter_bytes = sizeof parameters };
	memcpy(config.grid, shape.grid, sizeof config.grid);
	memcpy(config.block, shape.block, sizeof config.block);
	config.cluster[0] = config.cluster[1] = config.cluster[2] = 1;
	config.dynamic_shared = shape.dynamic_shared;
	config.cooperative = shape.cooperative;
	return fx.ops->queue_launch(queue, kernel_of(name), &config);
}
#define LAUNCH(name, shape, a, b, c, d) \
	launch_on(fx.queue, name, shape, (uint64_t)(uintptr_t)(a), (uint64_t)(uintptr_t)(b), (uint64_t)(c), (uint64_t)(d))

static inline int synchronize(struct device_queue *queue)
{
	uint64_t ticket;
	RUN(fx.ops->queue_ticket(queue, &ticket));
	return fx.ops->queue_synchronize(queue, ticket);
}

static inline void *allocate(uint64_t size)
{
	void *at;
	RUN(fx.ops->allocate(fx.device, size, &at));
	memset(at, 0, size);
	return at;
}

/* What `body` writes to standard error (the log) or output. malloc'ed. */
static inline char *output_of(int fd, void (*body)(void))
{
	fflush(NULL);
	int saved = dup(fd);
	FILE *file = tmpfile();
	assert_non_null(file);
	dup2(fileno(file), fd);
	body();
	fflush(NULL);
	dup2(saved, fd);
	close(saved);
	long size = lseek(fileno(file), 0, SEEK_END);
	char *text = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(fileno(file), text, (size_t)size, 0), size);
	fclose(file);
	return text;
}

#endif
