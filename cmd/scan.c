/* dragoman scan: what is inside programs, libraries and files of device code, and whether it can run here. */
#include "command.h"

#include "fatbin/elf.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static void print_kind(const char *path, const struct program_info *info)
{
	char machine[32];
	printf("%s: ", path);
	if (info->kind == PROGRAM_SCRIPT)
		printf("script for %s\n", info->interpreter ? info->interpreter : "no interpreter");
	else if (info->kind == PROGRAM_DEVICE)
		printf("device code\n");
	else if (info->kind == PROGRAM_OTHER)
		printf("neither a program nor device code\n");
	else
		printf("%s for %s\n",
		       info->elf_type == ET_REL                         ? "object file"
		       : info->elf_type == ET_DYN && !info->interpreter ? "library"
									: "program",
		       elf_machine_name(info->machine, machine));
}

static void print_needs(const struct program_info *info)
{
	if (info->static_runtime)
		printf("  CUDA runtime: NVIDIA's, linked in; it loads libcuda.so.1%s\n",
		       library_is_ours("libcuda.so.1") ? "" : " (missing here)");
	for (size_t i = 0; i < info->needs.count; i++) {
		const char *soname = info->needs.data[i].soname;
		if (library_is_cuda(soname))
			printf("  needs %s: %s\n", soname,
			       library_is_ours(soname) ? "Dragoman has it" : "not in Dragoman");
	}
	if (info->rpath && !info->runpath)
		printf("  DT_RPATH: %s\n", info->rpath);
}

static bool print_kernel(void *argument UNUSED, const char *name)
{
	printf("    kernel %s\n", name);
	return true;
}

static bool count_kernel(void *argument, const char *name UNUSED)
{
	++*(size_t *)argument;
	return true;
}

/* A unit's entries in one line, its kernels from the first entry that lists any, and the verdict. nvcc leaves machine
 * code without kernels in every program, which is passed over. False where it was. */
static bool print_unit(const struct program_info *info, uint32_t unit, unsigned number, bool kernels)
{
	bool runs = program_unit_runs(info, unit);
	if (runs && !fatbin_best_ptx(&info->code, unit, 0))
		return false;
	static const char *const ways[] = { "", ", LZ4", ", zstd", ", old compression" };
	const struct fatbin_entry *lister = NULL;
	size_t count = 0, entries = 0, end;
	printf("  device code %u:", number);
	for (size_t i = fatbin_unit_begin(&info->code, unit, &end); i < end; i++) {
		const struct fatbin_entry *entry = &info->code.entries.data[i];
		char name[48];
		printf("%s %s (%zu bytes%s)", entries++ ? "," : "", fatbin_entry_name(entry, name), entry->full_size,
		       ways[entry->compression]);
		if (!count)
			program_kernels(entry, count_kernel, &count);
		if (count && !lister)
			lister = entry;
	}
	printf("%s\n", runs ? "" : ": cannot run");
	if (lister && kernels)
		program_kernels(lister, print_kernel, NULL);
	else if (count)
		printf("    %zu kernel%s\n", count, count == 1 ? "" : "s");
	return true;
}

/* True where all of it can run. */
static bool print_code(const struct program_info *info, bool kernels)
{
	struct text lines = { 0 };
	if (info->code.relocatable)
		printf("  relocatable (-rdc=true): linked when it is loaded\n");
	unsigned number = 0;
	for (uint32_t unit = 0; unit < info->code.unit_count; unit++)
		number += print_unit(info, unit, number + 1, kernels);
	if (!number && !info->damage.status && !info->cut_off)
		printf("  no device code\n");
	if (info->cut_off)
		printf("  damaged: it is cut off: a part of it lies behind the file's end\n");
	if (info->damage.status)
		printf("  damaged: %s\n", info->damage.message);
	judge_code(info, &lines);
	char *rest = lines.data, *line;
	while (rest && (line = strsep(&rest, "\n")) && *line)
		printf("  cannot run: %s\n", line);
	bool sound = !lines.count && !info->damage.status && !info->cut_off;
	text_fini(&lines);
	return sound;
}

static bool scan_file(const char *path, bool kernels)
{
	struct program_info info;
	struct fatbin_error error;
	if (!program_scan(path, &info, &error)) {
		say("%s", error.message);
		return false;
	}
	print_kind(path, &info);
	bool good = info.kind != PROGRAM_OTHER;
	if (info.kind == PROGRAM_ELF || info.kind == PROGRAM_DEVICE) {
		print_needs(&info);
		good = print_code(&info, kernels);
	} else if (info.damage.status && info.map_size) {
		printf("  %s\n", info.damage.message);
	}
	for (size_t i = 0; i < info.needs.count; i++)
		if (library_is_cuda(info.needs.data[i].soname) && !library_is_ours(info.needs.data[i].soname))
			good = false;
	program_fini(&info);
	return good;
}

static int scan(int argc, char **argv)
{
	static const struct option options[] = { { "summary", no_argument, NULL, 's' }, { 0 } };
	bool kernels = true, good = true;
	for (int option; (option = next_option(&command_scan, argc, argv, ":s", options)) != -1;) {
		if (option != 's')
			return STATUS_USAGE;
		kernels = false;
	}
	if (optind >= argc)
		return usage_error(&command_scan, "which file?");
	for (int i = optind; i < argc; i++)
		good = scan_file(argv[i], kernels) && good;
	return good ? STATUS_OK : STATUS_NO;
}

const struct command command_scan = {
	.name = "scan",
	.usage = "[--summary] FILE...",
	.summary = "tell what is inside programs, libraries and device code",
	.help = "Lists the CUDA libraries that each FILE needs, its device code (PTX and machine code, for which\n"
		"targets, how compressed) and its kernels. FILE is a program, library, object, archive, fat binary,\n"
		"cubin or PTX text. Nothing of it is run.\n\n"
		"  -s, --summary  count kernels instead of naming them\n\n"
		"The exit status is 0 where all of it can run, 1 where not.",
	.run = scan,
};
