/* dragoman doctor: is everything here that is needed to run CUDA programs? One line each, the worst decides. */
#include "command.h"

#include "backend/amd/diagnose.h"
#include "base/base.h"
#include "cache/cache.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum finding { FOUND_OK, FOUND_WARN, FOUND_MISSING };

static bool cannot_run; /* the main job: set by any FOUND_MISSING */

PRINTF_LIKE(3, 4) static void report(enum finding finding, const char *what, const char *format, ...)
{
	static const char *const words[] = { "ok", "warn", "missing" };
	va_list arguments;
	va_start(arguments, format);
	printf("%-8s %-10s ", words[finding], what);
	vprintf(format, arguments);
	putchar('\n');
	va_end(arguments);
	if (finding == FOUND_MISSING)
		cannot_run = true;
}

/* The first line of a small file that begins with `key`, what follows the colon or blank; "" where there is none. */
static const char *file_value(const char *path, const char *key)
{
	static char value[256];
	char line[1024];
	FILE *file = fopen(path, "re");
	value[0] = 0;
	while (file && fgets(line, sizeof line, file)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		char *start = line + strlen(key);
		start += strspn(start, " \t:");
		start[strcspn(start, "\n")] = 0;
		snprintf(value, sizeof value, "%.255s", start);
		break;
	}
	if (file)
		fclose(file);
	return value;
}

/* ---- the machine ------------------------------------------------------------------------------------- */

static void check_cpu(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&set);
	const char *model = file_value("/proc/cpuinfo", "model name");
	const char *name = *model ? model : "unknown model";
#if defined(__x86_64__)
	bool avx512 = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2");
	bool fma = __builtin_cpu_supports("fma");
	report(avx2 && fma ? FOUND_OK : FOUND_WARN, "cpu", "%s, %d for this process, %s", name, count,
	       avx512        ? "AVX-512"
	       : avx2 && fma ? "AVX2"
			     : "no AVX2 with FMA: kernels will be several times slower");
#else
	report(FOUND_OK, "cpu", "%s, %d for this process, NEON", name, count);
#endif
}

static void check_memory(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), all = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
	unsigned long long available_kb = strtoull(file_value("/proc/meminfo", "MemAvailable"), NULL, 10);
	double gib = 1 << 30;
	report(available_kb < 1 << 20 ? FOUND_WARN : FOUND_OK, "memory", "%.1f GiB, %.1f available%s",
	       (double)all / gib, (double)available_kb * 1024 / gib,
	       available_kb < 1 << 20 ? ": few programs will be content with that" : "");
}

/* Device memory is address space reserved ahead, with guards behind every allocation. */
static void check_limits(void)
{
	struct rlimit space;
	long maps = strtol(file_value("/proc/sys/vm/max_map_count", ""), NULL, 10);
	if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
		report(FOUND_WARN, "limits",
		       "address space is limited to %llu MiB (ulimit -v): device memory may not fit",
		       (unsigned long long)space.rlim_cur >> 20);
	else if (!strcmp(file_value("/proc/sys/vm/overcommit_memory", ""), "2"))
		report(FOUND_WARN, "limits", "vm.overcommit_memory is 2: memory that is reserved counts as used");
	else if (maps && maps < 65530)
		report(FOUND_WARN, "limits",
		       "vm.max_map_count is %ld, usually 65530: programs with many allocations may fail", maps);
	else
		report(FOUND_OK, "limits", "address space unlimited, %ld mappings", maps);
}

/* ---- our libraries -------------------------------------------------------------------------------------- */

/* Loads libcuda.so.1 and asks it for devices, in a child: whatever is wrong with it cannot harm this report. Writes one
 * line; true where there is a device. */
static bool ask_driver(const char *path, FILE *out)
{
	int count = 0, device = 0;
	char name[256] = "";
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(out, "%s", dlerror());
		return false;
	}
	int (*init)(unsigned) = (int (*)(unsigned))(uintptr_t)dlsym(library, "cuInit");
	int (*get_count)(int *) = (int (*)(int *))(uintptr_t)dlsym(library, "cuDeviceGetCount");
	int (*get)(int *, int) = (int (*)(int *, int))(uintptr_t)dlsym(library, "cuDeviceGet");
	int (*get_name)(char *, int, int) = (int (*)(char *, int, int))(uintptr_t)dlsym(library, "cuDeviceGetName");
	if (!init || !get_count || !get || !get_name) {
		fprintf(out, "%s lacks cuInit, cuDeviceGetCount, cuDeviceGet or cuDeviceGetName", path);
		return false;
	}
	int error = init(0);
	if (!error)
		error = get_count(&count);
	if (!error && count)
		error = get(&device, 0);
	if (!error && count)
		error = get_name(name, sizeof name, device);
	if (error || !count)
		fprintf(out, error ? "%s: CUDA error %d" : "%s: no device", path, error);
	else
		fprintf(out, "%s: %d device%s, the first is %s", path, count, count == 1 ? "" : "s", name);
	return !error && count;
}

static void check_driver(const char *folder)
{
	char path[PATH_MAX + 32], line[1024] = "";
	int ends[2], status = 0;
	snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
	fflush(stdout);
	pid_t child = pipe(ends) ? -1 : fork();
	if (child < 0) {
		report(FOUND_WARN, "driver", "cannot be tried: %s", strerror(errno));
		return;
	}
	if (!child) {
		FILE *out = fdopen(ends[1], "w");
		bool good = out && ask_driver(path, out);
		if (out)
			fflush(out);
		_exit(!good);
	}
	close(ends[1]);
	size_t length = 0;
	for (ssize_t count;
	     length < sizeof line - 1 && (count = read(ends[0], line + length, sizeof line - 1 - length)) > 0;)
		length += (size_t)count;
	line[length] = 0;
	close(ends[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		report(FOUND_MISSING, "driver", "%s ends by signal %d (%s) when it is started", path, WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	else
		report(status ? FOUND_MISSING : FOUND_OK, "driver", "%s", line);
}

static void check_libraries(void)
{
	static const char *const runtimes[] = { "libcudart.so.12", "libcudart.so.13" };
	const char *folder = libraries_folder();
	if (!folder) {
		report(FOUND_MISSING, "driver",
		       "Dragoman's libcuda.so.1 is not beside this command: build it (ninja -C build) or reinstall");
		return;
	}
	check_driver(folder);
	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++) {
		char path[PATH_MAX + 32];
		snprintf(path, sizeof path, "%s/%s", folder, runtimes[i]);
		void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		if (library)
			report(FOUND_OK, "runtime", "%s", path);
		else
			report(FOUND_WARN, "runtime", "%s: programs built with nvcc -cudart shared cannot start",
			       dlerror());
		if (library)
			dlclose(library);
	}
}

static void check_compiler(void)
{
	struct text why = { 0 };
	const struct compiler *compiler = compiler_open(&why);
	if (compiler)
		report(FOUND_OK, "compiler", "%s", compiler->version);
	else
		report(FOUND_MISSING, "compiler", "%s", why.data);
	text_fini(&why);
}

static void check_cache(void)
{
	const char *why = NULL, *folder = cache_folder(&why);
	if (folder)
		report(FOUND_OK, "cache", "%s, at most %llu MiB", folder, (unsigned long long)cache_limit() >> 20);
	else
		report(FOUND_WARN, "cache", "none: %s; kernels are compiled again in every process",
		       why ? why : "no folder");
}

/* Did the user ask for a GPU? Then it is missing where it is not there. */
static bool amd_is_wanted(void)
{
	const char *device = getenv("DRAGOMAN_DEVICE");
	return device && strstr(device, "amd");
}

/* ---- others' ------------------------------------------------------------------------------------------------ */

/* The usual trouble with AMD GPUs, from the kernel's driver up. Where nobody has one, and none was asked for, one line says so. */
static void look_at_amd(void)
{
	struct amd_hip_gpu gpus[16];
	struct text runtimes = { 0 };
	char line[512];
	enum finding gravity = amd_is_wanted() ? FOUND_MISSING : FOUND_WARN;
	bool hip = amd_hip_release(line, sizeof line);
	report(hip ? FOUND_OK : gravity, "hip", "%s", line);
	if (amd_list_runtimes(&runtimes) > 1)
		report(FOUND_WARN, "hip", "several releases of ROCm are installed: %s; DRAGOMAN_HIP names the one to use", runtimes.data);
	text_fini(&runtimes);
	if (getenv("HSA_OVERRIDE_GFX_VERSION"))
		report(FOUND_WARN, "hip", "HSA_OVERRIDE_GFX_VERSION=%s: ROCm takes the GPU for another one", getenv("HSA_OVERRIDE_GFX_VERSION"));
	if (hip && amd_why_not())
		report(gravity, "gpu", "%s", amd_why_not());
	size_t count = hip ? amd_hip_gpus(gpus, ARRAY_LENGTH(gpus)) : 0;
	bool discrete = false;
	for (size_t i = 0; i < count; i++) {
		const struct amd_hip_gpu *gpu = &gpus[i];
		discrete = discrete || !gpu->integrated;
		if (gpu->ordinal < 0)
			report(FOUND_WARN, "gpu", "HIP's %d, %s (%s): Dragoman makes no code for it (docs/amd.md)", gpu->hip, gpu->name, gpu->architecture);
		else
			report(FOUND_OK, "gpu", "%d: %s (%s%s)", gpu->ordinal, gpu->name, gpu->architecture, gpu->integrated ? ", shares the CPU's memory" : "");
	}
	if (count > 1 && gpus[0].integrated && discrete)
		report(FOUND_WARN, "gpu", "HIP's first GPU is the processor's own: Dragoman uses the card first, other programs may not (HIP_VISIBLE_DEVICES)");
}

static void check_amd(void)
{
	int status;
	fflush(stdout);
	pid_t child = fork(); /* ROCm may end the process that asks it */
	if (!child) {
		look_at_amd();
		fflush(stdout);
		_exit(cannot_run);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		report(FOUND_WARN, "hip", "cannot be tried: %s", strerror(errno));
	else if (WIFSIGNALED(status))
		report(FOUND_WARN, "hip", "HIP's runtime ends the program that asks it, by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		cannot_run = true;
}

/* NVIDIA's driver library where the loader would find it, were a program started without `dragoman run`. */
static void check_stray(void)
{
	static const char folders[] =
		"/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/usr/lib:/usr/local/lib";
	const char *path = getenv("LD_LIBRARY_PATH"), *ours = libraries_folder();
	char real[PATH_MAX];
	char *found = path ? loader_find(path, "/proc/self/exe", "libcuda.so.1") : NULL;
	if (!found)
		found = loader_find(folders, "/proc/self/exe", "libcuda.so.1");
	if (found && ours && realpath(found, real) && !strncmp(real, ours, strlen(ours)))
		report(FOUND_OK, "others", "programs find Dragoman's libcuda.so.1 without dragoman run: %s", found);
	else if (found)
		report(FOUND_WARN, "others", "%s is not Dragoman's: programs started without dragoman run will load it",
		       found);
	else
		report(FOUND_OK, "others", "no other libcuda.so.1 in the loader's way");
	free(found);
}

static int doctor(int argc, char **argv)
{
	if (argc > 1)
		return usage_error(&command_doctor, "no argument '%s'", argv[1]);
	check_cpu();
	check_memory();
	check_limits();
	check_libraries();
	check_compiler();
	check_cache();
	check_amd();
	check_stray();
	return cannot_run ? STATUS_NO : STATUS_OK;
}

const struct command command_doctor = {
	.name = "doctor",
	.usage = "",
	.summary = "tell what is here, what is missing and what to install",
	.help = "Looks at the processor, memory, limits, Dragoman's own libraries and compiler, its cache, HIP for "
		"AMD\n"
		"GPUs and NVIDIA libraries that could be in the way. One line each: ok, warn (something will be\n"
		"slower or absent) or missing.\n\n"
		"The exit status is 1 where something is missing without which CUDA programs cannot run.",
	.run = doctor,
};
