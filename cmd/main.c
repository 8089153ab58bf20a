/* dragoman: runs programs that were written for CUDA on machines without an NVIDIA GPU. See docs/dragoman.1. */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const struct command *const commands[] = { &command_run, &command_doctor, &command_scan, &command_ptx,
						  &command_cache, &command_selftest };

void say(const char *format, ...)
{
	struct text line = { 0 };
	va_list arguments;
	va_start(arguments, format);
	text_printf(&line, "dragoman: ");
	text_vprintf(&line, format, arguments);
	va_end(arguments);
	fflush(stdout);
	fprintf(stderr, "%s\n", line.data ? line.data : "out of memory");
	text_fini(&line);
}

int usage_error(const struct command *command, const char *format, ...)
{
	struct text line = { 0 };
	va_list arguments;
	va_start(arguments, format);
	text_vprintf(&line, format, arguments);
	va_end(arguments);
	fprintf(stderr, "dragoman %s: %s\nusage: dragoman %s%s%s\n", command->name,
		line.data ? line.data : "wrong usage", command->name, *command->usage ? " " : "", command->usage);
	text_fini(&line);
	return STATUS_USAGE;
}

int next_option(const struct command *command, int argc, char **argv, const char *letters, const struct option *options)
{
	opterr = 0;
	optopt = 0;
	int option = getopt_long(argc, argv, letters, options, NULL);
	const char *last = argv[optind - 1];
	if (option != '?' && option != ':')
		return option;
	if (option == ':')
		usage_error(command, "option %s needs a value", last);
	else if (!optopt)
		usage_error(command, "no option %s", last);
	else if (!strncmp(last, "--", 2) && strchr(last, '='))
		usage_error(command, "option %.*s takes no value", (int)strcspn(last, "="), last);
	else
		usage_error(command, "no option -%c", optopt);
	return '?';
}

static void print_help(const struct command *command)
{
	printf("usage: dragoman %s%s%s\n\n%s\n", command->name, *command->usage ? " " : "", command->usage,
	       command->help);
}

static void print_commands(FILE *out)
{
	fprintf(out, "usage: dragoman COMMAND ...\n\nRuns programs that were written for CUDA on machines without an "
		     "NVIDIA GPU.\n\n");
	for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(out, "\ndragoman COMMAND --help tells more; dragoman --version says which version this is.\n");
}

static bool is_help(const char *argument)
{
	return !strcmp(argument, "--help") || !strcmp(argument, "-h");
}

/* Standard output may be a full disk or a closed pipe: then nothing that was printed can be relied on. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (errno != EPIPE)
			say("cannot write: %s", strerror(errno));
		return status ? status : STATUS_NO;
	}
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_commands(stderr);
		return STATUS_USAGE;
	}
	if (is_help(argv[1])) {
		print_commands(stdout);
		return finish(STATUS_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		printf("dragoman %s\n", DRAGOMAN_VERSION);
		return finish(STATUS_OK);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
		if (strcmp(argv[1], commands[i]->name))
			continue;
		if (argc > 2 && is_help(argv[2])) {
			print_help(commands[i]);
			return finish(STATUS_OK);
		}
		return finish(commands[i]->run(argc - 1, argv + 1));
	}
	say("no %s '%s'; see dragoman --help", argv[1][0] == '-' ? "option" : "command", argv[1]);
	return STATUS_USAGE;
}
