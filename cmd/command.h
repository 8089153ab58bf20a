/* The dragoman command: a table of subcommands, one file each, and what they share.
 *
 * Exit statuses: 0 done; 1 the answer is no (scan, doctor, ptx --check) or something failed; 2 wrong usage. `run` has
 * those of env(1): the program's own, 125 for its own failures, 126 cannot be executed, 127 not found. */
#ifndef DRAGOMAN_COMMAND_H
#define DRAGOMAN_COMMAND_H

#include "fatbin/fatbin.h"

struct command {
	const char *name;
	const char *usage;                 /* what follows the name */
	const char *summary;               /* one line, for the list of commands */
	const char *help;                  /* the rest of `dragoman NAME --help` */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command command_run, command_doctor, command_scan, command_cache, command_ptx, command_selftest;

enum {
	STATUS_OK,
	STATUS_NO,
	STATUS_USAGE,
	STATUS_RUN_FAILED = 125,
	STATUS_CANNOT_EXECUTE = 126,
	STATUS_NOT_FOUND = 127
};

/* "dragoman: …\n" on standard error. */
void say(const char *format, ...) PRINTF_LIKE(1, 2);
/* "dragoman NAME: …" and where help is to be had; returns STATUS_USAGE. */
int usage_error(const struct command *command, const char *format, ...) PRINTF_LIKE(2, 3);
/* getopt_long(3) without its own messages: `options` ends in zeros. The option's character, '?' after a message, -1 at
 * the end. "help" is answered by the caller of command.run. */
struct option;
int next_option(const struct command *command, int argc, char **argv, const char *letters,
		const struct option *options);

/* ---- libraries (libraries.c) ------------------------------------------------------------------- */

/* The folder with libcuda.so.1 that belongs to this command: of the build tree or the installation. NULL where it is
 * not there. */
const char *libraries_folder(void);
/* Is this one of NVIDIA's libraries, as CUDA programs need them? */
bool library_is_cuda(const char *soname);
/* Do we have it? */
bool library_is_ours(const char *soname);
/* Adds "libcudart.so.12, libcudart.so.13" for the versions that we have of a library; false where none. */
bool library_versions(const char *soname, struct text *out);
/* `dragoman cache warm` (warm.c); an exit status. */
int cache_warm(const char *program);
struct compiler;
/* The compiler of libdragoman-compiler.so; NULL and why not. */
const struct compiler *compiler_open(struct text *why);

/* ---- what the loader would do (loader.c) --------------------------------------------------------- */

struct loaded_library {
	char *soname;
	char *path; /* NULL: not found */
};
struct loader_answer {
	VEC(struct loaded_library) libraries;
	struct text complaints; /* lines such as "…: version `X' not found (required by …)" */
};
/* Asks the program's own loader (`interpreter`) which libraries it would load, running none of them, with
 * LD_LIBRARY_PATH and LD_PRELOAD (may be NULL) as given. False where it could not be asked. */
bool loader_ask(const char *interpreter, const char *program, const char *library_path, const char *preload,
		struct loader_answer *answer);
void loader_answer_fini(struct loader_answer *answer);
/* Finds `file` in a DT_RPATH or LD_LIBRARY_PATH; `program` is for $ORIGIN. A malloc'ed path, or NULL. */
char *loader_find(const char *path, const char *program, const char *file);

/* ---- programs (judge.c) -------------------------------------------------------------------------- */

/* Can this machine run it: of the right kind, machine and loader? NULL, or a malloc'ed reason why not. */
char *judge_program(const struct program_info *info);
/* Adds a line for each kind of code that only an NVIDIA GPU could run; how many. */
unsigned judge_code(const struct program_info *info, struct text *out);

#endif
