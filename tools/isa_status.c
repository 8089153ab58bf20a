/* Which instructions the tests use: input of `scripts/status ptx`.
 *
 *     isa_status FORMS FILE…
 *
 * FORMS is a list of spellings, one a line (what follows a tab is ignored; "-": none); the FILEs are PTX.
 * Prints
 *     row  EMITTER  TESTS  VERSION  TARGET  TEXT      each row of spec/ptx.isa and how many files use it
 *     form EMITTER  TESTS  SPELLING                   each of FORMS and how many files use just that form
 * with tabs between. */
#include <stdio.h>
#include <stdlib.h>

#include "ptx/isa_index.h"
#include "ptx/ptx.h"

struct use { /* a form that some test has */
	const struct isa_row *row;
	uint16_t mods[ISA_MAX_SLOTS];
	unsigned files, last_file;
};

static VEC(struct use) uses;
static unsigned row_files[ISA_ROW_COUNT], row_last[ISA_ROW_COUNT];

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
	return out->data != NULL;
}

static struct use *find_use(const struct isa_row *row, const uint16_t *mods)
{
	for (size_t i = 0; i < uses.count; i++)
		if (uses.data[i].row == row && !memcmp(uses.data[i].mods, mods, sizeof uses.data[i].mods))
			return &uses.data[i];
	return NULL;
}

static void count_form(const struct ptx_form *form, unsigned file)
{
	if (row_last[form->row->index] != file)
		row_files[form->row->index]++;
	row_last[form->row->index] = file;
	struct use *use = find_use(form->row, form->mods);
	if (!use) {
		struct use fresh = { .row = form->row };
		memcpy(fresh.mods, form->mods, sizeof fresh.mods);
		if (!vec_push(&uses, fresh))
			exit(2);
		use = &uses.data[uses.count - 1];
	}
	if (use->last_file != file)
		use->files++;
	use->last_file = file;
}

static bool count_file(const char *path, unsigned file)
{
	struct text text = { 0 };
	struct ptx_diagnostic diagnostic = { 0 };
	struct ptx_module *module = read_file(path, &text) ? ptx_parse(text.data, text.count, path, &diagnostic) : NULL;
	text_fini(&text);
	if (!module) {
		fprintf(stderr, "%s", diagnostic.message ? diagnostic.message : "a file cannot be read\n");
		ptx_diagnostic_fini(&diagnostic);
		return false;
	}
	for (size_t i = 0; i < module->functions.count; i++)
		for (uint32_t k = 0; k < module->functions.data[i]->instruction_count; k++)
			count_form(module->functions.data[i]->instructions[k].form, file);
	ptx_destroy(module);
	return true;
}

static void print_forms(const char *path)
{
	struct text text = { 0 };
	if (!strcmp(path, "-") || !read_file(path, &text))
		return;
	for (char *line = text.data, *next; line && *line; line = next) {
		uint16_t mods[ISA_MAX_SLOTS] = { 0 };
		size_t length = strcspn(line, "\t\n");
		next = strchr(line, '\n');
		next = next ? next + 1 : NULL;
		const struct isa_row *row = length ? isa_find_row(line, length, mods) : NULL;
		const struct use *use = row ? find_use(row, mods) : NULL;
		if (length)
			printf("form\t%s\t%u\t%.*s\n", row ? isa_emitters[row->index] : "none", use ? use->files : 0,
			       (int)length, line);
	}
	text_fini(&text);
}

int main(int argc, char **argv)
{
	bool good = argc > 1;
	for (int i = 2; i < argc; i++)
		good &= count_file(argv[i], (unsigned)i);
	for (size_t i = 0; i < isa_row_count; i++)
		printf("row\t%s\t%u\t%u.%u\tsm_%u%s\t%s\n", isa_emitters[i], row_files[i], isa_rows[i].version / 10U,
		       isa_rows[i].version % 10U, isa_rows[i].sm, isa_rows[i].arch_specific ? "a" : "",
		       isa_rows[i].text);
	if (argc > 1)
		print_forms(argv[1]);
	vec_fini(&uses);
	return !good;
}
