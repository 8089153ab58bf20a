/* Signals that kernels raise. An access outside of what is mapped, on a thread that runs a kernel or a copy of ours,
 * ends that item: the handler throws the thread back to where the item began, and one line says where it was. Any
 * other signal is the program's own and goes on to the handler that was there before ours, exactly as the system would
 * have called it (sigaction(2), sigaltstack(2)). */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__aarch64__)
static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP }; /* a trap is brk */
#else
static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
#endif
static struct sigaction previous[ARRAY_LENGTH(signals)];
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool installed;
static _Atomic uint64_t checked_ns;

static _Thread_local struct worker *current_worker STATIC_TLS;
static _Thread_local bool in_previous STATIC_TLS;
static _Thread_local bool has_stack STATIC_TLS;

void cpu_fault_set_worker(struct worker *worker)
{
	current_worker = worker;
}

/* ---- the program's own handler ---------------------------------------------------------------- */

static size_t signal_index(int signal)
{
	size_t i = 0;
	while (i + 1 < ARRAY_LENGTH(signals) && signals[i] != signal)
		i++;
	return i;
}

static void call_previous(int signal, siginfo_t *info, void *context)
{
	struct sigaction *action = &previous[signal_index(signal)];
	bool takes_info = action->sa_flags & SA_SIGINFO;
	if (!takes_info && action->sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (in_previous || (!takes_info && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN))) {
		/* As if we were not there: the instruction is repeated, or the signal sent again. */
		struct sigaction plain = { .sa_handler = SIG_DFL };
		sigaction(signal, &plain, NULL);
		if (info->si_code <= 0)
			raise(signal);
		return;
	}
	sigset_t mask = action->sa_mask;
	if (!(action->sa_flags & SA_NODEFER))
		sigaddset(&mask, signal);
	pthread_sigmask(SIG_BLOCK, &mask, NULL); /* undone by the return from ours */
	struct sigaction copy = *action;
	if (copy.sa_flags & SA_RESETHAND)
		*action = (struct sigaction){ .sa_handler = SIG_DFL };
	/* A handler that was put over ours may hand on to us as its own previous one: do not go around in circles. */
	in_previous = true;
	if (takes_info)
		copy.sa_sigaction(signal, info, context);
	else
		copy.sa_handler(signal);
	in_previous = false;
}

static void get_place(const ucontext_t *context, struct fault *fault)
{
#if defined(__x86_64__)
	fault->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	fault->write = context->uc_mcontext.gregs[REG_ERR] & 2;
#elif defined(__aarch64__)
	fault->pc = context->uc_mcontext.pc;
#else
	(void)context, (void)fault;
#endif
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	struct worker *worker = current_worker;
	if (!worker || !worker->guarded || info->si_code <= 0) {
		call_previous(signal, info, context);
		return;
	}
	worker->guarded = false;
	worker->fault = (struct fault){ .signal = signal, .code = info->si_code, .address = (uintptr_t)info->si_addr };
	get_place(context, &worker->fault);
	/* The handler does not return. Ours blocks nothing, but what stands between the system and it may (ThreadSanitizer does):
	 * the next fault would end the process. */
	pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
	cpu_worker_abandon(worker);
}

/* ---- installing ------------------------------------------------------------------------------- */

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

static void install_locked(void)
{
	/* SA_NODEFER: the handler does not return after a fault of a kernel, so nothing would unblock the signal. */
	struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
		struct sigaction now;
		if (sigaction(signals[i], NULL, &now) || is_ours(&now))
			continue;
		previous[i] = now;
		sigaction(signals[i], &ours, NULL);
	}
}

void cpu_fault_install(void)
{
	if (atomic_load_explicit(&installed, memory_order_acquire)) {
		cpu_fault_recheck();
		return;
	}
	pthread_mutex_lock(&install_lock);
	if (!atomic_load(&installed)) {
		install_locked();
		atomic_store_explicit(&installed, true, memory_order_release);
	}
	pthread_mutex_unlock(&install_lock);
}

/* A program that installs a handler later covers ours. We go on top again and treat its handler as the previous one; but
 * system calls at every launch would cost too much. */
void cpu_fault_recheck(void)
{
	enum { EVERY_NS = 1000000 };
	uint64_t now = clock_ns(), last = atomic_load_explicit(&checked_ns, memory_order_relaxed);
	if (now - last < EVERY_NS || !atomic_compare_exchange_strong(&checked_ns, &last, now))
		return;
	pthread_mutex_lock(&install_lock);
	install_locked();
	pthread_mutex_unlock(&install_lock);
}

static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static size_t stack_bytes(void)
{
	long least = sysconf(_SC_MINSIGSTKSZ);
	return align_up((least > 0 ? (size_t)least : 4096) + (32 << 10), 4096);
}

static void stack_release(void *stack)
{
	stack_t off = { .ss_flags = SS_DISABLE };
	sigaltstack(&off, NULL);
	munmap(stack, stack_bytes());
}

static void stack_key_make(void)
{
	pthread_key_create(&stack_key, stack_release);
}

void cpu_fault_thread_begin(void)
{
	if (has_stack)
		return;
	has_stack = true;
	stack_t now;
	if (!sigaltstack(NULL, &now) && !(now.ss_flags & SS_DISABLE))
		return; /* the program's own serves as well */
	void *at = mmap(NULL, stack_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return;
	stack_t ours = { .ss_sp = at, .ss_size = stack_bytes() };
	if (sigaltstack(&ours, NULL)) {
		munmap(at, stack_bytes());
		return;
	}
	pthread_once(&stack_once, stack_key_make);
	pthread_setspecific(stack_key, at);
}

/* ---- what is said ------------------------------------------------------------------------------ */

static bool within(uint64_t address, const void *start, uint64_t size)
{
	return start && address >= (uintptr_t)start && address - (uintptr_t)start < size;
}

static void describe_address(const struct worker *worker, char *out, size_t size)
{
	const struct block_run *run = worker->active;
	uint64_t address = worker->fault.address;
	if (run && cpu_run_shares(run, address))
		snprintf(out, size, " (shared memory, offset %" PRId64 "; the block has %u bytes)", (int64_t)(address - (uintptr_t)run->block.shared),
			 (uint32_t)align_up(run->launch->abi.static_shared, 16) + run->launch->abi.dynamic_shared);
	else if (run && within(address, run->local, run->local_bytes + (64 << 10)))
		snprintf(out, size, " (past the end of local memory)");
	else if (within(address, worker->stack, 64 << 10) || (run && within(address, run->stacks, run->stacks_bytes)))
		snprintf(out, size, " (stack overflow: see cudaLimitStackSize)");
	else
		cpu_memory_describe(worker->device->memory, address, out, size);
}

static void describe_threads(struct worker *worker, char *out, size_t size)
{
	const struct block_run *run = worker->active;
	uint32_t first = run->current->first, last = run->current->end - 1, thread;
	if (first < last && cpu_find_thread(worker, &thread))
		first = last = thread;
	const uint32_t *n = run->block.block;
	if (first == last)
		snprintf(out, size, "thread (%u,%u,%u)", first % n[0], first / n[0] % n[1], first / n[0] / n[1]);
	else
		snprintf(out, size, "one of the threads (%u,%u,%u) to (%u,%u,%u)", first % n[0], first / n[0] % n[1], first / n[0] / n[1],
			 last % n[0], last / n[0] % n[1], last / n[0] / n[1]);
}

static int describe_fault(const struct worker *worker, char *out, size_t size)
{
	const struct fault *fault = &worker->fault;
	char where[160];
	switch (fault->signal) {
	case SIGFPE:
		snprintf(out, size, "arithmetic fault");
		return STATUS_LAUNCH_FAILED;
	case SIGILL:
	case SIGTRAP:
		snprintf(out, size, "illegal instruction");
		return STATUS_ILLEGAL_INSTRUCTION;
	case SIGBUS:
		if (fault->code == BUS_ADRALN) {
			snprintf(out, size, "misaligned address 0x%" PRIx64, fault->address);
			return STATUS_MISALIGNED_ADDRESS;
		}
		break;
	default:
		break;
	}
#ifdef SI_KERNEL
	if (fault->code == SI_KERNEL) {
		/* The processor does not say which: one that is no address at all (its upper bits do not agree). */
		snprintf(out, size, "illegal address: not a valid 64-bit address");
		return STATUS_ILLEGAL_ADDRESS;
	}
#endif
	describe_address(worker, where, sizeof where);
	snprintf(out, size, "illegal address 0x%" PRIx64 ", %s%s", fault->address, fault->write ? "written" : "read", where);
	return STATUS_ILLEGAL_ADDRESS;
}

void cpu_fault_report(struct worker *worker)
{
	char what[320], threads[120];
	const struct block_run *run = worker->active;
	if (!worker->fault.signal)
		return; /* a service has said why */
	int status = describe_fault(worker, what, sizeof what);
	if (!run) {
		worker->fault.signal = 0;
		log_error("copy or fill of device memory: %s", what);
		cpu_device_fail(worker->device, status);
		return;
	}
	/* One line a launch, and the rest of it stops; the status first, because finding the thread may come upon other errors. */
	int none = 0;
	if (!atomic_compare_exchange_strong(&run->launch->failed, &none, status)) {
		worker->fault.signal = 0;
		return;
	}
	cpu_device_fail(worker->device, status);
	describe_threads(worker, threads, sizeof threads);
	worker->fault.signal = 0;
	log_error("kernel %s, block (%u,%u,%u), %s: %s", run->launch->abi.name, run->block.index[0], run->block.index[1],
		  run->block.index[2], threads, what);
}
