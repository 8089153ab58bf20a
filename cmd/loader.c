/* What the dynamic loader would do with a program, asked of the loader itself: `ld.so --list PROGRAM` maps the libraries
 * and prints where it found them, but runs nothing of theirs. See ld.so(8).
 *
 * Where a library is missing, glibc's loader names the first only. With LD_TRACE_LOADED_OBJECTS it names all, but
 * another loader would run the program then: so it is used only after glibc has shown itself by its message. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- a child's output ------------------------------------------------------------------------------ */

enum { LONGEST_OUTPUT = 1 << 22 };

/* Both pipes to their ends. */
static void drain(int out, int err, struct text *output, struct text *errors)
{
	struct pollfd polls[] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };
	struct text *texts[] = { output, errors };
	while (polls[0].fd >= 0 || polls[1].fd >= 0) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < 2; i++) {
			char bytes[4096];
			if (polls[i].fd < 0 || !polls[i].revents)
				continue;
			ssize_t count = read(polls[i].fd, bytes, sizeof bytes);
			if (count > 0 && texts[i]->count < LONGEST_OUTPUT)
				text_add(texts[i], bytes, (size_t)count);
			else if (count <= 0)
				polls[i].fd = -1;
		}
	}
}

/* The environment with LD_LIBRARY_PATH and LD_PRELOAD set. The strings are `held`, to be freed. */
static char **loader_environment(const char *library_path, const char *preload, bool trace, struct text *held)
{
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **copy = calloc(count + 4, sizeof *copy);
	if (!copy)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LD_LIBRARY_PATH=", 16) && strncmp(environ[i], "LD_PRELOAD=", 11))
			copy[kept++] = environ[i];
	text_printf(held, "LD_LIBRARY_PATH=%s%cLD_PRELOAD=%s", library_path, 0, preload ? preload : "");
	copy[kept++] = held->data;
	if (preload)
		copy[kept++] = held->data + strlen(held->data) + 1;
	if (trace)
		copy[kept++] = "LD_TRACE_LOADED_OBJECTS=1";
	return copy;
}

static bool run_loader(const char *interpreter, const char *program, bool trace, char **environment,
		       struct text *output, struct text *errors)
{
	int out[2], err[2];
	pid_t child;
	char *list[] = { (char *)(uintptr_t)interpreter, "--list", (char *)(uintptr_t)program, NULL };
	char *plain[] = { list[0], list[2], NULL };
	if (pipe2(out, O_CLOEXEC))
		return false;
	if (pipe2(err, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return false;
	}
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
	bool ok = !posix_spawn(&child, interpreter, &actions, NULL, trace ? plain : list, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	close(err[1]);
	if (ok)
		drain(out[0], err[0], output, errors);
	close(out[0]);
	close(err[0]);
	return ok && waitpid(child, NULL, 0) == child;
}

/* "\tlibx.so.1 => /path (0x…)", "\tlibx.so.1 => not found"; others are the loader itself and the kernel's. */
static void read_line(struct loader_answer *answer, char *line)
{
	char *arrow = strstr(line, " => ");
	while (*line == '\t' || *line == ' ')
		line++;
	if (!arrow || arrow <= line)
		return;
	*arrow = 0;
	char *path = arrow + 4, *end = strstr(path, " (0x");
	if (end)
		*end = 0;
	struct loaded_library library = { strdup(line), strcmp(path, "not found") ? strdup(path) : NULL };
	if (!vec_push(&answer->libraries, library)) {
		free(library.soname);
		free(library.path);
	}
}

static bool ask(const char *interpreter, const char *program, const char *library_path, const char *preload, bool trace,
		struct loader_answer *answer)
{
	*answer = (struct loader_answer){ 0 };
	struct text output = { 0 }, held = { 0 };
	char **environment = loader_environment(library_path, preload, trace, &held);
	bool ok = environment && run_loader(interpreter, program, trace, environment, &output, &answer->complaints);
	char *rest = output.data, *line;
	while (ok && (line = strsep(&rest, "\n")))
		read_line(answer, line);
	free(environment);
	text_fini(&held);
	text_fini(&output);
	return ok;
}

bool loader_ask(const char *interpreter, const char *program, const char *library_path, const char *preload,
		struct loader_answer *answer)
{
	bool ok = ask(interpreter, program, library_path, preload, false, answer);
	if (ok && answer->complaints.data && strstr(answer->complaints.data, "error while loading shared libraries")) {
		loader_answer_fini(answer);
		ok = ask(interpreter, program, library_path, preload, true, answer);
	}
	return ok;
}

void loader_answer_fini(struct loader_answer *answer)
{
	for (size_t i = 0; i < answer->libraries.count; i++) {
		free(answer->libraries.data[i].soname);
		free(answer->libraries.data[i].path);
	}
	vec_fini(&answer->libraries);
	text_fini(&answer->complaints);
}

/* ---- search paths ------------------------------------------------------------------------------------ */

/* $ORIGIN and ${ORIGIN} become the program's folder. Others ($LIB, $PLATFORM) differ between systems: such a
 * folder is passed over. */
static bool expand(const char *folder, size_t length, const char *origin, struct text *out)
{
	for (size_t i = 0; i < length; i++) {
		if (folder[i] != '$')
			text_add(out, folder + i, 1);
		else if (length - i >= 7 && !memcmp(folder + i, "$ORIGIN", 7))
			text_printf(out, "%s", origin), i += 6;
		else if (length - i >= 9 && !memcmp(folder + i, "${ORIGIN}", 9))
			text_printf(out, "%s", origin), i += 8;
		else
			return false;
	}
	return out->count > 0;
}

char *loader_find(const char *path, const char *program, const char *file)
{
	char origin[PATH_MAX];
	if (!realpath(program, origin))
		return NULL;
	*strrchr(origin, '/') = 0;
	for (const char *end; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		struct text found = { 0 };
		if (expand(path, (size_t)(end - path), origin, &found)) {
			text_printf(&found, "/%s", file);
			if (!access(found.data, R_OK))
				return found.data;
		}
		text_fini(&found);
	}
	return NULL;
}
