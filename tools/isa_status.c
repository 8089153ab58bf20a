/* Which instructions the tests use: input of `scripts/status ptx`.
 *
 *     isa_status COMPILER FORMS FILE…
 *
 * COMPILER is libdragoman-compiler.so, FORMS a list of spellings, one a line (what follows a tab is ignored; "-": none); the FILEs are
 * PTX. Instructions count where code can be made of them: those of a kernel that is refused do not.
 * Prints
 *     row  EMITTER  TESTS  VERSION  TARGET  TEXT      each row of spec/ptx.isa and how many files use it
 *     form EMITTER  TESTS  SPELLING                   each of FORMS and how many files use just that form
 * with tabs between. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "codegen/codegen.h"
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

/* Up to LLVM IR, a thread at a time. */
static bool compiles(const struct compiler *compiler, const struct ptx_module *module, const struct ptx_function *kernel)
{
	struct compile_options options = { .lanes = 1 };
	struct ptx_diagnostic diagnostic = { 0 };
	char *text = compiler->dump(module, kernel, &options, "ir", &diagnostic);
	if (!text)
		fprintf(stderr, "%s", diagnostic.message ? diagnostic.message : "a kernel is refused\n");
	ptx_diagnostic_fini(&diagnostic);
	free(text);
	return text != NULL;
}

static void count_function(const struct ptx_function *function, unsigned file)
{
	for (uint32_t k = 0; k < function->instruction_count; k++)
		count_form(function->instructions[k].form, file);
}

static bool count_file(const struct compiler *compiler, const char *path, unsigned file)
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
	/* Functions are parts of the kernels that call them. */
	bool all = true;
	for (size_t i = 0; i < module->functions.count; i++)
		if (module->functions.data[i]->is_entry && !module->functions.data[i]->is_declaration) {
			bool good = compiles(compiler, module, module->functions.data[i]);
			all &= good;
			if (good)
				count_function(module->functions.data[i], file);
		}
	for (size_t i = 0; all && i < module->functions.count; i++)
		if (!module->functions.data[i]->is_entry)
			count_function(module->functions.data[i], file);
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
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct compiler *(*find)(void) = NULL;
	if (library)
		*(void **)&find = dlsym(library, "dragoman_compiler");
	if (!find) {
		fprintf(stderr, "isa_status: %s\n", argc > 2 ? dlerror() : "arguments: COMPILER FORMS FILE...");
		return 2;
	}
	bool good = true;
	for (int i = 3; i < argc; i++)
		good &= count_file(find(), argv[i], (unsigned)i);
	for (size_t i = 0; i < isa_row_count; i++)
		printf("row\t%s\t%u\t%u.%u\tsm_%u%s\t%s\n", isa_emitters[i], row_files[i], isa_rows[i].version / 10U,
		       isa_rows[i].version % 10U, isa_rows[i].sm, isa_rows[i].arch_specific ? "a" : "",
		       isa_rows[i].text);
	print_forms(argv[2]);
	vec_fini(&uses);
	return !good;
}
