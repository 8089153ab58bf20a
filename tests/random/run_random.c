/* Runs PTX programs in all the forms that the compiler can give them and compares the memory that they leave, bit for bit, with
 * what the interpreter (interpret.h) leaves; where that does not know an instruction, with the scalar form's.
 *
 *     run_random [options] FILE.ptx …        a file's first line: // launch grid X Y Z block X Y Z words N seed N
 *
 * The kernel is the file's first entry, (.param .u64 memory, .param .u32 a, .param .u32 b): `words` 32-bit words of device
 * memory, filled from the seed. Options:
 *     --forms L:V:O:S:M,…  lanes, vector width, optimisation, specialised on the block shape (1) or not, and machine: 0 this one,
 *                          3 one with AVX2, 2 one with AVX and F16C
 *     --pick N             of the forms, N a program, chosen by its seed; without it all
 *     --quick              LLVM makes its code without care for speed (registers, order): half the time, and the same work for us
 *     --timeout S          seconds that a program may take in one form (a miscompiled loop need not end)
 *     --jobs N             processes
 *     --check              the interpreter alone: is the program valid?
 *     --compile            compile only, every kernel of any PTX (--pick: N of a file, spread over it): an internal error is a failure, what is
 *                          not supported yet is not
 *     --dump               print the words that differ
 * Exit status: 0 all agree, 1 some differ or fail, 2 some programs are invalid (and none differs). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/device.h"
#include "interpret.h"

struct form {
	unsigned lanes, vector, opt, special, machine;
};

/* The first is the scalar form, which stands in for the interpreter where that does not know an instruction. */
static const struct form all_forms[] = {
	{ 1, 0, 0, 1, 0 },  { 1, 0, 2, 1, 0 },  { 1, 0, 2, 0, 3 },   { 32, 8, 0, 1, 0 },  { 32, 8, 2, 1, 3 },  { 32, 8, 2, 0, 0 },
	{ 32, 4, 2, 1, 3 }, { 32, 4, 0, 0, 2 }, { 32, 16, 2, 1, 0 }, { 32, 16, 0, 0, 3 }, { 8, 8, 2, 1, 3 },   { 8, 8, 0, 0, 0 },
	{ 16, 8, 2, 1, 0 }, { 16, 4, 0, 0, 3 }, { 4, 4, 2, 1, 2 },   { 16, 16, 2, 0, 0 }, { 0, 0, 2, 1, 0 },   { 32, 8, 0, 1, 3 },
	{ 0, 0, 2, 1, 3 },  { 0, 0, 1, 1, 0 },  { 32, 8, 1, 1, 3 },
};

/* x86-64 with AVX2 (microarchitecture level 3), and before it. */
static const char *const machine_names[4] = { NULL, NULL, "ivybridge", "x86-64-v3" };
#define BEFORE "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+sahf,+avx,+f16c,+xsave"
static const char *const machine_features[4] = { NULL, NULL, BEFORE, BEFORE ",+avx2,+bmi,+bmi2,+fma,+lzcnt,+movbe" };

static bool machine_runs_here(unsigned machine)
{
#if defined(__x86_64__)
	return machine_names[machine % 4] && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
	(void)machine;
	return false;
#endif
}

struct options {
	struct form forms[64];
	unsigned form_count, pick, timeout, jobs;
	bool check, compile, dump, quick;
};

enum outcome { SAME, DIFFERENT, INVALID };

struct program {
	const char *path;
	char *text;
	size_t length, words;
	uint32_t grid[3], block[3];
	uint64_t seed;
	uint64_t parameters[2];
	uint32_t *start, *expected, *result;
};

struct runner {
	const struct options *options;
	struct device *device;
	struct device_queue *queue;
};

/* ---- programs ------------------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *length)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return NULL;
	struct text text = { 0 };
	char part[4096];
	for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
		text_add(&text, part, n);
	fclose(file);
	*length = text.count;
	return text.data;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s * UINT64_C(0x2545f4914f6cdd1d);
}

/* Random words, small numbers, and values at which something ends. */
static void fill_memory(struct program *p)
{
	static const uint32_t edges[] = { 0,          1,          2,          0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000,
					  0x7fc00000, 0x7f800000, 0xff800000, 0x00000001, 0x007fffff, 0x3f000000, 0x40490fdb, 31 };
	uint64_t s = p->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (size_t i = 0; i < p->words; i++) {
		uint64_t r = next_random(&s);
		uint32_t kind = r >> 60, low = (uint32_t)(r >> 8);
		p->start[i] = kind < 5 ? low : kind < 9 ? low & 0xff : kind < 12 ? edges[low % ARRAY_LENGTH(edges)] : low >> (low & 31);
	}
	p->parameters[1] = next_random(&s);
}

static bool load_program(struct program *p, const char *path)
{
	*p = (struct program){ .path = path };
	p->text = read_file(path, &p->length);
	unsigned g[3], b[3];
	unsigned long words, seed;
	if (!p->text || sscanf(p->text, "// launch grid %u %u %u block %u %u %u words %lu seed %lu", &g[0], &g[1], &g[2], &b[0], &b[1], &b[2],
			       &words, &seed) != 8) {
		printf("%s: cannot be read, or does not begin with its launch\n", path);
		free(p->text);
		return false;
	}
	for (int i = 0; i < 3; i++) {
		p->grid[i] = g[i];
		p->block[i] = b[i];
	}
	p->words = words;
	p->seed = seed;
	p->start = calloc(words + 1, 4);
	p->expected = calloc(words + 1, 4);
	p->result = calloc(words + 1, 4);
	fill_memory(p);
	return true;
}

static void free_program(struct program *p)
{
	free(p->text);
	free(p->start);
	free(p->expected);
	free(p->result);
}

static const struct ptx_function *first_entry(const struct ptx_module *module)
{
	for (size_t i = 0; i < module->functions.count; i++)
		if (module->functions.data[i]->is_entry)
			return module->functions.data[i];
	return NULL;
}

/* ---- the interpreter ------------------------------------------------------------------------------------------- */

static enum interpret_result interpret(const struct program *p, const struct ptx_module *module, uint32_t *out, bool backwards, char *why,
				       size_t why_size)
{
	size_t bytes = p->words * 4;
	uint64_t parameters[8] = { 0 };
	uint8_t *memory = aligned_alloc(64, align_up(bytes + 64, 64));
	memcpy(memory, p->start, bytes);
	parameters[0] = (uint64_t)(uintptr_t)memory;
	parameters[1] = p->parameters[1];
	struct interpret_launch launch = { .memory = memory, .memory_bytes = bytes, .parameters = (const uint8_t *)parameters,
					   .backwards = backwards };
	memcpy(launch.grid, p->grid, sizeof launch.grid);
	memcpy(launch.block, p->block, sizeof launch.block);
	enum interpret_result r = interpret_run(module, first_entry(module), &launch, why, why_size);
	memcpy(out, memory, bytes);
	free(memory);
	return r;
}

/* ---- the compiler ------------------------------------------------------------------------------------------------- */

static void set_number(const char *name, unsigned value)
{
	char text[16];
	snprintf(text, sizeof text, "%u", value);
	setenv(name, text, 1);
}

static void set_form(const struct form *form)
{
	set_number("DRAGOMAN_LANES", form->lanes);
	set_number("DRAGOMAN_VECTOR", form->vector);
	set_number("DRAGOMAN_OPT", form->opt);
	set_number("DRAGOMAN_ANY_SHAPE", !form->special);
	if (machine_runs_here(form->machine)) {
		setenv("DRAGOMAN_CPU", machine_names[form->machine % 4], 1);
		setenv("DRAGOMAN_CPU_FEATURES", machine_features[form->machine % 4], 1);
	} else {
		unsetenv("DRAGOMAN_CPU");
		unsetenv("DRAGOMAN_CPU_FEATURES");
	}
}

static int launch(struct runner *r, const struct program *p, struct device_kernel *kernel, void *memory)
{
	const struct device_ops *ops = &cpu_device_ops;
	uint64_t parameters[2] = { (uint64_t)(uintptr_t)memory, p->parameters[1] }, ticket;
	struct launch_config config = { .cluster = { 1, 1, 1 }, .parameters = parameters, .parameter_bytes = sizeof parameters };
	memcpy(config.grid, p->grid, sizeof config.grid);
	memcpy(config.block, p->block, sizeof config.block);
	int status = ops->queue_launch(r->queue, kernel, &config);
	if (!status)
		status = ops->queue_ticket(r->queue, &ticket);
	if (!status)
		status = ops->queue_synchronize(r->queue, ticket);
	return status ? status : ops->error(r->device);
}

/* Runs the program in one form; the CUresult. */
static int run_form(struct runner *r, const struct program *p, const struct ptx_module *ptx, const struct form *form)
{
	const struct device_ops *ops = &cpu_device_ops;
	struct ptx_diagnostic diagnostic = { 0 };
	struct device_module *module;
	struct device_kernel *kernel;
	void *memory;
	set_form(form);
	int status = ops->module_load(r->device, ptx, &module, &diagnostic);
	if (status)
		return status;
	status = ops->allocate(r->device, p->words * 4, &memory);
	if (!status) {
		memcpy(memory, p->start, p->words * 4);
		status = ops->module_kernel(module, first_entry(ptx), &kernel);
		status = status ? status : launch(r, p, kernel, memory);
		memcpy(p->result, memory, p->words * 4);
		ops->release(r->device, memory);
	}
	ops->module_unload(module);
	return status;
}

static bool compare(struct runner *r, const struct program *p, const char *how)
{
	size_t bad = 0, first = 0;
	for (size_t i = 0; i < p->words; i++)
		if (p->result[i] != p->expected[i] && !bad++)
			first = i;
	if (!bad)
		return true;
	printf("%s: DIFFERENT (%s): %zu words; word %zu is %08x, not %08x\n", p->path, how, bad, first, p->result[first], p->expected[first]);
	for (size_t i = 0; r->options->dump && i < p->words; i++)
		if (p->result[i] != p->expected[i])
			printf("    word %zu: %08x, not %08x\n", i, p->result[i], p->expected[i]);
	return false;
}

static void describe(const struct form *f, char *out, size_t size)
{
	snprintf(out, size, "%u:%u:%u:%u:%u", f->lanes, f->vector, f->opt, f->special, f->machine);
}

/* The scalar form's result becomes the expected one, where the interpreter gives none. */
static bool expect_scalar(struct runner *r, struct program *p, const struct ptx_module *ptx, const char *why)
{
	if (getenv("RANDOM_VERBOSE"))
		printf("%s: not interpreted: %s\n", p->path, why);
	int status = run_form(r, p, ptx, &all_forms[0]);
	memcpy(p->expected, p->result, p->words * 4);
	if (status)
		printf("%s: FAILED: status %d (scalar form)\n", p->path, status);
	return !status;
}

static enum outcome run_forms(struct runner *r, struct program *p, const struct ptx_module *ptx)
{
	const struct options *o = r->options;
	uint64_t s = p->seed + 77;
	bool good = true;
	unsigned count = o->pick && o->pick < o->form_count ? o->pick : o->form_count, start = (unsigned)(next_random(&s) >> 32);
	for (unsigned i = 0; i < count; i++) {
		/* a step with no divisor in common with the number of forms: no form twice */
		const struct form *form = &o->forms[(start + i * 7) % o->form_count];
		char how[64];
		describe(form, how, sizeof how);
		int status = run_form(r, p, ptx, form);
		if (status) {
			printf("%s: FAILED (%s): status %d\n", p->path, how, status);
			fflush(stdout);
			_exit(3); /* the device is not to be used any more */
		}
		good = compare(r, p, how) && good;
	}
	return good ? SAME : DIFFERENT;
}

/* ---- other people's kernels ------------------------------------------------------------------------------------------ */

static bool compile_kernel(struct runner *r, const struct ptx_module *ptx, const struct ptx_function *function, const struct form *form)
{
	static const uint32_t shapes[][3] = { { 256, 1, 1 }, { 16, 16, 1 }, { 33, 1, 1 } };
	struct ptx_diagnostic diagnostic = { 0 };
	struct device_module *module;
	struct device_kernel *kernel;
	struct kernel_info info;
	set_form(form);
	if (cpu_device_ops.module_load(r->device, ptx, &module, &diagnostic))
		return true;
	int status = cpu_device_ops.module_kernel(module, function, &kernel);
	const uint32_t *shape = function->reqntid[0] ? function->reqntid : shapes[function->index % ARRAY_LENGTH(shapes)];
	status = status ? status : cpu_device_ops.kernel_prepare(kernel, shape, &info, &diagnostic);
	char how[64];
	describe(form, how, sizeof how);
	bool good = !status || !diagnostic.message || !strstr(diagnostic.message, "internal error");
	if (!good || (status && getenv("RANDOM_VERBOSE")))
		printf("%s: %s (%s): kernel %s: %s\n", ptx->name, good ? "not compiled" : "FAILED", how, function->symbol.name,
		       diagnostic.message ? diagnostic.message : "?");
	ptx_diagnostic_fini(&diagnostic);
	cpu_device_ops.module_unload(module);
	return good;
}

static bool is_kernel(const struct ptx_function *function)
{
	return function->is_entry && !function->is_declaration;
}

static enum outcome compile_all(struct runner *r, const char *path)
{
	struct ptx_diagnostic diagnostic = { 0 };
	size_t length = 0;
	char *text = read_file(path, &length);
	struct ptx_module *ptx = text ? ptx_parse(text, length, path, &diagnostic) : NULL;
	bool good = true;
	size_t kernels = 0, seen = 0;
	for (size_t i = 0; ptx && i < ptx->functions.count; i++)
		kernels += is_kernel(ptx->functions.data[i]);
	for (size_t i = 0; ptx && i < ptx->functions.count; i++) {
		const struct ptx_function *function = ptx->functions.data[i];
		size_t pick = r->options->pick && r->options->pick < kernels ? r->options->pick : kernels;
		if (!is_kernel(function) || seen++ * pick % kernels >= pick)
			continue;
		for (unsigned f = 0; f < r->options->form_count; f++)
			good = compile_kernel(r, ptx, function, &r->options->forms[f]) && good;
	}
	enum outcome outcome = !ptx ? INVALID : good ? SAME : DIFFERENT;
	ptx_diagnostic_fini(&diagnostic);
	if (ptx)
		ptx_destroy(ptx);
	free(text);
	return outcome;
}

static enum outcome run_program(struct runner *r, const char *path)
{
	struct program p;
	struct ptx_diagnostic diagnostic = { 0 };
	char why[256] = "";
	if (!load_program(&p, path))
		return INVALID;
	enum outcome outcome = INVALID;
	struct ptx_module *ptx = ptx_parse(p.text, p.length, path, &diagnostic);
	if (!ptx || !first_entry(ptx)) {
		printf("%s: INVALID: %s\n", path, diagnostic.message ? diagnostic.message : "no kernel");
		ptx_diagnostic_fini(&diagnostic);
		free_program(&p);
		return outcome;
	}
	enum interpret_result result = interpret(&p, ptx, p.expected, false, why, sizeof why);
	if (result == INTERPRET_DONE && interpret(&p, ptx, p.result, true, why, sizeof why) == INTERPRET_DONE &&
	    memcmp(p.expected, p.result, p.words * 4)) {
		result = INTERPRET_INVALID;
		snprintf(why, sizeof why, "the result depends on the order of threads");
	}
	if (result == INTERPRET_INVALID)
		printf("%s: INVALID: %s\n", path, why);
	else if (r->options->check)
		outcome = SAME;
	else if (result == INTERPRET_UNKNOWN && !expect_scalar(r, &p, ptx, why))
		outcome = DIFFERENT;
	else
		outcome = run_forms(r, &p, ptx);
	ptx_destroy(ptx);
	free_program(&p);
	return outcome;
}

/* ---- processes --------------------------------------------------------------------------------------------------------- */

/* A child runs files one after the other and says how far it is; a crash or a loop without end costs the file it is at. */
static void child(const struct options *options, char **files, int count, int from, int step, int out)
{
	struct runner r = { .options = options };
	int number;
	setenv("DRAGOMAN_CACHE", "off", 1);
	setenv("DRAGOMAN_TIER", "full", 1);
	setenv("DRAGOMAN_THREADS", "1", 0);
	setenv("DRAGOMAN_VALIDATE", "1", 0);
	if (options->quick)
		setenv("DRAGOMAN_LLVM", "-optimize-regalloc=false -enable-misched=false", 0);
	if (!options->check && (cpu_device_ops.count(&number) || cpu_device_ops.open(0, &r.device) ||
				cpu_device_ops.queue_create(r.device, 0, &r.queue)))
		_exit(4);
	for (int i = from; i < count; i += step) {
		uint8_t outcome = (uint8_t)(options->compile ? compile_all(&r, files[i]) : run_program(&r, files[i]));
		fflush(stdout);
		if (write(out, &outcome, 1) != 1)
			break;
	}
	fflush(stdout);
	_exit(0);
}

struct job {
	pid_t pid;
	int in, at; /* at: the file it works on */
};

static void start_job(const struct options *o, struct job *job, char **files, int count)
{
	int ends[2];
	fflush(stdout);
	if (job->at >= count || pipe(ends)) {
		job->pid = 0;
		return;
	}
	job->pid = fork();
	if (!job->pid) {
		close(ends[0]);
		child(o, files, count, job->at, (int)o->jobs, ends[1]);
	}
	close(ends[1]);
	job->in = ends[0];
}

/* Follows one job through all of its files. */
static void follow(const struct options *o, struct job *job, char **files, int count, unsigned totals[3])
{
	start_job(o, job, files, count);
	while (job->pid > 0) {
		struct pollfd waiting = { .fd = job->in, .events = POLLIN };
		uint8_t outcome;
		int ready = poll(&waiting, 1, (int)o->timeout * 1000), status = 0;
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready > 0 && read(job->in, &outcome, 1) == 1) {
			totals[outcome % 3]++;
			job->at += (int)o->jobs;
			continue;
		}
		if (!ready)
			kill(job->pid, SIGKILL);
		waitpid(job->pid, &status, 0);
		close(job->in);
		if (!ready)
			printf("%s: FAILED: no end\n", files[job->at]);
		else if (job->at < count && !(WIFEXITED(status) && WEXITSTATUS(status) == 3))
			printf("%s: FAILED: crashed (%d)\n", files[job->at], status);
		if (job->at < count)
			totals[DIFFERENT]++;
		job->at += (int)o->jobs;
		start_job(o, job, files, count);
	}
}

static int run_all(const struct options *o, char **files, int count)
{
	unsigned totals[3] = { 0 }, failed = 0;
	int ends[2];
	if (pipe(ends))
		return 1;
	for (unsigned j = 0; j < o->jobs; j++) {
		if (fork())
			continue;
		struct job job = { .at = (int)j };
		follow(o, &job, files, count, totals);
		failed = write(ends[1], totals, sizeof totals) != sizeof totals;
		_exit((int)failed);
	}
	close(ends[1]);
	for (unsigned part[3]; read(ends[0], part, sizeof part) == sizeof part;)
		for (int i = 0; i < 3; i++)
			totals[i] += part[i];
	while (wait(NULL) > 0)
		;
	printf("%d programs: %u agree, %u differ, %u invalid\n", count, totals[SAME], totals[DIFFERENT], totals[INVALID]);
	return totals[DIFFERENT] ? 1 : totals[INVALID] || totals[SAME] != (unsigned)count ? 2 : 0;
}

static bool read_forms(struct options *o, const char *text)
{
	o->form_count = 0;
	while (text && *text && o->form_count < ARRAY_LENGTH(o->forms)) {
		struct form f = { 0 };
		if (sscanf(text, "%u:%u:%u:%u:%u", &f.lanes, &f.vector, &f.opt, &f.special, &f.machine) < 4)
			return false;
		o->forms[o->form_count++] = f;
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
	return o->form_count > 0;
}

int main(int argc, char **argv)
{
	struct options o = { .form_count = ARRAY_LENGTH(all_forms), .timeout = 60, .jobs = 1 };
	int i;
	memcpy(o.forms, all_forms, sizeof all_forms);
	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		bool good = true;
		if (!strcmp(argv[i], "--check"))
			o.check = true;
		else if (!strcmp(argv[i], "--compile"))
			o.compile = true;
		else if (!strcmp(argv[i], "--quick"))
			o.quick = true;
		else if (!strcmp(argv[i], "--dump"))
			o.dump = true;
		else if (!strcmp(argv[i], "--forms"))
			good = read_forms(&o, value), i++;
		else if (!strcmp(argv[i], "--pick"))
			o.pick = (unsigned)atoi(value), i++;
		else if (!strcmp(argv[i], "--timeout"))
			o.timeout = (unsigned)atoi(value), i++;
		else if (!strcmp(argv[i], "--jobs"))
			o.jobs = (unsigned)atoi(value), i++;
		else
			good = false;
		if (!good || !o.jobs || !o.timeout) {
			fprintf(stderr, "run_random: %s: see the head of run_random.c\n", argv[i < argc ? i : argc - 1]);
			return 4;
		}
	}
	if (i >= argc) {
		fprintf(stderr, "usage: run_random [options] FILE.ptx ...\n");
		return 4;
	}
	return run_all(&o, argv + i, argc - i);
}
