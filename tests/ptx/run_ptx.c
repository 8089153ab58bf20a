/* Runs tests that are PTX files: a kernel each, its input and what must come out in comments before it.
 *
 *     //# name    what is tested
 *     //# threads 256            of one block; blocks 2 where there are more
 *     //# in      sweep 768      a fixed mixture of random words and edge cases, or words in hexadecimal; may go on on more lines
 *     //# out     3f800000 …     exactly these; - for any
 *     //# range   3f7ffffe 3f800001 …   for floats: a pair a word, least and largest; 7fffffff 7fffffff: a NaN
 *     //# hash    cbf29ce4…      FNV-1a of all words that come out
 *     //# once                   lanes must not be run in two parts (warp-wide instructions)
 *     //# fails CUDA_ERROR_…     what the launch must come to; in a process of its own
 *     .visible .entry k0(.param .u64 in, .param .u64 out, .param .u32 lanes)
 *
 * A kernel does its work for lanes of a warp whose bit is set in `lanes`. Each is run in the scalar form and as vectors of 4, 8
 * and 16 lanes, unoptimised and optimised, with all lanes at once and under divergence (odd ones out first, then the rest): all must
 * give the same. Words that are not stated are not checked.
 *
 *     run_ptx FILE.ptx [TEST-NAME-PART]
 *
 *     RUN_PTX_MODES=lanes:vector:opt,…   to choose modes
 *     RUN_PTX_EVERY=N or N:K             only every Nth test, from the first or the Kth on (counted from 0)
 *     RUN_PTX_RESULTS=FILE               a line a test: passed, failed or skipped, a tab, its name */
#include <cuda.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 1 << 16, MAX_REPORTS = 3 };

struct words {
	uint32_t *data;
	bool *any;
	size_t count;
};

struct test {
	char name[128], entry[64], fails[64];
	unsigned threads, blocks;
	struct words in, out, range;
	bool has_hash, once;
	uint64_t hash;
};

struct mode {
	unsigned lanes, vector, opt;
};

static const struct mode all_modes[] = { { 1, 0, 0 }, { 1, 0, 2 }, { 32, 8, 0 }, { 32, 8, 2 }, { 32, 4, 2 }, { 32, 16, 2 }, { 8, 8, 2 } };

/* ---- reading ------------------------------------------------------------------------------------------------ */

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	char *text = malloc((size_t)size + 1);
	if (text && fread(text, 1, (size_t)size, file) == (size_t)size)
		text[size] = 0;
	fclose(file);
	return text;
}

static void add_word(struct words *w, uint32_t word, bool any)
{
	if (!w->data) {
		w->data = calloc(MAX_WORDS, sizeof *w->data);
		w->any = calloc(MAX_WORDS, sizeof *w->any);
	}
	if (w->count < MAX_WORDS) {
		w->data[w->count] = word;
		w->any[w->count++] = any;
	}
}

/* Random bits, and in a third of the places values at which something ends: zeros, ones, NaNs, subnormals, ties; as floats, halves
 * and integers. The same words as in the recordings of a real card (model/hardware.txt). */
static void add_sweep(struct words *w, unsigned count)
{
	static const uint32_t edges[32] = {
		0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7fc00000, 0xff800001, 0x00000001, 0x007fffff,
		0x7f7fffff, 0x3f7fffff, 0x3f800001, 0x3f801000, 0x3dcccccd, 0x40000000, 0xc0400000, 0x7f800000,
		0x3c00bc00, 0x7e003c00, 0x00010002, 0x7bff7c00, 0x3bff3c01, 0x80000000, 0x3f80bf80, 0x7fc0ff80,
		0x12345678, 0x9abcdef0, 0x007fffff, 0x7fffffff, 0x00800000, 0xffffffff, 0x0f1e2d3c, 0x00000003,
	};
	uint64_t s = UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned i = 0; i < count; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		add_word(w, (s >> 40) % 3 ? (uint32_t)s : edges[(s >> 48) % 32], false);
	}
}

static void add_words(struct words *w, char *text)
{
	for (char *word = strtok(text, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
		if (!strcmp(word, "sweep"))
			add_sweep(w, (unsigned)strtoul(strtok(NULL, " \t\r\n"), NULL, 10));
		else
			add_word(w, (uint32_t)strtoul(word, NULL, 16), *word == '-');
	}
}

/* One `//# key value` line. */
static void read_line(struct test *test, char *line)
{
	char key[16];
	int at = 0;
	if (sscanf(line, "%15s %n", key, &at) != 1)
		return;
	char *value = line + at;
	value[strcspn(value, "\r\n")] = 0;
	if (!strcmp(key, "name"))
		snprintf(test->name, sizeof test->name, "%s", value);
	else if (!strcmp(key, "threads"))
		test->threads = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(key, "blocks"))
		test->blocks = (unsigned)strtoul(value, NULL, 10);
	else if (!strcmp(key, "in"))
		add_words(&test->in, value);
	else if (!strcmp(key, "out"))
		add_words(&test->out, value);
	else if (!strcmp(key, "range"))
		add_words(&test->range, value);
	else if (!strcmp(key, "hash"))
		test->hash = strtoull(value, NULL, 16), test->has_hash = true;
	else if (!strcmp(key, "once"))
		test->once = true;
	else if (!strcmp(key, "fails"))
		snprintf(test->fails, sizeof test->fails, "%s", value);
}

/* The next test of the text; its comments end at the name of its entry. */
static bool next_test(char **at, struct test *test)
{
	static const char entry[] = ".visible .entry ";
	memset(test, 0, sizeof *test);
	test->threads = 32;
	test->blocks = 1;
	for (char *line = *at, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : NULL;
		if (!strncmp(line, "//#", 3)) {
			char *copy = strndup(line + 3, next ? (size_t)(next - line - 3) : strlen(line + 3));
			read_line(test, copy);
			free(copy);
		}
		if (test->name[0] && !strncmp(line, entry, sizeof entry - 1)) { /* no sscanf(), which looks for the end of the whole text first */
			const char *name = line + sizeof entry - 1;
			snprintf(test->entry, sizeof test->entry, "%.*s", (int)strcspn(name, "( \t\r\n"), name);
			*at = next;
			return true;
		}
	}
	return false;
}

static void test_fini(struct test *test)
{
	struct words *all[] = { &test->in, &test->out, &test->range };
	for (unsigned i = 0; i < 3; i++) {
		free(all[i]->data);
		free(all[i]->any);
	}
}

/* ---- running ------------------------------------------------------------------------------------------------- */

static bool check(CUresult status, const char *what)
{
	const char *name = "?";
	if (status == CUDA_SUCCESS)
		return true;
	cuGetErrorName(status, &name);
	printf("%s: %s\n", what, name);
	return false;
}

static bool run(CUmodule module, const struct test *test, bool diverge, uint32_t *result, size_t count)
{
	CUfunction function;
	CUdeviceptr in, out;
	uint32_t lanes = diverge ? 0x5a5a3c96 : UINT32_MAX;
	void *parameters[] = { &in, &out, &lanes };
	size_t in_bytes = (test->in.count ? test->in.count : 1) * 4;
	if (!check(cuModuleGetFunction(&function, module, test->entry), test->entry) || !check(cuMemAlloc(&in, in_bytes), "memory"))
		return false;
	bool good = check(cuMemAlloc(&out, count * 4), "memory") && check(cuMemcpyHtoD(in, test->in.data, test->in.count * 4), "copy") &&
		    check(cuMemsetD8(out, 0xa5, count * 4), "memset");
	for (unsigned part = 0; good && part < (diverge ? 2u : 1u); part++, lanes = ~lanes)
		good = check(cuLaunchKernel(function, test->blocks, 1, 1, test->threads, 1, 1, 0, NULL, parameters, NULL), test->name) &&
		       check(cuStreamSynchronize(NULL), test->name);
	good = good && check(cuMemcpyDtoH(result, out, count * 4), "copy");
	cuMemFree(in);
	cuMemFree(out);
	return good;
}

/* A launch that must fail, which ends what a process can do on the device: in a process of its own, this program once more. */
static bool run_failing(const struct test *test, const char *path, const char *how)
{
	int status = 1;
	pid_t child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "run_ptx", path, test->name, test->entry, (char *)NULL);
		_exit(1);
	}
	if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	printf("%s%s: does not end with %s\n", test->name, how, test->fails);
	return false;
}

/* The process of its own: 0 where the kernel ends with the name that its test says. */
static int fail_once(const char *text, const char *entry)
{
	CUmodule module;
	CUfunction function;
	CUdeviceptr in = 0, out = 0;
	uint32_t lanes = UINT32_MAX;
	const char *name = "?";
	char *at = (char *)text;
	struct test test;
	void *parameters[] = { &in, &out, &lanes };
	while (next_test(&at, &test) && strcmp(test.entry, entry))
		test_fini(&test);
	if (!test.fails[0] || !check(cuModuleLoadData(&module, text), "module") || !check(cuModuleGetFunction(&function, module, entry), entry) ||
	    !check(cuMemAlloc(&in, test.threads * test.blocks * 12), "memory") || !check(cuMemAlloc(&out, test.threads * test.blocks * 4), "memory"))
		return 1;
	CUresult status = cuLaunchKernel(function, test.blocks, 1, 1, test.threads, 1, 1, 0, NULL, parameters, NULL);
	if (status == CUDA_SUCCESS)
		status = cuStreamSynchronize(NULL);
	cuGetErrorName(status, &name);
	if (strcmp(name, test.fails))
		printf("%s: %s, not %s\n", test.name, name, test.fails);
	return strcmp(name, test.fails) != 0;
}

static uint64_t hash_words(const uint32_t *words, size_t count)
{
	uint64_t hash = UINT64_C(1469598103934665603);
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ words[i]) * UINT64_C(1099511628211);
	return hash;
}

static float as_float(uint32_t bits)
{
	float f;
	memcpy(&f, &bits, 4);
	return f;
}

static bool in_range(uint32_t word, uint32_t low, uint32_t high)
{
	if (low == 0x7fffffff)
		return word == 0x7fffffff;
	if (word == low || word == high)
		return true;
	float f = as_float(word);
	/* zeros of either sign are told apart by naming the sign in both ends */
	if (f == 0 && as_float(low) == 0 && as_float(high) == 0)
		return false;
	return f >= as_float(low) && f <= as_float(high);
}

static unsigned compare(const struct test *test, const uint32_t *result, const char *how)
{
	unsigned bad = 0;
	for (size_t i = 0; i < test->out.count; i++)
		if (!test->out.any[i] && result[i] != test->out.data[i] && bad++ < MAX_REPORTS)
			printf("%s%s: word %zu is %08x, not %08x\n", test->name, how, i, result[i], test->out.data[i]);
	for (size_t i = 0; i + 1 < test->range.count; i += 2)
		if (!test->range.any[i] && !in_range(result[i / 2], test->range.data[i], test->range.data[i + 1]) && bad++ < MAX_REPORTS)
			printf("%s%s: word %zu is %08x, not in %08x…%08x\n", test->name, how, i / 2, result[i / 2], test->range.data[i],
			       test->range.data[i + 1]);
	uint64_t hash = test->has_hash ? hash_words(result, test->threads * test->blocks) : 0;
	if (test->has_hash && hash != test->hash && !bad++)
		printf("%s%s: the results hash to %016" PRIx64 ", not %016" PRIx64 "\n", test->name, how, hash, test->hash);
	if (bad && getenv("RUN_PTX_DUMP"))
		for (size_t i = 0; i < test->threads * test->blocks; i++)
			printf("  %zu: %08x %08x %08x -> %08x\n", i, test->in.data[3 * i], test->in.data[3 * i + 1], test->in.data[3 * i + 2], result[i]);
	return bad > 0;
}

static size_t words_out(const struct test *test)
{
	size_t count = (size_t)test->threads * test->blocks;
	if (test->out.count > count)
		count = test->out.count;
	return test->range.count / 2 > count ? test->range.count / 2 : count;
}

static void set_mode(const struct mode *mode)
{
	char text[16];
	snprintf(text, sizeof text, "%u", mode->lanes);
	setenv("DRAGOMAN_LANES", text, 1);
	snprintf(text, sizeof text, "%u", mode->vector);
	setenv("DRAGOMAN_VECTOR", text, 1);
	snprintf(text, sizeof text, "%u", mode->opt);
	setenv("DRAGOMAN_OPT", text, 1);
	setenv("DRAGOMAN_TIER", "full", 1); /* the form that is asked for, and no other first */
}

struct counts {
	unsigned tests, failed;
};

/* Runs the test, with all lanes at once and diverging; what came of it. */
static const char *run_test(CUmodule module, const struct test *test, const char *path, const struct mode *mode, uint32_t *result, struct counts *counts)
{
	const char *outcome = "passed";
	char how[64];
	for (unsigned diverge = 0; diverge < (test->once || test->fails[0] ? 1u : 2u); diverge++) {
		snprintf(how, sizeof how, " (%u lanes, vectors of %u, -O%u%s)", mode->lanes, mode->vector, mode->opt, diverge ? ", diverging" : "");
		counts->tests++;
		bool good;
		if (test->fails[0])
			good = run_failing(test, path, how);
		else if (run(module, test, diverge, result, words_out(test)))
			good = !compare(test, result, how);
		else
			good = false;
		counts->failed += !good;
		outcome = good ? outcome : "failed";
	}
	return outcome;
}

static void run_mode(const char *path, const char *text, const struct mode *mode, const char *only, struct counts *counts)
{
	CUmodule module;
	struct test test;
	char *at = (char *)text;
	const char *every_text = getenv("RUN_PTX_EVERY"), *results = getenv("RUN_PTX_RESULTS");
	unsigned every = 1, first = 0, number = 0;
	if (every_text && (sscanf(every_text, "%u:%u", &every, &first) < 1 || !every || first >= every)) {
		printf("RUN_PTX_EVERY=%s: N or N:K was expected, K below N\n", every_text);
		counts->failed++;
		return;
	}
	uint32_t *result = malloc(MAX_WORDS * 4);
	FILE *file = results ? fopen(results, "a") : NULL;
	set_mode(mode);
	if (!check(cuModuleLoadData(&module, text), "module")) {
		counts->failed++;
		free(result);
		if (file)
			fclose(file);
		return;
	}
	while (next_test(&at, &test)) {
		bool wanted = number++ % every == first && (!only || strstr(test.name, only));
		const char *outcome = wanted ? run_test(module, &test, path, mode, result, counts) : "skipped";
		if (file) {
			fprintf(file, "%s\t%s\n", outcome, test.name);
			fflush(file);
		}
		test_fini(&test);
	}
	if (file)
		fclose(file);
	cuModuleUnload(module);
	free(result);
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	struct counts counts = { 0, 0 };
	const char *modes = getenv("RUN_PTX_MODES");
	char *text = argc > 1 ? read_file(argv[1]) : NULL;
	if (!text) {
		fprintf(stderr, "usage: run_ptx FILE.ptx [TEST-NAME-PART]\n");
		return 2;
	}
	if (!check(cuInit(0), "cuInit") || !check(cuDeviceGet(&device, 0), "device") || !check(cuCtxCreate(&context, NULL, 0, device), "context"))
		return 1;
	if (argc > 3) {
		int status = fail_once(text, argv[3]);
		fflush(stdout);
		_exit(status); /* a context that has failed keeps what it had, which is no leak to look for */
	}
	for (size_t i = 0; !modes && i < sizeof all_modes / sizeof all_modes[0]; i++)
		run_mode(argv[1], text, &all_modes[i], argc > 2 ? argv[2] : NULL, &counts);
	for (struct mode mode; modes && sscanf(modes, "%u:%u:%u", &mode.lanes, &mode.vector, &mode.opt) == 3;) {
		run_mode(argv[1], text, &mode, argc > 2 ? argv[2] : NULL, &counts);
		modes = strchr(modes, ',') ? strchr(modes, ',') + 1 : NULL;
	}
	free(text);
	printf("%u runs, %u failed\n", counts.tests, counts.failed);
	return counts.failed || !counts.tests;
}
