/* Kernels that take long to compile run in a quick form first (struct compile_options.may_be_quick), while threads here make the full one,
 * which then takes the quick one's place: struct variant.better. One or two threads, however many kernels wait; they end when none is left.
 *
 * - A module that is unloaded does not wait for the compiler: kernels of its that nobody has begun with are forgotten, and one that is being
 *   compiled goes into the cache alone. For that its PTX has an owner more.
 * - A process that ends does not wait either. But the destructors of LLVM's globals are run then, which a thread that is still in LLVM would
 *   not survive: it is stopped where it is, by a signal, at an instruction that is LLVM's or our compiler's own and not the C library's, so that
 *   it holds no lock of malloc or stdio.
 *   The quick form, which stays in the cache until the full one is there, tells the next process that this one came to its end too soon.
 * - In the child of a fork there are no such threads, and what they were about to do is forgotten: it keeps the quick forms. */
#define _GNU_SOURCE
#include "backend/common/common.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS = 2, CPUS_FOR_TWO = 4, STACK = 16 << 20, EXIT_TRIES = 200 /* milliseconds */ };

struct job {
	struct job *next;
	struct code_kernel *kernel; /* NULL: its module is gone */
	struct variant *variant;
	struct ptx_module *ptx;
	const struct ptx_function *function;
	struct compile_options options;
	struct cache_key key, quick_key;
	char *cpu, *features, *target;
	bool loading; /* the module must not go now */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* a job has come to its end, or a thread to its */
static struct job *waiting, *running, *of_parent[2] /* what a fork left, as it was */;
static int threads;
static bool off; /* the process ends */
static VEC(struct cache_key) begun; /* all that this process has asked for */
static struct background_counts counts;

/* ---- jobs ---------------------------------------------------------------------------------------- */

static char *copy_text(const char *text, bool *ok)
{
	char *copy = text ? strdup(text) : NULL;
	*ok = *ok && (!text || copy);
	return copy;
}

static void job_free(struct job *job)
{
	if (job->ptx)
		ptx_destroy(job->ptx);
	free(job->cpu);
	free(job->features);
	free(job->target);
	free(job);
}

static struct job *job_make(struct code_kernel *kernel, struct variant *variant, const struct compile_options *options,
			    const struct cache_key *key, const struct cache_key *quick_key, const char *target)
{
	struct job *job = calloc(1, sizeof *job);
	bool ok = true;
	if (!job)
		return NULL;
	*job = (struct job){ .kernel = kernel, .variant = variant, .function = kernel->function, .options = *options,
			      .key = *key, .quick_key = *quick_key };
	job->options.cpu = job->cpu = copy_text(options->cpu, &ok);
	job->options.features = job->features = copy_text(options->features, &ok);
	job->options.may_be_quick = false;
	job->target = copy_text(target, &ok);
	if (ok) {
		job->ptx = ptx_keep(kernel->module->ptx);
		return job;
	}
	job_free(job);
	return NULL;
}

static void unlink_locked(struct job **list, struct job *job)
{
	while (*list != job)
		list = &(*list)->next;
	*list = job->next;
}

/* What launches decided by the quick form's must be the full one's too. */
static bool may_replace(const struct kernel_info *quick, const struct kernel_info *full)
{
	const uint32_t together = KERNEL_COOPERATIVE | KERNEL_YIELDS;
	return quick->shared_bytes == full->shared_bytes && quick->parameter_bytes == full->parameter_bytes &&
	       quick->max_threads == full->max_threads && (quick->flags & together) == (full->flags & together);
}

/* The code for the kernel's module, in place of the variant's from now on; NULL and why not. */
static struct variant *load_better(struct job *job, const struct compile_result *result, const char **why)
{
	const struct code_ops *ops = job->kernel->module->ops;
	struct variant *better = calloc(1, ops->variant_size);
	*why = "out of memory";
	if (!better)
		return NULL;
	better->key = job->variant->key;
	better->info = result->info;
	*why = "its two forms need different things of a launch";
	if (may_replace(&job->variant->info, &result->info)) {
		if (!ops->load(job->kernel, better, result)) {
			atomic_store(&better->state, VARIANT_READY);
			atomic_store_explicit(&job->variant->better, better, memory_order_release);
			return better;
		}
		*why = "its code does not load";
		ops->unload(job->kernel, better);
	}
	free(better->message);
	free(better);
	return NULL;
}

static void replace(struct job *job, const struct compile_result *result)
{
	const char *why = NULL;
	pthread_mutex_lock(&lock);
	bool wanted = job->loading = job->kernel && !off;
	pthread_mutex_unlock(&lock);
	if (!wanted)
		return;
	bool loaded = load_better(job, result, &why) != NULL;
	if (!loaded)
		log_info("kernel %s stays in its quick form: %s", job->function->symbol.name, why);
	pthread_mutex_lock(&lock);
	job->loading = false;
	counts.replaced += loaded;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void compile_job(struct job *job)
{
	struct compile_result result = { 0 };
	struct ptx_diagnostic diagnostic = { 0 };
	const char *name = job->function->symbol.name;
	int status;
	const struct compiler *compiler = compiler_load(&status);
	uint64_t start = clock_ns();
	const struct ptx_module *ptx = ptx_whole(job->ptx, &diagnostic);
	bool good = compiler && ptx && compiler->compile(ptx, ptx->functions.data[job->function->index], &job->options, &result, &diagnostic);
	if (good) {
		log_info("compiled %s for blocks of (%u,%u,%u) in the background: %" PRIu64 " us", name, job->options.block[0],
			 job->options.block[1], job->options.block[2], (clock_ns() - start) / 1000);
		replace(job, &result);
		cache_put(&job->key, &result, name, job->target);
		cache_remove(&job->quick_key);
	} else {
		log_info("kernel %s stays in its quick form: %s", name, diagnostic.message ? diagnostic.message : "the full one does not compile");
	}
	ptx_diagnostic_fini(&diagnostic);
	compile_result_fini(&result);
}

/* ---- threads ------------------------------------------------------------------------------------- */

/* Each is one of the threads that the signal finds at the process's end. */
static struct thread {
	pthread_t id;
	bool used;
	_Atomic bool frozen;
} team[THREADS];
static _Thread_local struct thread *self;

static void *run_jobs(void *argument)
{
	self = argument;
	pthread_setname_np(pthread_self(), "dragoman-jit");
	pthread_mutex_lock(&lock);
	while (waiting && !off) {
		struct job *job = waiting;
		waiting = job->next;
		job->next = running;
		running = job;
		pthread_mutex_unlock(&lock);
		compile_job(job);
		pthread_mutex_lock(&lock);
		unlink_locked(&running, job);
		counts.done++;
		pthread_mutex_unlock(&lock);
		job_free(job);
		pthread_mutex_lock(&lock);
		pthread_cond_broadcast(&changed);
	}
	self->used = false;
	threads--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* The one signal that reaches these threads; its action is whatever the program gave it until the process ends. */
static int stop_signal(void)
{
	return SIGRTMAX - 3;
}

static void start_thread_locked(void)
{
	int most = sysconf(_SC_NPROCESSORS_ONLN) >= CPUS_FOR_TWO ? THREADS : 1;
	pthread_attr_t attributes;
	sigset_t all, before;
	struct thread *free_one = team;
	if (threads >= most || pthread_attr_init(&attributes))
		return;
	while (free_one->used)
		free_one++;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK);
	sigfillset(&all);
	sigdelset(&all, stop_signal());
	pthread_sigmask(SIG_SETMASK, &all, &before);
	free_one->used = !pthread_create(&free_one->id, &attributes, run_jobs, free_one);
	threads += free_one->used;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

/* ---- the end of the process ---------------------------------------------------------------------- */

struct range {
	uintptr_t begin, end;
};
static struct range compiler_code[4];
static unsigned compiler_ranges;

/* Where the code of LLVM lies, and that of the compiler, which is at `data`. */
static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	bool llvm = strstr(info->dlpi_name, "libLLVM");
	for (unsigned i = 0; i < info->dlpi_phnum && compiler_ranges < ARRAY_LENGTH(compiler_code); i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		struct range range = { info->dlpi_addr + part->p_vaddr, info->dlpi_addr + part->p_vaddr + part->p_memsz };
		bool own = (uintptr_t)data >= range.begin && (uintptr_t)data < range.end;
		if (part->p_type == PT_LOAD && part->p_flags & PF_X && (llvm || own))
			compiler_code[compiler_ranges++] = range;
	}
	return 0;
}

static void freeze(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;
#if defined(__x86_64__)
	uintptr_t pc = (uintptr_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	uintptr_t pc = at->uc_mcontext.pc;
#else
	uintptr_t pc = 0;
	(void)at;
#endif
	(void)signal, (void)info;
	for (unsigned i = 0; self && i < compiler_ranges; i++) {
		if (pc < compiler_code[i].begin || pc >= compiler_code[i].end)
			continue;
		atomic_store(&self->frozen, true);
		for (;;)
			pause();
	}
}

/* Tells each thread to stop until it has, or has come to its end. */
static void at_exit(void)
{
	struct sigaction action = { .sa_sigaction = freeze, .sa_flags = SA_SIGINFO | SA_RESTART }, old;
	int status;
	const struct compiler *compiler = compiler_load(&status);
	pthread_mutex_lock(&lock);
	off = true;
	if (running && compiler && !sigaction(stop_signal(), NULL, &old) && old.sa_handler == SIG_DFL) {
		void *code;
		memcpy(&code, &compiler->compile, sizeof code);
		dl_iterate_phdr(find_code, code);
		sigfillset(&action.sa_mask);
		sigaction(stop_signal(), &action, NULL);
	}
	for (int tries = 0; tries < EXIT_TRIES; tries++) {
		int moving = 0;
		for (int i = 0; i < THREADS; i++) {
			if (!team[i].used || atomic_load(&team[i].frozen))
				continue;
			moving++;
			if (compiler_ranges)
				pthread_kill(team[i].id, stop_signal());
		}
		if (!moving)
			break;
		pthread_mutex_unlock(&lock);
		usleep(1000);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	of_parent[0] = waiting;
	of_parent[1] = running;
	waiting = running = NULL;
	threads = 0;
	memset(team, 0, sizeof team);
	pthread_cond_init(&changed, NULL);
	pthread_mutex_unlock(&lock);
}

/* ---- from outside -------------------------------------------------------------------------------- */

static void prepare(void)
{
	/* Only now, when LLVM has been loaded: what is registered last is called first. */
	atexit(at_exit);
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void background_compile(struct code_kernel *kernel, struct variant *variant, const struct compile_options *options,
			const struct cache_key *key, const struct cache_key *quick_key, const char *target)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct job *job = job_make(kernel, variant, options, key, quick_key, target);
	if (!job)
		return;
	pthread_once(&once, prepare);
	pthread_mutex_lock(&lock);
	bool wanted = !off;
	if (wanted) {
		struct job **end = &waiting;
		while (*end)
			end = &(*end)->next;
		*end = job;
		counts.begun++;
		vec_push(&begun, *key);
		start_thread_locked();
	}
	pthread_mutex_unlock(&lock);
	if (!wanted)
		job_free(job);
}

bool background_began(const struct cache_key *key)
{
	bool found = false;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < begun.count && !found; i++)
		found = !memcmp(&begun.data[i], key, sizeof *key);
	pthread_mutex_unlock(&lock);
	return found;
}

void background_forget(struct code_module *module)
{
	struct job *forgotten = NULL;
	pthread_mutex_lock(&lock);
	for (struct job **link = &waiting; *link;) {
		struct job *job = *link;
		if (job->kernel->module != module) {
			link = &job->next;
			continue;
		}
		*link = job->next;
		job->next = forgotten;
		forgotten = job;
	}
	for (struct job *job = running; job;) {
		if (!job->kernel || job->kernel->module != module) {
			job = job->next;
		} else if (job->loading) {
			pthread_cond_wait(&changed, &lock);
			job = running; /* it may be gone */
		} else {
			job->kernel = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	while (forgotten) {
		struct job *job = forgotten;
		forgotten = job->next;
		job_free(job);
	}
}

struct background_counts background_wait(void)
{
	pthread_mutex_lock(&lock);
	while (threads)
		pthread_cond_wait(&changed, &lock);
	struct background_counts now = counts;
	pthread_mutex_unlock(&lock);
	return now;
}
