/* Fibers: stacks of their own that one thread switches between. A switch saves what the C calling convention
 * preserves and nothing else: about a nanosecond. x86-64 and AArch64 in assembly, ucontext elsewhere (or with
 * -DFIBER_UCONTEXT, which the tests use). Told to the address and thread sanitizers where those are on. */
#ifndef DRAGOMAN_FIBER_H
#define DRAGOMAN_FIBER_H

#include <stddef.h>
#include <stdint.h>

struct fiber {
	void *context;          /* stack pointer, or a ucontext_t */
	void *stack;            /* NULL for a thread's own stack */
	size_t stack_size;
	void *sanitizer;        /* ASan's fake stack or TSan's fiber */
};

/* A thread's own stack as a fiber to come back to; to be called on that thread. */
void fiber_adopt(struct fiber *fiber);
/* `fiber` will run entry(argument) when first switched to; entry must not return. The stack may be used again by a
 * later fiber_make() whatever the old one was doing. */
void fiber_make(struct fiber *fiber, void *stack, size_t size, void (*entry)(void *), void *argument);
void fiber_release(struct fiber *fiber); /* what sanitizers or ucontext hold; not the stack */
void fiber_switch(struct fiber *from, struct fiber *to);
_Noreturn void fiber_jump(struct fiber *from, struct fiber *to); /* `from` is not continued */

#endif
