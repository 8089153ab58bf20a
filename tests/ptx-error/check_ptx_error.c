/* Each FILE is wrong PTX that says in its comments what message the parser must give, whole:
 *
 *     // expect: file.ptx:7:2: error: unknown instruction 'frobnicate.u32' (in kernel 'k')
 *     // expect:     frobnicate.u32 1;
 *     // expect:     ^
 */
#include <stdio.h>
#include <stdlib.h>

#include "ptx/ptx.h"

static const char marker[] = "// expect:";

static bool read_file(const char *path, struct text *out)
{
	char block[4096];
	size_t got;
	FILE *file = fopen(path, "rb");
	if (!file)
		return false;
	while ((got = fread(block, 1, sizeof block, file)) > 0)
		text_add(out, block, got);
	fclose(file);
	return true;
}

static void read_expected(const char *text, struct text *out)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, marker, sizeof marker - 1) != 0)
			continue;
		line += sizeof marker - 1;
		line += *line == ' ';
		text_add(out, line, strcspn(line, "\n"));
		text_add(out, "\n", 1);
	}
}

static bool check_file(const char *path)
{
	struct text text = { 0 }, expected = { 0 };
	struct ptx_diagnostic diagnostic = { 0 };
	const char *slash = strrchr(path, '/');
	if (!read_file(path, &text) || !text.data) {
		printf("%s: cannot be read\n", path);
		return false;
	}
	read_expected(text.data, &expected);
	struct ptx_module *module = ptx_parse(text.data, text.count, slash ? slash + 1 : path, &diagnostic);
	bool same = !module && diagnostic.message && expected.data && !strcmp(diagnostic.message, expected.data);
	if (!same)
		printf("%s: expected\n%sbut got\n%s\n", path, expected.data ? expected.data : "(no expectation)\n",
		       module ? "(no error)\n" : diagnostic.message);
	ptx_destroy(module);
	ptx_diagnostic_fini(&diagnostic);
	text_fini(&expected);
	text_fini(&text);
	return same;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed += !check_file(argv[i]);
	printf("%d of %d messages as expected\n", argc - 1 - failed, argc - 1);
	return failed || argc < 2;
}
