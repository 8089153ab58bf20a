/* What machine this is: its CPUs (affinity, control-group quota), its memory (control-group limit), its name, its
 * caches, and a hash of its instruction set, which is part of every cache key. Linux: /proc, /sys, cgroup v1 and v2
 * (Documentation/admin-guide/cgroup-v2.rst). Everything is read once. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static bool read_file(const char *path, char *out, size_t size)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t length = fread(out, 1, size - 1, file);
	fclose(file);
	out[length] = 0;
	return length > 0;
}

/* The value of a "key<blanks>:<blanks>value" line. */
static bool find_line(const char *text, const char *key, char *out, size_t size)
{
	size_t length = strlen(key);
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, key, length))
			continue;
		const char *value = line + length + strspn(line + length, " \t:");
		size_t count = strcspn(value, "\n");
		while (count && value[count - 1] == ' ')
			count--;
		if (count >= size)
			count = size - 1;
		memcpy(out, value, count);
		out[count] = 0;
		return true;
	}
	return false;
}

/* Is it one of a list such as "cpu,cpuacct"? */
static bool has_controller(const char *list, const char *name)
{
	size_t length = strlen(name);
	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, length) && (!list[length] || list[length] == ','))
			return true;
	return false;
}

/* The folder of this process's control group, and those above it, asked for `file` one after the other. */
static void cgroup_each(const char *v2_file, const char *v1_controller, const char *v1_file,
			void (*see)(const char *text, void *context), void *context)
{
	char groups[4096], text[256], path[4600];
	if (!read_file("/proc/self/cgroup", groups, sizeof groups))
		return;
	char *save = NULL;
	for (char *line = strtok_r(groups, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *folder = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!folder)
			continue;
		*folder++ = 0;
		controllers++;
		bool v2 = !*controllers;
		if (!v2 && !has_controller(controllers, v1_controller))
			continue;
		for (size_t length = strcmp(folder, "/") ? strlen(folder) : 0;;) {
			if (v2)
				snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/%s", (int)length, folder, v2_file);
			else
				snprintf(path, sizeof path, "/sys/fs/cgroup/%s%.*s/%s", v1_controller, (int)length, folder, v1_file);
			if (read_file(path, text, sizeof text))
				see(text, context);
			if (!length)
				break;
			while (length && folder[--length] != '/')
				;
		}
	}
}

static void see_quota(const char *text, void *context)
{
	double *cpus = context;
	long quota, period = 100000;
	/* v2: "max 100000" or "150000 100000"; v1: "-1" or "150000", its period being the usual 100 ms. */
	if (sscanf(text, "%ld %ld", &quota, &period) >= 1 && quota > 0 && period > 0 && (double)quota / (double)period < *cpus)
		*cpus = (double)quota / (double)period;
}

static void see_memory(const char *text, void *context)
{
	uint64_t *limit = context, value;
	if (sscanf(text, "%lu", &value) == 1 && value && value < *limit)
		*limit = value;
}

static void find_cpus(struct host_machine *host)
{
	size_t bytes = CPU_ALLOC_SIZE(MAX_WORKERS);
	cpu_set_t *set = CPU_ALLOC(MAX_WORKERS);
	if (set && !sched_getaffinity(0, bytes, set))
		for (int i = 0; i < MAX_WORKERS; i++)
			if (CPU_ISSET_S((size_t)i, bytes, set))
				host->cpu_list[host->cpu_count++] = i;
	CPU_FREE(set);
	double cpus = host->cpu_count ? host->cpu_count : 1;
	cgroup_each("cpu.max", "cpu", "cpu.cfs_quota_us", see_quota, &cpus);
	host->cpus = cpus < 1 ? 1 : (int)(cpus + 0.5);
	host->cpus = (int)env_long("DRAGOMAN_THREADS", host->cpus, 1, MAX_WORKERS);
}

static void find_memory(struct host_machine *host)
{
	host->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	cgroup_each("memory.max", "memory", "memory.limit_in_bytes", see_memory, &host->memory);
}

uint64_t cpu_host_memory_available(void)
{
	char text[4096], value[64];
	uint64_t kilobytes;
	if (read_file("/proc/meminfo", text, sizeof text) && find_line(text, "MemAvailable", value, sizeof value) &&
	    sscanf(value, "%lu", &kilobytes) == 1)
		return kilobytes << 10;
	return UINT64_MAX;
}

static void find_name(struct host_machine *host)
{
	char text[8192], value[128];
	snprintf(host->name, sizeof host->name, "CPU");
	host->clock_khz = 1000000;
	if (read_file("/proc/cpuinfo", text, sizeof text)) {
		if (find_line(text, "model name", value, sizeof value))
			snprintf(host->name, sizeof host->name, "%s", value);
		else if (find_line(text, "CPU part", value, sizeof value))
			snprintf(host->name, sizeof host->name, "ARM CPU, part %.32s", value);
		if (find_line(text, "cpu MHz", value, sizeof value) && atof(value) > 1)
			host->clock_khz = (int)(atof(value) * 1000);
	}
	if (read_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof text) && atoi(text) > 0)
		host->clock_khz = atoi(text);
}

static void find_cache(struct host_machine *host)
{
	host->l2_bytes = 1 << 20;
	for (int i = 0; i < 8; i++) {
		char path[96], text[64];
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		if (!read_file(path, text, sizeof text))
			break;
		int value = atoi(text) * (strchr(text, 'M') ? 1024 : 1);
		if (value > 0 && value < (1 << 20) && value * 1024 > host->l2_bytes)
			host->l2_bytes = value * 1024;
	}
}

static uint64_t find_features(void)
{
	uint32_t words[32] = { 0 };
	unsigned count = 0;
#if defined(__x86_64__)
	static const unsigned leaves[][2] = { { 0, 0 }, { 1, 0 }, { 7, 0 }, { 7, 1 }, { 0x80000001, 0 } };
	for (size_t i = 0; i < ARRAY_LENGTH(leaves); i++) {
		unsigned a = 0, b = 0, c = 0, d = 0;
		__get_cpuid_count(leaves[i][0], leaves[i][1], &a, &b, &c, &d);
		if (leaves[i][0] == 1) {
			b = 0;             /* the APIC number of the CPU we happen to be on */
			c &= ~(1u << 27);  /* OSXSAVE: said by xgetbv below */
		}
		if (leaves[i][0] == 7 && !leaves[i][1])
			d &= ~(1u << 15); /* hybrid */
		words[count++] = a;
		words[count++] = b;
		words[count++] = c;
		words[count++] = d;
	}
	unsigned a = 0, b = 0, c = 0, d = 0;
	if (__get_cpuid(1, &a, &b, &c, &d) && (c >> 27 & 1))
		__asm__ volatile("xgetbv" : "=a"(words[count]), "=d"(words[count + 1]) : "c"(0));
	count += 2;
#elif defined(__aarch64__)
	uint64_t caps[2] = { getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };
	memcpy(words, caps, sizeof caps);
	char text[4096], value[64];
	count = 4;
	if (read_file("/proc/cpuinfo", text, sizeof text) && find_line(text, "CPU part", value, sizeof value))
		words[count++] = (uint32_t)strtoul(value, NULL, 0);
#endif
	return hash_bytes(words, count * sizeof words[0], 1);
}

static struct host_machine machine;
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

static void machine_find(void)
{
	find_cpus(&machine);
	find_memory(&machine);
	find_name(&machine);
	find_cache(&machine);
	machine.features = find_features();
}

const struct host_machine *cpu_host_machine(void)
{
	pthread_once(&machine_once, machine_find);
	return &machine;
}
