/* The object loader: objects of the host's compiler run; the other machine's are relocated to what its assembler documents; and
 * no damaged object does any harm: ten thousand mutations are refused or load, and the program lives. */
#include "cpu_test.h"

#include <elf.h>

static uint8_t *read_kernel(const char *name, size_t *size)
{
	char path[PATH_MAX];
	fixture_environment();
	snprintf(path, sizeof path, "%.*s/kernel_%s.o", (int)(strrchr(getenv("DRAGOMAN_COMPILER"), '/') - getenv("DRAGOMAN_COMPILER")),
		 getenv("DRAGOMAN_COMPILER"), name);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	uint8_t *bytes = malloc(*size);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

static void loads_and_runs(void **state)
{
	struct code_arena arena;
	char why[CODE_WHY];
	size_t size;
	(void)state;
	cpu_code_arena_init(&arena);
	uint8_t *object = read_kernel("call_table", &size);
	struct code *code = cpu_code_load(&arena, object, size, "call_table", why);
	if (!code)
		fail_msg("%s", why);
	void *address = cpu_code_symbol(code, "twice");
	assert_non_null(address);
	assert_null(cpu_code_symbol(code, "thrice"));
	cpu_function_fn *twice;
	memcpy(&twice, &address, sizeof twice);
	int in = 21, out = 0;
	twice(NULL, 0, &in, &out, NULL);
	assert_int_equal(out, 42);
	cpu_code_unload(code, &arena);
	free(object);
	cpu_code_arena_fini(&arena);
}

static bool mapped_writable_and_executable(void)
{
	char line[512];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps))
		found = found || strstr(line, " rwx");
	fclose(maps);
	return found;
}

static void many_objects_share_mappings(void **state)
{
	enum { COUNT = 600 };
	static struct code *codes[COUNT];
	struct code_arena arena;
	char why[CODE_WHY];
	size_t size;
	(void)state;
	cpu_code_arena_init(&arena);
	uint8_t *object = read_kernel("vadd", &size);
	for (int i = 0; i < COUNT; i++)
		assert_non_null(codes[i] = cpu_code_load(&arena, object, size, "vadd", why));
	assert_false(mapped_writable_and_executable());
	for (int i = 0; i < COUNT; i += 2)
		cpu_code_unload(codes[i], &arena);
	for (int i = 0; i < COUNT; i += 2)
		assert_non_null(codes[i] = cpu_code_load(&arena, object, size, "vadd", why));
	for (int i = 0; i < COUNT; i++)
		cpu_code_unload(codes[i], &arena);
	cpu_code_arena_fini(&arena);
	free(object);
}

static const uint64_t *symbols_of(struct cpu_block *block, uint32_t thread, const void *parameters, void *results, const uint64_t *symbols)
{
	assert_null(block);
	assert_int_equal(thread, 3);
	assert_ptr_equal(parameters, results);
	return symbols;
}

/* Each has a target, and a table for the target's fifth argument, whatever the caller's was. */
static void stubs_give_tables(void **state)
{
	struct code_arena arena;
	struct code_stubs stubs;
	const uint64_t *(*function)(struct cpu_block *, uint32_t, const void *, void *, const uint64_t *) = symbols_of;
	uint64_t tables[700];
	void *target;
	(void)state;
	memcpy(&target, &function, sizeof target);
	cpu_code_arena_init(&arena);
	assert_true(cpu_code_stubs_create(&stubs, &arena, 700, target));
	for (size_t i = 0; i < 700; i++)
		stubs.tables[i] = &tables[i];
	for (size_t i = 0; i < 700; i++) {
		void *stub = cpu_code_stub(&stubs, i);
		memcpy(&function, &stub, sizeof function);
		assert_ptr_equal(function(NULL, 3, &stubs, &stubs, NULL), &tables[i]);
	}
	cpu_code_stubs_destroy(&stubs, &arena);
	cpu_code_arena_fini(&arena);
}

static void stubs_jump(void **state)
{
	struct code_arena arena;
	struct code_stubs stubs;
	int (*function)(int);
	void *target;
	(void)state;
	function = abs;
	memcpy(&target, &function, sizeof target);
	cpu_code_arena_init(&arena);
	assert_true(cpu_code_stubs_create(&stubs, &arena, 700, target));
	for (size_t i = 0; i < 700; i += 233) {
		void *stub = cpu_code_stub(&stubs, i);
		memcpy(&function, &stub, sizeof function);
		assert_int_equal(function(-5), 5);
	}
	cpu_code_stubs_destroy(&stubs, &arena);
	cpu_code_arena_fini(&arena);
}

/* ---- a hand-made AArch64 object ----------------------------------------------------------------- */

struct small_object {
	Elf64_Ehdr header;
	uint32_t text[16];
	uint64_t data[4];
	Elf64_Rela rela[14];
	Elf64_Sym symbols[4];
	char strings[32], names[64];
	Elf64_Shdr sections[7];
};

static void make_object(struct small_object *o, uint16_t machine, const Elf64_Rela *rela, size_t count)
{
	memset(o, 0, sizeof *o);
	memcpy(o->header.e_ident, ELFMAG "\2\1\1", 7);
	o->header.e_type = ET_REL;
	o->header.e_machine = machine;
	o->header.e_shentsize = sizeof(Elf64_Shdr);
	o->header.e_shnum = 7;
	o->header.e_shstrndx = 6;
	o->header.e_shoff = offsetof(struct small_object, sections);
	memcpy(o->rela, rela, count * sizeof *rela);
	memcpy(o->strings, "\0kernel\0constant\0memcpy", 24);
	memcpy(o->names, "\0.text\0.rodata\0.rela.text\0.symtab\0.strtab", 42);
	o->symbols[1] = (Elf64_Sym){ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = 64 };
	o->symbols[2] = (Elf64_Sym){ .st_name = 8, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), .st_shndx = 2, .st_value = 8 };
	o->symbols[3] = (Elf64_Sym){ .st_name = 17, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) };
#define AT(field) .sh_offset = offsetof(struct small_object, field), .sh_size = sizeof o->field
	o->sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, AT(text), .sh_addralign = 16 };
	o->sections[2] = (Elf64_Shdr){ .sh_name = 7, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, AT(data), .sh_addralign = 32 };
	o->sections[3] = (Elf64_Shdr){ .sh_name = 15, .sh_type = SHT_RELA, AT(rela), .sh_info = 1, .sh_link = 4, .sh_entsize = sizeof(Elf64_Rela) };
	o->sections[3].sh_size = count * sizeof *rela;
	o->sections[4] = (Elf64_Shdr){ .sh_name = 26, .sh_type = SHT_SYMTAB, AT(symbols), .sh_link = 5, .sh_entsize = sizeof(Elf64_Sym) };
	o->sections[5] = (Elf64_Shdr){ .sh_name = 34, .sh_type = SHT_STRTAB, AT(strings) };
	o->sections[6] = (Elf64_Shdr){ .sh_name = 34, .sh_type = SHT_STRTAB, AT(names) };
#undef AT
}

#define RELA(word, symbol, type, addend) { 4 * (word), ELF64_R_INFO((uint64_t)(symbol), type), addend }

/* Expected words: the instructions' fields as the Arm Architecture Reference Manual (C6.2) gives them, filled by hand for an image at
 * 0x10000ff0: text at +0, rodata at +64, the GOT at +96, memcpy's jump at +112. */
static void relocates_for_aarch64(void **state)
{
	static const Elf64_Rela rela[] = {
		RELA(0, 2, R_AARCH64_ADR_PREL_PG_HI21, 0),    /* adrp x0, constant */
		RELA(1, 2, R_AARCH64_ADD_ABS_LO12_NC, 0),     /* add x0, x0, :lo12:constant */
		RELA(2, 3, R_AARCH64_CALL26, 0),              /* bl memcpy */
		RELA(3, 2, R_AARCH64_LDST64_ABS_LO12_NC, 0),  /* ldr x0, [x0, :lo12:constant] */
		RELA(4, 1, R_AARCH64_JUMP26, 16),             /* b kernel + 16: itself */
		RELA(5, 1, R_AARCH64_CONDBR19, 0),            /* b.eq kernel */
		RELA(6, 2, R_AARCH64_ADR_GOT_PAGE, 0),        /* adrp x0, :got:constant */
		RELA(7, 2, R_AARCH64_LD64_GOT_LO12_NC, 0),    /* ldr x0, [x0, :got_lo12:constant] */
		RELA(8, 2, R_AARCH64_PREL32, 0),
		RELA(10, 2, R_AARCH64_ABS64, 4),
		RELA(12, 2, R_AARCH64_MOVW_UABS_G1_NC, 0),    /* movk x0, #:abs_g1_nc:constant, lsl 16 */
		RELA(13, 1, R_AARCH64_ADR_PREL_LO21, 3),      /* adr x0, kernel + 3 */
		RELA(14, 1, R_AARCH64_TSTBR14, 0),            /* tbz w0, #0, kernel */
		RELA(15, 2, R_AARCH64_LDST128_ABS_LO12_NC, 8),/* ldr q0, [x0, :lo12:constant + 8] */
	};
	static const uint32_t before[16] = { 0x90000000, 0x91000000, 0x94000000, 0xf9400000, 0x14000000, 0x54000000, 0x90000000, 0xf9400000,
					     0,          0,          0,          0,          0xf2a00000, 0x10000000, 0x36000000, 0x3dc00000 };
	static const uint32_t want[16] = {
		0xb0000000, /* one page on: 0x10000ff0 -> 0x10001038 */
		0x9100e000, /* 0x038 << 10 */
		0x9400001a, /* from +8 to +112: 104 / 4 */
		0xf9401c00, /* 0x038 / 8 << 10 */
		0x14000000, 0x54ffff60, /* -20 / 4 << 5 */
		0x90000000, /* from 0x10001008 to the GOT at 0x10001050: the same page */
		0xf9402800, /* 0x050 / 8 << 10 */
		0x00000028, /* +72 - +32 */
		0,
		0x1000103c, 0x00000000,
		0xf2a20000, /* 0x1000 << 5 */
		0x70fffe60, /* +3 - +52 = -49: low bits 3, high -13 */
		0x3607fe40, /* -56 / 4 << 5, 14 bits */
		0x3dc01000, /* 0x040 / 16 << 10 */
	};
	struct small_object object;
	static _Alignas(64) uint8_t image[256];
	char why[CODE_WHY];
	(void)state;
	make_object(&object, EM_AARCH64, rela, ARRAY_LENGTH(rela));
	memcpy(object.text, before, sizeof before);
	if (!cpu_code_relocate_at(&object, sizeof object, EM_AARCH64, image, sizeof image, 0x10000ff0, why))
		fail_msg("%s", why);
	for (size_t i = 0; i < 16; i++) {
		uint32_t word;
		memcpy(&word, image + 4 * i, 4);
		if (word != want[i])
			fail_msg("word %zu: %08x, not %08x", i, word, want[i]);
	}
	uint64_t got;
	memcpy(&got, image + 96, 8);
	assert_int_equal(got, 0x10001038);
}

static void refused(const Elf64_Rela *rela, const char *want)
{
	struct small_object object;
	static _Alignas(64) uint8_t image[256];
	char why[CODE_WHY];
	make_object(&object, EM_X86_64, rela, 1);
	assert_false(cpu_code_relocate_at(&object, sizeof object, EM_X86_64, image, sizeof image, UINT64_C(0x7f0000000000), why));
	assert_string_equal(why, want);
}

static void refuses_with_reasons(void **state)
{
	struct small_object object;
	static const Elf64_Rela none = { 0 };
	char why[CODE_WHY], image[256];
	(void)state;
	refused(&(Elf64_Rela)RELA(0, 1, R_X86_64_32S, 0), "relocation type 11 against kernel does not fit");
	refused(&(Elf64_Rela)RELA(15, 1, R_X86_64_64, 0), "relocation type 1 against kernel does not fit");
	refused(&(Elf64_Rela)RELA(20, 1, R_X86_64_PC32, 0), "a relocation lies outside its section");
	refused(&(Elf64_Rela)RELA(0, 9, R_X86_64_PC32, 0), "a relocation names symbol 9 of 4");
	refused(&(Elf64_Rela)RELA(0, 1, R_X86_64_TPOFF32, 0), "relocation type 23 is not supported");
	make_object(&object, EM_X86_64, &none, 0);
	object.sections[2].sh_flags |= SHF_WRITE;
	assert_false(cpu_code_relocate_at(&object, sizeof object, EM_X86_64, image, sizeof image, 0, why));
	assert_string_equal(why, "section .rodata is not plain code or constants");
	assert_false(cpu_code_relocate_at(&object, sizeof object, EM_AARCH64, image, sizeof image, 0, why));
	assert_string_equal(why, "an object for ELF machine 62, not 183");
	assert_false(cpu_code_relocate_at("hello", 5, EM_X86_64, image, sizeof image, 0, why));
	assert_string_equal(why, "not a relocatable 64-bit ELF object");
	/* Only what is on the list may be called. */
	make_object(&object, EM_X86_64, &(Elf64_Rela)RELA(0, 3, R_X86_64_PLT32, -4), 1);
	assert_true(cpu_code_relocate_at(&object, sizeof object, EM_X86_64, image, sizeof image, 0, why));
	memcpy(object.strings + 17, "system", 7);
	assert_false(cpu_code_relocate_at(&object, sizeof object, EM_X86_64, image, sizeof image, 0, why));
	assert_string_equal(why, "it calls system, which kernels cannot");
}

static void mutations(void **state)
{
	enum { ROUNDS = 10000 };
	static const char *const names[] = { "call_table", "block_sum", "copy_block", "greet" };
	static _Alignas(4096) uint8_t image[1 << 20];
	char why[CODE_WHY];
	uint64_t random = 7;
	unsigned loaded = 0;
	(void)state;
	for (size_t n = 0; n < ARRAY_LENGTH(names); n++) {
		size_t size;
		uint8_t *object = read_kernel(names[n], &size), *copy = malloc(size);
		uint16_t machine = ((Elf64_Ehdr *)(void *)object)->e_machine;
		for (unsigned i = 0; i < ROUNDS / ARRAY_LENGTH(names); i++) {
			memcpy(copy, object, size);
			size_t length = size;
			for (unsigned k = 0; k <= random >> 61; k++) {
				random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
				size_t at = (size_t)(random >> 20) % size;
				copy[at] = random >> 60 & 1 ? (uint8_t)(random >> 10) : copy[at] ^ (uint8_t)(1u << (random >> 12 & 7));
			}
			if (!(random >> 8 & 7))
				length = (size_t)(random >> 24) % size;
			/* An object of exactly its size, so that a sanitizer or the heap sees a byte too far. */
			uint8_t *exact = malloc(length ? length : 1);
			memcpy(exact, copy, length);
			loaded += cpu_code_relocate_at(exact, length, machine, image, sizeof image, 0x400000, why);
			free(exact);
		}
		free(object);
		free(copy);
	}
	/* Most bits are instructions: a good part must still load, or the test tests nothing. */
	assert_in_range(loaded, ROUNDS / 10, ROUNDS - ROUNDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_and_runs),
		cmocka_unit_test(many_objects_share_mappings),
		cmocka_unit_test(stubs_jump), cmocka_unit_test(stubs_give_tables),
		cmocka_unit_test(relocates_for_aarch64),
		cmocka_unit_test(refuses_with_reasons),
		cmocka_unit_test(mutations),
	};
	(void)fixture_begin, (void)fixture_end;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
