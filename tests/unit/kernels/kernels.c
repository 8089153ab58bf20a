/* The bodies of kernels.h. One is compiled at a time: KERNEL_name is defined. Parameters are 8 bytes each. */
#include "backend/cpu/abi.h"

void kernel(struct cpu_block *block, uint32_t first, uint32_t end);

static inline uint64_t parameter(const struct cpu_block *block, int i)
{
	return ((const uint64_t *)(const void *)block->parameters)[i];
}
static inline void *pointer(const struct cpu_block *block, int i)
{
	return (void *)(uintptr_t)parameter(block, i);
}
static inline uint32_t lanes_mask(uint32_t first, uint32_t end)
{
	return end - first >= 32 ? 0xffffffff : (1u << (end - first)) - 1;
}
static inline uint64_t block_number(const struct cpu_block *b)
{
	return b->index[0] + (uint64_t)b->grid[0] * (b->index[1] + (uint64_t)b->grid[1] * b->index[2]);
}

#define BODY void kernel(struct cpu_block *block, uint32_t first, uint32_t end)

#if defined(KERNEL_empty)
BODY
{
	(void)block, (void)first, (void)end;
}
#elif defined(KERNEL_vadd)
/* c[i] = a[i] + b[i], i < n */
BODY
{
	const int *a = pointer(block, 0), *b = pointer(block, 1);
	int *c = pointer(block, 2);
	uint64_t n = parameter(block, 3);
	for (uint32_t t = first; t < end; t++) {
		uint64_t i = block_number(block) * block->thread_count + t;
		if (i < n)
			c[i] = a[i] + b[i];
	}
}
#elif defined(KERNEL_block_sum) || defined(KERNEL_block_sum_scalar)
/* out[block] = sum of in[block * threads + t], by a tree with barriers */
BODY
{
	const int *in = pointer(block, 0);
	int *out = pointer(block, 1), *shared = (int *)(void *)block->shared;
	for (uint32_t t = first; t < end; t++)
		shared[t] = in[block_number(block) * block->thread_count + t];
	block->services->barrier(block, first, lanes_mask(first, end), 0, 0, 0, 0);
	for (uint32_t step = block->thread_count / 2; step; step /= 2) {
		for (uint32_t t = first; t < end && t < step; t++)
			shared[t] += shared[t + step];
		block->services->barrier(block, first, lanes_mask(first, end), 0, 0, 0, 0);
	}
	if (!first)
		out[block_number(block)] = shared[0];
}
#elif defined(KERNEL_which_form)
/* a[block] = 1 + the bytes of local memory that the form has, once *b is above the block's number */
BODY
{
	volatile uint32_t *out = pointer(block, 0);
	const volatile uint32_t *gate = pointer(block, 1);
	(void)end;
	while (!first && *gate <= block_number(block))
		;
	if (!first)
		out[block_number(block)] = 1 + (uint32_t)block->local_stride;
}
#elif defined(KERNEL_barrier_reduce)
/* out[group * 3 + op - 1]: predicate of thread t is (t % 3 == 0); then with all, then none true */
BODY
{
	uint32_t *out = pointer(block, 0), mask = lanes_mask(first, end), third = 0;
	for (uint32_t t = first; t < end; t++)
		third |= (uint32_t)(t % 3 == 0) << (t - first);
	uint32_t *mine = out + first / 32 * 5;
	mine[0] = block->services->barrier(block, first, mask, 0, 0, 1, third);
	mine[1] = block->services->barrier(block, first, mask, 1, 0, 2, third);
	mine[2] = block->services->barrier(block, first, mask, 1, 0, 3, third);
	mine[3] = block->services->barrier(block, first, mask, 2, 0, 2, 0xffffffff);
	mine[4] = block->services->barrier(block, first, mask, 2, 0, 3, 0);
}
#elif defined(KERNEL_producer)
/* Warp 0 produces, warp 1 consumes, ten times, through barriers 1 (full) and 2 (empty) of 64 threads; others just end. */
BODY
{
	volatile int *slot = (int *)(void *)block->shared;
	int *out = pointer(block, 0);
	uint32_t mask = lanes_mask(first, end);
	for (int i = 0; i < 10 && first < 64; i++) {
		if (!first) {
			if (i)
				block->services->barrier(block, first, mask, 2, 64, 0, 0);
			*slot = i * i;
			block->services->barrier_arrive(block, first, mask, 1, 64);
		} else {
			block->services->barrier(block, first, mask, 1, 64, 0, 0);
			out[i] = *slot;
			if (i < 9)
				block->services->barrier_arrive(block, first, mask, 2, 64);
		}
	}
}
#elif defined(KERNEL_early_exit)
/* Threads below n leave at once; the others count themselves at a barrier: popc of all that are left */
BODY
{
	uint32_t *out = pointer(block, 0);
	(void)end;
	if (first < parameter(block, 1))
		return;
	out[first] = block->services->barrier(block, first, 1, 0, 0, 1, 1);
}
#elif defined(KERNEL_exchange)
/* Butterfly sum of t + 1 over the warp, or within halves that use masks of their own; thread 5 leaves before */
BODY
{
	uint32_t *out = pointer(block, 0), lane = first % 32;
	uint32_t mask = !parameter(block, 1) ? 0xffffffff : lane < 16 ? 0x0000ffff : 0xffff0000;
	uint64_t values[32], sum = 0;
	(void)end;
	if (first == 5)
		return;
	uint32_t present = block->services->exchange(block, first, mask, first + 1, values);
	for (int i = 0; i < 32; i++)
		if (present >> i & 1)
			sum += values[i];
	present = block->services->exchange(block, first, mask, sum, values);
	out[first] = (uint32_t)values[mask & 1 ? 0 : 31];
}
#elif defined(KERNEL_exchange_foreign)
BODY
{
	uint64_t values[32];
	(void)end;
	block->services->exchange(block, first, 0x0000fffe, 1, values);
}
#elif defined(KERNEL_stuck)
/* Warp 0 waits for 64 threads at barrier 3, nobody else comes */
BODY
{
	if (!first)
		block->services->barrier(block, first, lanes_mask(first, end), 3, 64, 0, 0);
}
#elif defined(KERNEL_stuck_alone)
BODY
{
	block->services->barrier(block, first, lanes_mask(first, end), 3, 64, 0, 0);
}
#elif defined(KERNEL_greet)
BODY
{
	for (uint32_t t = first; t < end; t++) {
		struct {
			int block, thread;
			const char *text;
			double number;
		} arguments = { (int)block->index[0], (int)t, "hello", 1.5 };
		((int *)pointer(block, 0))[0] = block->services->print(block, t, "block %d thread %d: %s %.2f\n", &arguments);
	}
}
#elif defined(KERNEL_poke)
/* Block n writes to the address */
BODY
{
	(void)end;
	if (block_number(block) == parameter(block, 1) && !first)
		*(volatile int *)pointer(block, 0) = 1;
}
#elif defined(KERNEL_poke_thread)
BODY
{
	(void)end;
	if (block_number(block) == parameter(block, 1) && first == parameter(block, 2))
		(void)*(volatile int *)pointer(block, 0);
}
#elif defined(KERNEL_poke_lane) || defined(KERNEL_poke_group)
/* Thread n of block 2 reads at the address, those before it elsewhere */
BODY
{
	static const int fine = 0;
#if defined(KERNEL_poke_group)
	block->services->barrier(block, first, lanes_mask(first, end), 0, 0, 0, 0);
#endif
	for (uint32_t t = first; t < end; t++) {
		const volatile int *at = block_number(block) == 2 && t == parameter(block, 1) ? pointer(block, 0) : &fine;
		(void)*at;
	}
}
#elif defined(KERNEL_count_rows)
/* Blocks in x, row by row: each thread counts in a[block]; b: the most blocks that one call ran. Block c reads at address d. */
BODY
{
	int *counts = pointer(block, 0), *most = pointer(block, 1);
	uint32_t begin = block->index[0], stop = begin + block->more_x + 1, width = block->block[0];
	if (__atomic_load_n(most, __ATOMIC_RELAXED) < (int)(stop - begin))
		__atomic_store_n(most, (int)(stop - begin), __ATOMIC_RELAXED);
	for (uint32_t row = first; row < end; row += width)
		for (uint32_t x = begin; x < stop; x++) {
			block->index[0] = x;
			counts[block_number(block)] += (int)width;
			if (block_number(block) == parameter(block, 2))
				(void)*(volatile int *)pointer(block, 3);
		}
}
#elif defined(KERNEL_poke_shared)
BODY
{
	(void)first, (void)end;
	*(volatile int *)(void *)(block->shared + parameter(block, 0)) = 1;
}
#elif defined(KERNEL_grid_sync)
/* Every block adds 1 to round r of its counter; after the barrier all must see `blocks` of them; rounds counted in out */
BODY
{
	int *counts = pointer(block, 0), *good = pointer(block, 1), blocks = (int)(block->grid[0] * block->grid[1] * block->grid[2]);
	for (uint64_t round = 0; round < parameter(block, 2); round++) {
		if (!first)
			__atomic_fetch_add(&counts[round], 1, __ATOMIC_SEQ_CST);
		block->services->grid_barrier(block, first, lanes_mask(first, end));
		if (__atomic_load_n(&counts[round], __ATOMIC_SEQ_CST) == blocks)
			__atomic_fetch_add(good, 1, __ATOMIC_SEQ_CST);
	}
}
#elif defined(KERNEL_chain)
/* Block b waits until block b + 1 has set its flag: the last one begins */
BODY
{
	int *flags = pointer(block, 0);
	uint64_t b = block_number(block);
	(void)end;
	if (first)
		return;
	if (b + 1 < parameter(block, 1))
		while (!__atomic_load_n(&flags[b + 1], __ATOMIC_ACQUIRE))
			block->services->yield(block, first);
	__atomic_store_n(&flags[b], 1, __ATOMIC_RELEASE);
}
#elif defined(KERNEL_count_up)
BODY
{
	for (uint32_t t = first; t < end; t++)
		__atomic_fetch_add((uint32_t *)(uintptr_t)block->symbols[0], 1, __ATOMIC_RELAXED);
	if (!first && !block_number(block))
		*(uint64_t *)pointer(block, 0) = block->symbols[1];
}
#elif defined(KERNEL_undefined)
BODY
{
	(void)first, (void)end;
	*(int *)(uintptr_t)block->symbols[0] = 1;
}
#elif defined(KERNEL_call_table)
/* out = table[0](7): a function's address in a variable's initial value */
void twice(struct cpu_block *block, uint32_t thread, const void *parameters, void *results, const uint64_t *symbols);
void twice(struct cpu_block *block, uint32_t thread, const void *parameters, void *results, const uint64_t *symbols)
{
	(void)block, (void)thread, (void)symbols;
	*(int *)results = 2 * *(const int *)parameters;
}
BODY
{
	int in = 7;
	cpu_function_fn *function = *(cpu_function_fn **)(uintptr_t)block->symbols[0];
	(void)first, (void)end;
	function(block, 0, &in, pointer(block, 0), block->symbols);
}
#elif defined(KERNEL_assert_third)
BODY
{
	(void)end;
	if (block_number(block) == 3 && !first)
		block->services->assert_fail(block, 2, "x < 3", "file.cu", 12, "void f(int)");
}
#elif defined(KERNEL_trap)
BODY
{
	(void)end;
	block->services->trap(block, first, (uint32_t)parameter(block, 0));
}
#elif defined(KERNEL_heap)
/* out[0] allocations of 100000 bytes until there are no more, then all released; out[1]: one works again */
BODY
{
	uint64_t *out = pointer(block, 0), count = 0;
	void **last = 0;
	(void)end;
	for (void **at; (at = block->services->allocate(block, first, 100000)); last = at) {
		*at = last;
		count++;
	}
	while (last) {
		void **next = *last;
		block->services->release(block, first, last);
		last = next;
	}
	out[0] = count;
	out[1] = (uintptr_t)block->services->allocate(block, first, 100000) % 16 == 0;
}
#elif defined(KERNEL_heap_wrong)
BODY
{
	(void)end;
	block->services->release(block, first, (uint8_t *)block->services->allocate(block, first, 64) + 16);
}
#elif defined(KERNEL_spend)
/* Each block spends n microseconds, then adds 1 */
BODY
{
	uint64_t start = block->services->global_timer();
	(void)first, (void)end;
	while (block->services->global_timer() - start < parameter(block, 1) * 1000)
		;
	__atomic_fetch_add((int *)pointer(block, 0), 1, __ATOMIC_SEQ_CST);
}
#elif defined(KERNEL_recurse)
static int deeper(volatile char *above, uint64_t n)
{
	volatile char here[256];
	here[0] = above[0];
	return n ? deeper(here, n - 1) + here[0] : here[0];
}
BODY
{
	volatile char zero[1] = { 0 };
	(void)end;
	*(int *)pointer(block, 0) = deeper(zero, first ? 0 : parameter(block, 1));
}
#elif defined(KERNEL_locals)
/* Each thread fills its own local memory; out: how many found theirs untouched by the others */
BODY
{
	for (uint32_t t = first; t < end; t++)
		for (int i = 0; i < 10; i++)
			((uint32_t *)(void *)(block->local + t * block->local_stride))[i] = t * 10 + (uint32_t)i;
	for (uint32_t t = first; t < end; t++) {
		int good = 1;
		for (int i = 0; i < 10; i++)
			good &= ((uint32_t *)(void *)(block->local + t * block->local_stride))[i] == t * 10 + (uint32_t)i;
		__atomic_fetch_add((int *)pointer(block, 0), good, __ATOMIC_RELAXED);
	}
}
#elif defined(KERNEL_illegal)
BODY
{
	(void)block, (void)first, (void)end;
	__builtin_trap();
}
#elif defined(KERNEL_rounding)
/* out = a + b, by the processor as it is set */
BODY
{
	float a = ((float *)pointer(block, 0))[0], b = ((float *)pointer(block, 0))[1];
	(void)first, (void)end;
	((volatile float *)pointer(block, 0))[2] = a * b;
}
#elif defined(KERNEL_copy_block)
/* A large structure copied whole: memcpy, from the C library */
struct large {
	char bytes[4096];
};
BODY
{
	(void)first, (void)end;
	struct large *to = pointer(block, 0), *from = pointer(block, 1);
	*to = *from;
}
#endif
