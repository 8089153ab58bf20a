/* The context switch (System V AMD64 ABI 3.2.1, AAPCS64 6.1: callee-saved registers). The floating-point control
 * words are not switched: every fiber of a worker runs kernels, which share one setting (block.c). */
#define _GNU_SOURCE
#include "fiber.h"

#include <stdlib.h>
#include <string.h>

#include "base/sanitizer.h"

#ifdef WITH_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define FIBER_UCONTEXT 1
#endif

#ifdef FIBER_UCONTEXT
#include <ucontext.h>
#else
void dragoman_fiber_swap(void **from, void *to);
_Noreturn void dragoman_fiber_go(void *to);
void dragoman_fiber_start(void);
#endif

#if !defined(FIBER_UCONTEXT) && defined(__x86_64__)
/* A jump and no ret at the end: the processor would predict a return to whoever called, and be wrong each time. */
__asm__(".text\n"
	".p2align 4\n"
	".hidden dragoman_fiber_swap\n.globl dragoman_fiber_swap\n.type dragoman_fiber_swap, @function\n"
	"dragoman_fiber_swap:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	pop %rcx\n	jmp *%rcx\n"
	".size dragoman_fiber_swap, .-dragoman_fiber_swap\n"
	".hidden dragoman_fiber_go\n.globl dragoman_fiber_go\n.type dragoman_fiber_go, @function\n"
	"dragoman_fiber_go:\n"
	"	mov %rdi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	pop %rcx\n	jmp *%rcx\n"
	".size dragoman_fiber_go, .-dragoman_fiber_go\n"
	".hidden dragoman_fiber_start\n.globl dragoman_fiber_start\n.type dragoman_fiber_start, @function\n"
	"dragoman_fiber_start:\n"
	"	.cfi_startproc\n	.cfi_undefined rip\n"
	"	mov %r13, %rdi\n"
	"	call *%r12\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size dragoman_fiber_start, .-dragoman_fiber_start\n");

static void *context_make(void *stack, size_t size, void (*entry)(void *), void *argument)
{
	/* r15 r14 r13 r12 rbx rbp, the return address; the stack is 16-byte aligned where dragoman_fiber_start begins. */
	uintptr_t *top = (uintptr_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 9;
	top[0] = top[1] = 0;
	top[2] = (uintptr_t)argument;
	top[3] = (uintptr_t)entry;
	top[4] = top[5] = 0;
	top[6] = (uintptr_t)dragoman_fiber_start;
	top[7] = top[8] = 0;
	return top;
}
#elif !defined(FIBER_UCONTEXT) && defined(__aarch64__)
#define LOAD_ALL                                                                                           \
	"	ldp x19, x20, [sp, #0]\n	ldp x21, x22, [sp, #16]\n	ldp x23, x24, [sp, #32]\n"         \
	"	ldp x25, x26, [sp, #48]\n	ldp x27, x28, [sp, #64]\n	ldp x29, x30, [sp, #80]\n"         \
	"	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n	ldp d12, d13, [sp, #128]\n"        \
	"	ldp d14, d15, [sp, #144]\n	add sp, sp, #160\n	ret\n"
__asm__(".text\n"
	".p2align 4\n"
	".hidden dragoman_fiber_swap\n.globl dragoman_fiber_swap\n.type dragoman_fiber_swap, %function\n"
	"dragoman_fiber_swap:\n"
	"	sub sp, sp, #160\n"
	"	stp x19, x20, [sp, #0]\n	stp x21, x22, [sp, #16]\n	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n	stp x27, x28, [sp, #64]\n	stp x29, x30, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	"	mov x9, sp\n	str x9, [x0]\n	mov sp, x1\n" LOAD_ALL
	".size dragoman_fiber_swap, .-dragoman_fiber_swap\n"
	".hidden dragoman_fiber_go\n.globl dragoman_fiber_go\n.type dragoman_fiber_go, %function\n"
	"dragoman_fiber_go:\n	mov sp, x0\n" LOAD_ALL
	".size dragoman_fiber_go, .-dragoman_fiber_go\n"
	".hidden dragoman_fiber_start\n.globl dragoman_fiber_start\n.type dragoman_fiber_start, %function\n"
	"dragoman_fiber_start:\n"
	"	.cfi_startproc\n	.cfi_undefined x30\n"
	"	mov x0, x20\n	blr x19\n	brk #1\n"
	"	.cfi_endproc\n"
	".size dragoman_fiber_start, .-dragoman_fiber_start\n");

static void *context_make(void *stack, size_t size, void (*entry)(void *), void *argument)
{
	uintptr_t *top = (uintptr_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 20;
	memset(top, 0, 20 * sizeof *top);
	top[0] = (uintptr_t)entry;
	top[1] = (uintptr_t)argument;
	top[11] = (uintptr_t)dragoman_fiber_start;
	return top;
}
#endif

#ifdef FIBER_UCONTEXT
struct ucontext_fiber {
	ucontext_t context;
	void (*entry)(void *);
	void *argument;
};

/* makecontext() passes ints only: the pointer comes in two halves. */
static void ucontext_start(unsigned low, unsigned high)
{
	struct ucontext_fiber *self = (struct ucontext_fiber *)((uintptr_t)low | (uintptr_t)high << 16 << 16);
	self->entry(self->argument);
	abort();
}

static struct ucontext_fiber *ucontext_of(struct fiber *fiber)
{
	if (!fiber->context)
		fiber->context = calloc(1, sizeof(struct ucontext_fiber));
	if (!fiber->context)
		abort();
	return fiber->context;
}
#endif

void fiber_adopt(struct fiber *fiber)
{
	fiber->stack = NULL;
#ifdef WITH_TSAN
	fiber->sanitizer = __tsan_get_current_fiber();
#endif
}

static void fiber_landed(struct fiber *self)
{
	(void)self;
#ifdef WITH_ASAN
	/* Learns where the thread's own stack lies from the first switch away from it. */
	__sanitizer_finish_switch_fiber(self->sanitizer, NULL, NULL);
#endif
}

#ifdef WITH_ASAN
struct fiber_entry {
	void (*entry)(void *);
	void *argument;
};
static _Thread_local struct fiber_adopted {
	const void *bottom;
	size_t size;
} adopted;

static void fiber_first(void *at)
{
	struct fiber_entry entry = *(struct fiber_entry *)at;
	const void *bottom;
	size_t size;
	__sanitizer_finish_switch_fiber(NULL, &bottom, &size);
	entry.entry(entry.argument);
}

static void fiber_leaving(struct fiber *from, struct fiber *to)
{
	const void *bottom = to->stack;
	size_t size = to->stack_size;
	if (!bottom) {
		if (!adopted.bottom) {
			pthread_attr_t attributes;
			void *address = NULL;
			if (!pthread_getattr_np(pthread_self(), &attributes)) {
				pthread_attr_getstack(&attributes, &address, &adopted.size);
				pthread_attr_destroy(&attributes);
				adopted.bottom = address;
			}
		}
		bottom = adopted.bottom;
		size = adopted.size;
	}
	__sanitizer_start_switch_fiber(from ? &from->sanitizer : NULL, bottom, size);
}
#endif

void fiber_make(struct fiber *fiber, void *stack, size_t size, void (*entry)(void *), void *argument)
{
	fiber->stack = stack;
	fiber->stack_size = size;
#ifdef WITH_TSAN
	if (fiber->sanitizer)
		__tsan_destroy_fiber(fiber->sanitizer);
	fiber->sanitizer = __tsan_create_fiber(0);
#endif
#ifdef WITH_ASAN
	/* The entry's two words lie at the stack's low end until it starts. */
	struct fiber_entry *at = stack;
	__asan_unpoison_memory_region(stack, size);
	*at = (struct fiber_entry){ entry, argument };
	entry = fiber_first;
	argument = at;
	fiber->sanitizer = NULL;
#endif
#ifdef FIBER_UCONTEXT
	struct ucontext_fiber *self = ucontext_of(fiber);
	getcontext(&self->context);
	self->context.uc_stack.ss_sp = stack;
	self->context.uc_stack.ss_size = size;
	self->context.uc_link = NULL;
	self->entry = entry;
	self->argument = argument;
	uintptr_t bits = (uintptr_t)self;
	makecontext(&self->context, (void (*)(void))(uintptr_t)ucontext_start, 2, (unsigned)bits, (unsigned)(bits >> 16 >> 16));
#else
	fiber->context = context_make(stack, size, entry, argument);
#endif
}

void fiber_release(struct fiber *fiber)
{
#ifdef WITH_TSAN
	if (fiber->stack && fiber->sanitizer)
		__tsan_destroy_fiber(fiber->sanitizer);
#endif
#ifdef FIBER_UCONTEXT
	free(fiber->context);
#endif
	memset(fiber, 0, sizeof *fiber);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
#ifdef WITH_ASAN
	fiber_leaving(from, to);
#endif
#ifdef WITH_TSAN
	__tsan_switch_to_fiber(to->sanitizer, 0);
#endif
#ifdef FIBER_UCONTEXT
	swapcontext(&ucontext_of(from)->context, &ucontext_of(to)->context);
#else
	dragoman_fiber_swap(&from->context, to->context);
#endif
	fiber_landed(from);
}

_Noreturn void fiber_jump(struct fiber *from, struct fiber *to)
{
	(void)from;
#ifdef WITH_ASAN
	fiber_leaving(NULL, to);
#endif
#ifdef WITH_TSAN
	__tsan_switch_to_fiber(to->sanitizer, 0);
#endif
#ifdef FIBER_UCONTEXT
	setcontext(&ucontext_of(to)->context);
	abort();
#else
	dragoman_fiber_go(to->context);
#endif
}
