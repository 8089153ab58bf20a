/* dragoman run: starts a program so that it finds our libraries first. Before that it looks into the program and names
 * what would fail, which the loader or the program itself would say later and less plainly, or not at all.
 *
 * How a library is found follows ld.so(8): DT_RPATH (unless there is a DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH, then
 * the system's folders. LD_LIBRARY_PATH does not reach behind a DT_RPATH; LD_PRELOAD does, since the loader takes a
 * library that is there already for every later request of that name. */
#include "command.h"

#include "backend/amd/diagnose.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct plan {
	const char *device; /* NULL: as DRAGOMAN_DEVICE says, or cpu */
	bool compare;       /* each launch on two devices */
	bool verbose;
	const char *program; /* as given */
	char *path;          /* where it is */
	const char *folder;  /* our libraries */
	struct text library_path, preload;
};

/* ---- the program's file ------------------------------------------------------------------------------ */

/* As execvp(3) searches, but telling a file that may not be executed from none at all. */
static int find_program(struct plan *plan)
{
	const char *path = getenv("PATH");
	bool seen = false;
	if (strchr(plan->program, '/')) {
		plan->path = strdup(plan->program);
		if (!plan->path || access(plan->path, F_OK)) {
			say("cannot run %s: %s", plan->program, strerror(errno));
			return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
		}
		return STATUS_OK;
	}
	for (const char *end; path && *plan->program; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		struct text candidate = { 0 };
		struct stat status;
		text_printf(&candidate, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "./", plan->program);
		bool file = !stat(candidate.data, &status) && S_ISREG(status.st_mode);
		seen = seen || file;
		if (file && !access(candidate.data, X_OK)) {
			plan->path = candidate.data;
			return STATUS_OK;
		}
		text_fini(&candidate);
	}
	say("cannot run %s: %s", plan->program, seen ? strerror(EACCES) : "not found in PATH");
	return seen ? STATUS_CANNOT_EXECUTE : STATUS_NOT_FOUND;
}

static int check_permission(const struct plan *plan, struct stat *status)
{
	const char *why = NULL;
	if (stat(plan->path, status))
		why = strerror(errno);
	else if (S_ISDIR(status->st_mode))
		why = strerror(EISDIR);
	else if (!S_ISREG(status->st_mode))
		why = "it is no regular file";
	else if (access(plan->path, X_OK))
		why = status->st_mode & 0111 ? strerror(errno) : "it has no permission to be executed (chmod +x)";
	if (why)
		say("cannot run %s: %s", plan->program, why);
	return why ? STATUS_CANNOT_EXECUTE : STATUS_OK;
}

/* ---- its libraries -------------------------------------------------------------------------------------- */

static void add_preload(struct plan *plan, const char *soname)
{
	const char *known = plan->preload.data ? plan->preload.data : "";
	const char *at = strstr(known, soname);
	size_t length = strlen(soname);
	while (at && (at[-1] != '/' || (at[length] && at[length] != ':')))
		at = strstr(at + 1, soname);
	if (!at)
		text_printf(&plan->preload, "%s%s/%s", *known ? ":" : "", plan->folder, soname);
}

static bool in_folder(const char *path, const char *folder)
{
	char real[PATH_MAX];
	const char *slash = realpath(path, real) ? strrchr(real, '/') : NULL;
	return slash && (size_t)(slash - real) == strlen(folder) && !memcmp(real, folder, strlen(folder));
}

static int is_library(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "lib", 3) && strstr(entry->d_name, ".so.");
}

/* Libraries of ours that lie in a DT_RPATH as well, where the loader would take NVIDIA's, now or on a later dlopen. */
static void check_rpath(struct plan *plan, const struct program_info *info)
{
	struct dirent **names;
	if (!info->rpath || info->runpath)
		return;
	int count = scandir(plan->folder, &names, is_library, alphasort);
	for (int i = 0; i < count; i++) {
		char *found = loader_find(info->rpath, plan->path, names[i]->d_name);
		if (found && !in_folder(found, plan->folder))
			add_preload(plan, names[i]->d_name);
		free(found);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

/* Does a program need anything besides the C and C++ libraries? If not, the loader need not be asked. */
static bool needs_more(const struct program_info *info)
{
	static const char *const plain[] = { "libc.so.6",  "libm.so.6",      "libpthread.so.0", "libdl.so.2",
					     "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1",   "libutil.so.1" };
	for (size_t i = 0; i < info->needs.count; i++) {
		size_t k = 0;
		const char *soname = info->needs.data[i].soname;
		while (k < ARRAY_LENGTH(plain) && strcmp(plain[k], soname))
			k++;
		if (k == ARRAY_LENGTH(plain) && strncmp(soname, "ld-linux", 8))
			return true;
	}
	return false;
}

static void say_missing(const struct plan *plan, const char *soname)
{
	struct text versions = { 0 };
	if (!library_is_cuda(soname))
		say("%s needs %s, which is not installed", plan->program, soname);
	else if (library_versions(soname, &versions))
		say("%s needs %s; Dragoman has %s: rebuild it with that version of CUDA", plan->program, soname,
		    versions.data);
	else
		say("%s needs %s, which Dragoman does not provide and nobody else has here", plan->program, soname);
	text_fini(&versions);
}

/* The loader's "PROGRAM: FILE: version `V' not found (required by WHOM)", in our words. */
static unsigned say_versions(const struct plan *plan, char *complaints)
{
	unsigned count = 0;
	for (char *line; complaints && (line = strsep(&complaints, "\n"));) {
		char *mark = strstr(line, ": version `"), *end = mark ? strchr(mark + 11, '\'') : NULL;
		char *whom = end ? strstr(end, "(required by ") : NULL, *close = whom ? strrchr(whom, ')') : NULL;
		if (!close)
			continue;
		*mark = *end = *close = 0;
		char *file = strrchr(line, '/');
		whom += 13;
		say("%s needs version %s of %s, which it does not have",
		    strcmp(whom, plan->path) ? whom : plan->program, mark + 11, file ? file + 1 : line);
		count++;
	}
	return count;
}

/* Asks the loader; preloads ours where it would take another; false where a library is missing, which was said. */
static bool check_libraries(struct plan *plan, const struct program_info *info)
{
	struct loader_answer answer;
	unsigned missing = 0;
	if (!needs_more(info) || !info->interpreter ||
	    !loader_ask(info->interpreter, plan->path, plan->library_path.data, plan->preload.data, &answer))
		return true;
	for (size_t i = 0; i < answer.libraries.count; i++) {
		const struct loaded_library *library = &answer.libraries.data[i];
		if (!library->path) {
			say_missing(plan, library->soname);
			missing++;
		} else if (library_is_ours(library->soname) && !in_folder(library->path, plan->folder)) {
			add_preload(plan, library->soname);
		} else if (plan->verbose && library_is_cuda(library->soname)) {
			say("%s is %s%s", library->soname, library->path,
			    library_is_ours(library->soname) ? "" : ", which is not Dragoman's");
		}
	}
	missing += say_versions(plan, answer.complaints.data);
	loader_answer_fini(&answer);
	return !missing;
}

/* ---- before the start -------------------------------------------------------------------------------------- */

static void say_code(const struct plan *plan, const struct program_info *info)
{
	struct text lines = { 0 };
	if (info->damage.status)
		say("warning: %s: %s", plan->program, info->damage.message);
	judge_code(info, &lines);
	char *rest = lines.data, *line;
	while (rest && (line = strsep(&rest, "\n")) && *line)
		say("warning: kernels of %s will not run: %s", plan->program, line);
	text_fini(&lines);
}

static int check_program(struct plan *plan)
{
	struct stat status;
	struct program_info info;
	int result = check_permission(plan, &status);
	if (result)
		return result;
	if (!program_scan(plan->path, &info, NULL))
		return STATUS_OK; /* may be executed, not read: then there is nothing to say */
	char *why = judge_program(&info);
	if (why) {
		say("cannot run %s: %s", plan->program, why);
		result = STATUS_CANNOT_EXECUTE;
	} else if (info.kind == PROGRAM_ELF && !info.interpreter && (info.static_runtime || info.code.unit_count)) {
		say("warning: %s is linked statically: it cannot load libcuda.so.1", plan->program);
	} else if (info.kind == PROGRAM_ELF && info.interpreter) {
		if (status.st_mode & (S_ISUID | S_ISGID) && status.st_uid != getuid())
			say("warning: %s is set-uid: the loader will ignore Dragoman's library path", plan->program);
		check_rpath(plan, &info);
		if (!check_libraries(plan, &info))
			result = STATUS_NOT_FOUND;
		say_code(plan, &info);
	}
	free(why);
	program_fini(&info);
	return result;
}

/* ---- the start ------------------------------------------------------------------------------------------------ */

/* `ours`, and what was there before behind it. An empty part of LD_LIBRARY_PATH would mean the current folder. */
static void put_before(struct text *ours, const char *variable)
{
	const char *former = getenv(variable);
	if (former && *former)
		text_printf(ours, ":%s", former);
}

/* "cpu", or for others what HIP says to that. */
static void say_device(void)
{
	const char *device = getenv("DRAGOMAN_DEVICE"), *why;
	char release[256];
	if (!device || !*device || !strcmp(device, "cpu")) {
		say("device: cpu");
		return;
	}
	why = amd_why_not();
	amd_hip_release(release, sizeof release);
	say("device: %s%s (%s)", device, strcmp(device, "auto") ? "" : why ? ", so cpu" : ", so amd", why ? why : release);
}

/* cpu, amd and auto, or several with commas between them. */
static bool device_is_known(const char *list)
{
	static const char *const known[] = { "cpu", "amd", "auto" };
	while (list) {
		size_t length = strcspn(list, ","), i = 0;
		while (i < ARRAY_LENGTH(known) && (strlen(known[i]) != length || strncmp(list, known[i], length)))
			i++;
		if (i == ARRAY_LENGTH(known))
			return false;
		list = list[length] ? list + length + 1 : NULL;
	}
	return true;
}

static int start(struct plan *plan, char **arguments)
{
	const char *compare = getenv("DRAGOMAN_COMPARE");
	bool keeps_amd = compare && !strcmp(compare, "amd");

	if (plan->device && setenv("DRAGOMAN_DEVICE", plan->device, 1))
		return STATUS_RUN_FAILED;
	if (plan->compare && (setenv("DRAGOMAN_COMPARE", keeps_amd ? "amd" : "1", 1) || setenv("DRAGOMAN_MMA", "exact", 0)))
		return STATUS_RUN_FAILED;
	if (setenv("LD_LIBRARY_PATH", plan->library_path.data, 1))
		return STATUS_RUN_FAILED;
	if (plan->preload.count && strchr(plan->folder, ' ')) {
		say("%s has a DT_RPATH, and the path of Dragoman's libraries, %s, a blank: LD_PRELOAD cannot hold it",
		    plan->program, plan->folder);
		return STATUS_RUN_FAILED;
	}
	if (plan->preload.count) {
		put_before(&plan->preload, "LD_PRELOAD");
		if (setenv("LD_PRELOAD", plan->preload.data, 1))
			return STATUS_RUN_FAILED;
	}
	if (plan->verbose) {
		say("libraries from %s", plan->folder);
		if (plan->preload.count)
			say("loaded ahead of the program's own search path: %s", plan->preload.data);
		say_device();
		say("starting %s", plan->path);
	}
	execv(plan->path, arguments);
	say("cannot run %s: %s", plan->program, strerror(errno));
	return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
}

static int run_program(struct plan *plan, char **arguments)
{
	plan->folder = libraries_folder();
	if (!plan->folder) {
		say("cannot find the folder with Dragoman's libcuda.so.1; see dragoman doctor");
		return STATUS_RUN_FAILED;
	}
	if (strchr(plan->folder, ':')) {
		say("the path of Dragoman's libraries, %s, holds a colon, which LD_LIBRARY_PATH cannot", plan->folder);
		return STATUS_RUN_FAILED;
	}
	text_printf(&plan->library_path, "%s", plan->folder);
	put_before(&plan->library_path, "LD_LIBRARY_PATH");
	int status = find_program(plan);
	if (!status)
		status = check_program(plan);
	if (!status)
		status = start(plan, arguments);
	text_fini(&plan->library_path);
	text_fini(&plan->preload);
	free(plan->path);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { { "device", required_argument, NULL, 'd' },
						 { "compare", no_argument, NULL, 'c' },
						 { "verbose", no_argument, NULL, 'v' },
						 { 0 } };
	struct plan plan = { 0 };
	for (int option; (option = next_option(&command_run, argc, argv, "+:d:v", options)) != -1;) {
		if (option == 'd')
			plan.device = optarg;
		else if (option == 'c')
			plan.compare = true;
		else if (option == 'v')
			plan.verbose = true;
		else
			return STATUS_RUN_FAILED;
	}
	if (plan.compare && !plan.device)
		plan.device = "cpu,amd";
	if (plan.compare && strcmp(plan.device, "cpu,amd")) {
		usage_error(&command_run, "--compare is for --device cpu,amd");
		return STATUS_RUN_FAILED;
	}
	if (plan.device && !device_is_known(plan.device)) {
		usage_error(&command_run, "no device '%s'; there are cpu, amd and auto", plan.device);
		return STATUS_RUN_FAILED;
	}
	if (optind >= argc) {
		usage_error(&command_run, "which program?");
		return STATUS_RUN_FAILED;
	}
	plan.program = argv[optind];
	return run_program(&plan, argv + optind);
}

const struct command command_run = {
	.name = "run",
	.usage = "[-v] [--device cpu|amd|auto] [--compare] [--] PROGRAM [ARGUMENT...]",
	.summary = "start a CUDA program",
	.help = "Starts PROGRAM so that it finds Dragoman's libcuda, libcudart and others before any of\n"
		"NVIDIA's. First it looks into PROGRAM and names what would fail: a library that is not\n"
		"there, a version that does not match, kernels without PTX, a wrong architecture.\n\n"
		"  -d, --device DEVICE  where kernels run: cpu, amd (a GPU, by HIP), or auto, which is amd\n"
		"                       where there is one, else cpu; by default as DRAGOMAN_DEVICE says,\n"
		"                       or cpu; several with commas between them are devices side by side\n"
		"      --compare        do each launch on the CPU and on the GPU, and name the first memory\n"
		"                       that they leave different (--device cpu,amd)\n"
		"  -v, --verbose        tell what was chosen\n\n"
		"The exit status is PROGRAM's own; 125 where Dragoman failed, 126 where PROGRAM cannot be\n"
		"executed, 127 where it or a library of it was not found.",
	.run = run,
};
