/* The kernels that the CPU back end's tests run, and what the compiler would have said of each. They are written in C to the
 * contract of backend/cpu/abi.h and compiled to one object each (kernels.c with KERNEL_<name> defined); compiler.c stands in
  * for the compiler and hands the objects out. A row: name, lanes, flags, shared bytes, local bytes, symbols. */
#ifndef TEST_KERNELS_H
#define TEST_KERNELS_H

#define TEST_KERNELS                                                                                                   \
	KERNEL(empty, 32, 0, 0, 0, "")                                                                                 \
	KERNEL(vadd, 32, 0, 0, 0, "")                                                                                  \
	KERNEL(block_sum, 32, KERNEL_SUSPENDS, 4096, 0, "")                                                            \
	KERNEL(block_sum_scalar, 1, KERNEL_SUSPENDS, 4096, 0, "")                                                      \
	KERNEL(barrier_reduce, 32, KERNEL_SUSPENDS, 0, 0, "")                                                          \
	KERNEL(producer, 32, KERNEL_SUSPENDS, 256, 0, "")                                                              \
	KERNEL(early_exit, 1, KERNEL_SUSPENDS, 0, 0, "")                                                               \
	KERNEL(exchange, 1, KERNEL_SUSPENDS, 0, 0, "")                                                                 \
	KERNEL(exchange_foreign, 1, KERNEL_SUSPENDS, 0, 0, "")                                                         \
	KERNEL(stuck, 32, KERNEL_SUSPENDS, 0, 0, "")                                                                   \
	KERNEL(stuck_alone, 32, KERNEL_SUSPENDS, 0, 0, "")                                                             \
	KERNEL(greet, 32, KERNEL_PRINTS, 0, 0, "")                                                                     \
	KERNEL(poke, 32, 0, 0, 0, "")                                                                                  \
	KERNEL(poke_thread, 1, KERNEL_SUSPENDS, 0, 0, "")                                                              \
	KERNEL(poke_lane, 32, 0, 0, 0, "")                                                                             \
	KERNEL(poke_group, 32, KERNEL_SUSPENDS, 0, 0, "")                                                              \
	KERNEL(count_rows, 32, KERNEL_ROWS, 0, 0, "")                                                                   \
	KERNEL(poke_shared, 32, 0, 64, 0, "")                                                                          \
	KERNEL(grid_sync, 32, KERNEL_SUSPENDS | KERNEL_COOPERATIVE, 0, 0, "")                                          \
	KERNEL(chain, 32, KERNEL_SUSPENDS | KERNEL_YIELDS, 0, 0, "")                                                   \
	KERNEL(count_up, 32, 0, 0, 0, "counter\0table\0")                                                              \
	KERNEL(undefined, 32, 0, 0, 0, "nowhere\0")                                                                    \
	KERNEL(call_table, 32, 0, 0, 0, "table\0")                                                                     \
	KERNEL(assert_third, 32, 0, 0, 0, "")                                                                          \
	KERNEL(trap, 32, 0, 0, 0, "")                                                                                  \
	KERNEL(heap, 32, 0, 0, 0, "")                                                                                  \
	KERNEL(heap_wrong, 32, 0, 0, 0, "")                                                                            \
	KERNEL(spend, 32, 0, 0, 0, "")                                                                                 \
	KERNEL(recurse, 32, KERNEL_SUSPENDS, 0, 0, "")                                                                 \
	KERNEL(locals, 32, 0, 0, 40, "")                                                                               \
	KERNEL(illegal, 32, 0, 0, 0, "")                                                                               \
	KERNEL(rounding, 32, 0, 0, 0, "")                                                                              \
	KERNEL(copy_block, 32, 0, 0, 0, "")                                                                            \
	KERNEL(which_form, 32, 0, 0, 0, "")

#endif
