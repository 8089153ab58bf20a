/* dragoman ptx: the compiler by hand. Checks a file of PTX, prints it back, compiles its kernels, or shows what becomes
 * of them on the way. FILE may also be what PTX comes in: a fat binary, object, library or program. */
#include "command.h"

#include "codegen/codegen.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum action { ACTION_CHECK, ACTION_PRINT, ACTION_COMPILE, ACTION_DUMP };

struct request {
	enum action action;
	const char *dump, *kernel, *output, *file;
	struct compile_options options;
};

/* ---- PTX from a file ---------------------------------------------------------------------------------- */

struct module_list {
	struct ptx_module **data;
	size_t count, capacity;
};

static bool parse_text(struct module_list *modules, const char *text, size_t length, const char *name)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct ptx_module *module = ptx_parse(text, length, name, &diagnostic);
	if (!module) {
		fflush(stdout);
		fputs(diagnostic.message ? diagnostic.message : "dragoman: out of memory\n", stderr);
		ptx_diagnostic_fini(&diagnostic);
		return false;
	}
	if (vec_push(modules, module))
		return true;
	ptx_destroy(module);
	return false;
}

/* Each unit's PTX; those whose kernels need none are passed over. */
static bool parse_units(struct module_list *modules, const struct program_info *info, const char *path)
{
	bool good = true;
	for (uint32_t unit = 0; unit < info->code.unit_count; unit++) {
		const struct fatbin_entry *entry = fatbin_best_ptx(&info->code, unit, 80);
		struct fatbin_error error = { 0 };
		struct text name = { 0 };
		char *text = NULL;
		size_t length;
		text_printf(&name, info->code.unit_count > 1 ? "%s#%u" : "%s", path, unit + 1);
		if (entry && !fatbin_payload(entry, &text, &length, &error)) {
			good = parse_text(modules, text, length, name.data) && good;
		} else if (entry || !program_unit_runs(info, unit)) {
			if (!entry)
				fatbin_unit_error(&info->code, unit, 80, &error);
			say("%s: %s", name.data, error.message);
			good = false;
		}
		free(text);
		text_fini(&name);
	}
	return good;
}

static bool read_modules(struct module_list *modules, const char *path)
{
	struct program_info info;
	struct fatbin_error error;
	if (!program_scan(path, &info, &error)) {
		say("%s", error.message);
		return false;
	}
	bool good;
	if (info.code.unit_count) {
		good = parse_units(modules, &info, path);
	} else if (info.kind == PROGRAM_OTHER && info.map_size &&
		   !memchr(info.map, 0, info.map_size < 512 ? info.map_size : 512)) {
		good = parse_text(modules, info.map, info.map_size,
				  path); /* text, if no PTX: the parser says what is wrong */
	} else {
		say("%s: %s", path, info.damage.status ? info.damage.message : "no device code in it");
		good = false;
	}
	program_fini(&info);
	return good;
}

/* Several modules of one program become one. */
static bool link_modules(struct module_list *modules)
{
	struct ptx_diagnostic diagnostic = { 0 };
	if (modules->count < 2)
		return true;
	struct ptx_module *linked =
		ptx_link((const struct ptx_module *const *)modules->data, modules->count, &diagnostic);
	if (!linked) {
		fputs(diagnostic.message ? diagnostic.message : "dragoman: out of memory\n", stderr);
		ptx_diagnostic_fini(&diagnostic);
		return false;
	}
	for (size_t i = 0; i < modules->count; i++)
		ptx_destroy(modules->data[i]);
	modules->data[0] = linked;
	modules->count = 1;
	return true;
}

/* ---- what is done with it --------------------------------------------------------------------------------- */

static size_t count_instructions(const struct ptx_module *module)
{
	size_t count = 0;
	for (size_t i = 0; i < module->functions.count; i++)
		count += module->functions.data[i]->instruction_count;
	return count;
}

static void print_check(const struct ptx_module *module, const char *file)
{
	size_t kernels = 0;
	for (size_t i = 0; i < module->functions.count; i++)
		kernels += module->functions.data[i]->is_entry;
	printf("%s: PTX %u.%u for %s, %zu kernel%s, %zu instruction%s, no error\n", file, module->version / 10,
	       module->version % 10, module->target, kernels, kernels == 1 ? "" : "s", count_instructions(module),
	       count_instructions(module) == 1 ? "" : "s");
}

static void print_module(const struct ptx_module *module)
{
	struct text text = { 0 };
	ptx_print(module, &text);
	fwrite(text.data, 1, text.count, stdout);
	text_fini(&text);
}

static bool write_object(const char *path, const struct compile_result *result)
{
	FILE *file = fopen(path, "wb");
	bool good = file && fwrite(result->object, 1, result->object_size, file) == result->object_size;
	if (file && fclose(file))
		good = false;
	if (!good)
		say("cannot write %s: %s", path, strerror(errno));
	return good;
}

static bool compile_kernel(const struct compiler *compiler, const struct request *request,
			   const struct ptx_module *module, const struct ptx_function *kernel)
{
	struct ptx_diagnostic diagnostic = { 0 };
	bool good;
	if (request->action == ACTION_DUMP) {
		char *text = compiler->dump(module, kernel, &request->options, request->dump, &diagnostic);
		good = text != NULL;
		if (text)
			fputs(text, stdout);
		free(text);
	} else {
		struct compile_result result = { 0 };
		uint64_t start = clock_ns();
		good = compiler->compile(module, kernel, &request->options, &result, &diagnostic);
		if (good) {
			printf("%s: %zu bytes, %u lane%s, %u bytes shared, %u local, %.1f ms\n", kernel->symbol.name,
			       result.object_size, result.info.lanes, result.info.lanes == 1 ? "" : "s",
			       result.info.shared_bytes, result.info.local_bytes, (double)(clock_ns() - start) / 1e6);
			if (request->output)
				good = write_object(request->output, &result);
			free(result.object);
			free(result.symbols);
		}
	}
	if (diagnostic.message) {
		fflush(stdout);
		fputs(diagnostic.message, stderr);
	}
	ptx_diagnostic_fini(&diagnostic);
	return good;
}

static bool compile_module(const struct request *request, const struct ptx_module *module)
{
	struct text why = { 0 };
	const struct compiler *compiler = compiler_open(&why);
	bool good = compiler != NULL;
	size_t count = 0;
	if (!compiler)
		say("%s", why.data);
	for (size_t i = 0; compiler && i < module->functions.count; i++) {
		const struct ptx_function *function = module->functions.data[i];
		if (!function->is_entry || (request->kernel && strcmp(function->symbol.name, request->kernel)))
			continue;
		good = compile_kernel(compiler, request, module, function) && good;
		count++;
	}
	if (compiler && !count && request->kernel) {
		say("%s has no kernel %s", request->file, request->kernel);
		good = false;
	}
	text_fini(&why);
	return good;
}

static bool act(const struct request *request)
{
	struct module_list modules = { 0 };
	bool good = read_modules(&modules, request->file);
	if (good && request->action >= ACTION_COMPILE)
		good = link_modules(&modules) && (!modules.count || compile_module(request, modules.data[0]));
	for (size_t i = 0; i < modules.count; i++) {
		if (good && request->action == ACTION_PRINT)
			print_module(modules.data[i]);
		else if (good && request->action == ACTION_CHECK)
			print_check(modules.data[i], request->file);
		ptx_destroy(modules.data[i]);
	}
	vec_fini(&modules);
	return good;
}

/* ---- options ------------------------------------------------------------------------------------------------ */

static bool read_number(const char *text, const char **end, uint32_t limit, uint32_t *out)
{
	char *stop;
	errno = 0;
	unsigned long value = strtoul(text, &stop, 10);
	*end = stop;
	*out = (uint32_t)value;
	return stop != text && !errno && *text >= '0' && *text <= '9' && value <= limit;
}

/* X[,Y[,Z]], with CUDA's limits for a block. */
static bool read_block(const char *text, uint32_t block[3])
{
	static const uint32_t limits[3] = { 1024, 1024, 64 };
	block[0] = block[1] = block[2] = 1;
	for (int i = 0; i < 3; i++) {
		const char *end;
		if (!read_number(text, &end, limits[i], &block[i]) || !block[i])
			return false;
		if (!*end)
			return block[0] * block[1] * block[2] <= 1024;
		if (*end != ',')
			return false;
		text = end + 1;
	}
	return false;
}

static const struct option options[] = {
	{ "check", no_argument, NULL, 'c' },        { "print", no_argument, NULL, 'p' },
	{ "compile", no_argument, NULL, 'C' },      { "dump", required_argument, NULL, 'd' },
	{ "target", required_argument, NULL, 't' }, { "lanes", required_argument, NULL, 'l' },
	{ "block", required_argument, NULL, 'b' },  { "kernel", required_argument, NULL, 'k' },
	{ "output", required_argument, NULL, 'o' }, { 0 },
};

static int set_option(struct request *request, int option)
{
	const char *end;
	uint32_t number;
	switch (option) {
	case 'c':
		request->action = ACTION_CHECK;
		return STATUS_OK;
	case 'p':
		request->action = ACTION_PRINT;
		return STATUS_OK;
	case 'C':
		request->action = ACTION_COMPILE;
		return STATUS_OK;
	case 'd':
		request->action = ACTION_DUMP;
		request->dump = optarg;
		if (strcmp(optarg, "ir") && strcmp(optarg, "llvm") && strcmp(optarg, "asm"))
			return usage_error(&command_ptx, "cannot dump '%s'; there are ir, llvm and asm", optarg);
		return STATUS_OK;
	case 't':
		request->options.target = optarg;
		return STATUS_OK;
	case 'k':
		request->kernel = optarg;
		return STATUS_OK;
	case 'o':
		request->output = optarg;
		return STATUS_OK;
	case 'l':
		if (!read_number(optarg, &end, 32, &number) || *end ||
		    (number != 1 && number != 8 && number != 16 && number != 32))
			return usage_error(&command_ptx, "no lanes '%s'; there are 1, 8, 16 and 32", optarg);
		request->options.lanes = (uint8_t)number;
		return STATUS_OK;
	case 'b':
		if (!read_block(optarg, request->options.block))
			return usage_error(&command_ptx,
					   "no block shape '%s'; X[,Y[,Z]] with at most 1024 threads was expected",
					   optarg);
		return STATUS_OK;
	default:
		return STATUS_USAGE;
	}
}

static int ptx(int argc, char **argv)
{
	struct request request = { .options = { .opt_level = env_is("DRAGOMAN_TIER", "quick") ? 1 : 2, .exact_products = env_is("DRAGOMAN_MMA", "exact"),
					       .fast_products = env_is("DRAGOMAN_MMA", "fast"), .cpu = env_get("DRAGOMAN_CPU"),
					       .features = env_get("DRAGOMAN_CPU_FEATURES"), .vector = (uint8_t)env_long("DRAGOMAN_VECTOR", 0, 0, 16) } };
	for (int option; (option = next_option(&command_ptx, argc, argv, ":o:", options)) != -1;) {
		int status = set_option(&request, option);
		if (status)
			return status;
	}
	if (optind >= argc)
		return usage_error(&command_ptx, "which file?");
	if (optind + 1 < argc)
		return usage_error(&command_ptx, "one file only, not also '%s'", argv[optind + 1]);
	if (request.output && (request.action != ACTION_COMPILE || !request.kernel))
		return usage_error(&command_ptx, "--output needs --compile and --kernel");
	request.file = argv[optind];
	return act(&request) ? STATUS_OK : STATUS_NO;
}

const struct command command_ptx = {
	.name = "ptx",
	.usage = "[--check | --print | --compile | --dump ir|llvm|asm] [OPTION...] FILE",
	.summary = "check, print, compile or dump PTX",
	.help = "FILE is PTX text, or a fat binary, object, library or program with PTX in it.\n\n"
		"  --check           read it and say what is wrong with it (this is the default)\n"
		"  --print           read it and print it back\n"
		"  --compile         compile its kernels and say how large they became\n"
		"  --dump WHAT       print a kernel's control-flow graph (ir), LLVM IR (llvm) or assembly (asm)\n"
		"  --kernel NAME     only this kernel\n"
		"  --target TARGET   cpu (the default), or an AMD GPU such as gfx1100\n"
		"  --lanes N         threads that run together: 1, 8, 16 or 32; otherwise the compiler chooses\n"
		"  --block X,Y,Z     for blocks of this shape only; otherwise for any\n"
		"  -o, --output FILE with --compile and --kernel: where to put the object\n\n"
		"The exit status is 1 where something is wrong with FILE or a kernel cannot be compiled.",
	.run = ptx,
};
