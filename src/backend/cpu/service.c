/* What compiled code asks the runtime for (struct cpu_services), other than barriers and exchanges (block.c), and what
 * becomes of a launch that one of them ends. Message texts follow CUDA's where CUDA has one (C++ assert in device code:
 * CUDA C++ Programming Guide, "Assertion"). */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"
#include "backend/cpu/texture_object.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

void cpu_launch_fail(struct launch *launch, struct device *device, int status)
{
	int none = 0;
	atomic_compare_exchange_strong(&launch->failed, &none, status);
	cpu_device_fail(device, status);
}

static void thread_index(const struct cpu_block *block, uint32_t thread, uint32_t out[3])
{
	out[0] = thread % block->block[0];
	out[1] = thread / block->block[0] % block->block[1];
	out[2] = thread / block->block[0] / block->block[1];
}

static _Noreturn void end_kernel(struct block_run *run, int status)
{
	cpu_launch_fail(run->launch, run->worker->device, status);
	cpu_worker_abandon(run->worker);
}

static int32_t service_print(struct cpu_block *block, uint32_t thread, const char *format, const void *arguments)
{
	struct block_run *run = block->worker;
	(void)thread;
	int32_t count = print_format(&run->printed, format, arguments, NULL, NULL);
	print_forget(&run->printed, atomic_load_explicit(&run->worker->device->print_limit, memory_order_relaxed));
	return count;
}

static void *service_allocate(struct cpu_block *block, uint32_t thread, uint64_t size)
{
	struct block_run *run = block->worker;
	(void)thread;
	return cpu_heap_allocate(run->worker->device->heap, size);
}

static void service_release(struct cpu_block *block, uint32_t thread, void *pointer)
{
	struct block_run *run = block->worker;
	uint32_t t[3];
	if (!pointer || cpu_heap_release(run->worker->device->heap, pointer))
		return;
	thread_index(block, thread, t);
	log_error("kernel %s, block (%u,%u,%u), thread (%u,%u,%u): free(%p): not an allocation of malloc in device code",
		  run->launch->abi.name, block->index[0], block->index[1], block->index[2], t[0], t[1], t[2], pointer);
	end_kernel(run, STATUS_ILLEGAL_ADDRESS);
}

static void service_assert_fail(struct cpu_block *block, uint32_t thread, const char *message, const char *file, uint32_t line,
				const char *function)
{
	struct block_run *run = block->worker;
	char text[2048];
	uint32_t t[3];
	thread_index(block, thread, t);
	int length = snprintf(text, sizeof text, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line,
			      function, block->index[0], block->index[1], block->index[2], t[0], t[1], t[2], message);
	if (length > 0)
		fwrite(text, 1, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1, stderr);
	end_kernel(run, STATUS_ASSERT);
}

static void service_trap(struct cpu_block *block, uint32_t thread, uint32_t status)
{
	struct block_run *run = block->worker;
	const char *what = status == STATUS_ILLEGAL_INSTRUCTION ? "illegal instruction" :
			   status == STATUS_MISALIGNED_ADDRESS  ? "misaligned address" :
								  "trap";
	uint32_t t[3];
	thread_index(block, thread, t);
	log_error("kernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s", run->launch->abi.name, block->index[0], block->index[1],
		  block->index[2], t[0], t[1], t[2], what);
	end_kernel(run, status ? (int)status : STATUS_LAUNCH_FAILED);
}

void cpu_service_end(struct cpu_block *block, int status)
{
	end_kernel(block->worker, status);
}

static void service_set_conditional(struct cpu_block *block, uint32_t thread, uint64_t handle, uint32_t value)
{
	(void)block, (void)thread;
	atomic_store_explicit((_Atomic uint32_t *)(uintptr_t)handle, value, memory_order_release);
}

static uint64_t service_global_timer(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t service_clock(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return clock_ns();
#endif
}

const struct cpu_services cpu_services = {
	.barrier = cpu_block_barrier,
	.barrier_arrive = cpu_block_barrier_arrive,
	.exchange = cpu_block_exchange,
	.yield = cpu_block_yield,
	.grid_barrier = cpu_block_grid_barrier,
	.cluster_arrive = cpu_block_cluster_arrive,
	.cluster_wait = cpu_block_cluster_wait,
	.print = service_print,
	.allocate = service_allocate,
	.release = service_release,
	.assert_fail = service_assert_fail,
	.trap = service_trap,
	.texture = cpu_texture_fetch,
	.surface = cpu_surface_access,
	.query = cpu_texture_query,
	.set_conditional = service_set_conditional,
	.syscall = cpu_device_call,
	.global_timer = service_global_timer,
	.clock = service_clock,
};
