/* dragoman cache: the compiled kernels that are kept on disk (see src/cache/cache.h on where and how many). */
#include "command.h"

#include "cache/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct line {
	int64_t used;
	uint64_t bytes;
	char *text; /* target and kernel */
};

struct listing {
	struct line *data;
	size_t count, capacity;
};

static bool add_item(const struct cache_item *item, void *context)
{
	struct listing *listing = context;
	struct text text = { 0 };
	if (item->damaged)
		text_printf(&text, "damaged: %s", item->file);
	else
		text_printf(&text, "%-8s %s", item->target, item->kernel);
	struct line line = { item->used, item->bytes, text.data };
	if (vec_push(listing, line))
		return true;
	text_fini(&text);
	return false;
}

/* Last used first. */
static int by_use(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	if (a->used != b->used)
		return a->used > b->used ? -1 : 1;
	return strcmp(a->text, b->text);
}

static void print_line(const struct line *line)
{
	char when[32] = "?";
	time_t used = (time_t)line->used;
	struct tm parts;
	if (localtime_r(&used, &parts))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M", &parts);
	printf("%s %9llu  %s\n", when, (unsigned long long)line->bytes, line->text);
}

static int list(bool print_lines)
{
	struct listing listing = { 0 };
	uint64_t bytes = 0;
	const char *why = NULL, *folder = cache_folder(&why);
	if (!folder || cache_each(add_item, &listing) < 0) {
		say("no cache: %s", why ? why : "its folder cannot be read");
		return STATUS_NO;
	}
	if (listing.count)
		qsort(listing.data, listing.count, sizeof *listing.data, by_use);
	for (size_t i = 0; i < listing.count; i++) {
		if (print_lines)
			print_line(&listing.data[i]);
		bytes += listing.data[i].bytes;
		free(listing.data[i].text);
	}
	if (!print_lines)
		printf("%s: %zu kernel%s, %llu bytes of at most %llu\n", folder, listing.count,
		       listing.count == 1 ? "" : "s", (unsigned long long)bytes, (unsigned long long)cache_limit());
	vec_fini(&listing);
	return STATUS_OK;
}

static int clear(void)
{
	const char *why = NULL, *folder = cache_folder(&why);
	long count = folder ? cache_clear() : -1;
	if (count < 0) {
		say("no cache: %s", why ? why : "its folder cannot be read");
		return STATUS_NO;
	}
	printf("%s: %ld kernel%s removed\n", folder, count, count == 1 ? "" : "s");
	return STATUS_OK;
}

static int cache(int argc, char **argv)
{
	if (argc < 2)
		return usage_error(&command_cache, "list, size, clear or warm?");
	if (argc == 3 && !strcmp(argv[1], "warm"))
		return cache_warm(argv[2]);
	if (argc > 2)
		return usage_error(&command_cache, "no argument '%s'", argv[2]);
	if (!strcmp(argv[1], "list"))
		return list(true);
	if (!strcmp(argv[1], "size"))
		return list(false);
	if (!strcmp(argv[1], "clear"))
		return clear();
	return usage_error(&command_cache, "no '%s' here; there are list, size, clear and warm", argv[1]);
}

const struct command command_cache = {
	.name = "cache",
	.usage = "list | size | clear | warm PROGRAM",
	.summary = "list, measure, clear or fill compiled kernels",
	.help = "Kernels are compiled once and kept on disk, in DRAGOMAN_CACHE_DIR, XDG_CACHE_HOME/dragoman or\n"
		"~/.cache/dragoman.\n\n"
		"  list   a line a kernel, last used first: when, bytes, target, name\n"
		"  size   how many, how large, and how large they may become (DRAGOMAN_CACHE_SIZE)\n"
		"  clear  remove all of them\n"
		"  warm   compile PROGRAM's kernels now, for the device that DRAGOMAN_DEVICE names",
	.run = cache,
};
