/* src/fatbin against images that the test builds itself: every way of compression, sizes of headers,
 * wrappers, several containers, objects and archives; which PTX is chosen; what damage is told. */
#include "fatbin/fatbin.h"

#include "fatbin_image.h"

#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PTX(sm) ".version 8.0\n.target sm_" #sm "\n.address_size 64\n.visible .entry k" #sm "()\n{\n\tret;\n}\n"
#define PTX_ENTRY(number, compression)                                                                                 \
	{                                                                                                              \
		.kind = 1, .sm = number, .flags = compression, .bytes = PTX(number), .size = sizeof PTX(number)        \
	}
#define CUBIN_ENTRY(number)                                                                                            \
	{                                                                                                              \
		.kind = 2, .sm = number,                                                                               \
		.bytes = "\x7f"                                                                                        \
			 "ELF machine code",                                                                           \
		.size = 17                                                                                             \
	}

/* A wrapper as nvcc puts into .nvFatBinSegment. */
struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *units;
};

static void expect_ptx(const void *image, size_t size, unsigned device, const char *text)
{
	struct fatbin fatbin;
	struct fatbin_choice choice;
	struct fatbin_error error = { 0 };
	if (fatbin_open(image, size, &fatbin, &error) || fatbin_choose_ptx(&fatbin, device, &choice, &error))
		fail_msg("%s", error.message);
	assert_int_equal(choice.count, 1);
	assert_string_equal(choice.units[0].text, text);
	assert_int_equal(choice.units[0].length, strlen(text));
	fatbin_choice_fini(&choice);
	fatbin_close(&fatbin);
}

static void expect_error(const void *image, size_t size, enum fatbin_status status, const char *message)
{
	struct fatbin fatbin;
	struct fatbin_choice choice;
	struct fatbin_error error = { 0 };
	enum fatbin_status got = fatbin_open(image, size, &fatbin, &error);
	if (!got) {
		got = fatbin_choose_ptx(&fatbin, 80, &choice, &error);
		assert_int_equal(choice.count, 0);
		fatbin_close(&fatbin);
	}
	assert_int_equal(fatbin.entries.count, 0);
	assert_string_equal(error.message, message);
	assert_int_equal(got, status);
	assert_int_equal(error.status, status);
}

/* ---- what can be read --------------------------------------------------------------------------- */

static void test_compression_and_header_sizes(void **state UNUSED)
{
	static const uint64_t ways[] = { IMAGE_STORED, IMAGE_LZ4, IMAGE_ZSTD };
	static const uint32_t headers[] = { 64, 80, 96, 112, 120 };
	for (size_t way = 0; way < ARRAY_LENGTH(ways); way++)
		for (size_t i = 0; i < ARRAY_LENGTH(headers); i++) {
			struct text image = { 0 };
			struct image_entry entries[] = { CUBIN_ENTRY(80), PTX_ENTRY(80, ways[way]) };
			entries[0].header = headers[ARRAY_LENGTH(headers) - 1 - i];
			entries[1].header = headers[i];
			image_add(&image, entries, ARRAY_LENGTH(entries));
			expect_ptx(image.data, image.count, 80, PTX(80));
			expect_ptx(image.data, 0, 80, PTX(80));
			text_fini(&image);
		}
}

static void test_entry_fields(void **state UNUSED)
{
	struct text image = { 0 };
	struct image_entry entries[] = { PTX_ENTRY(90, IMAGE_ZSTD | 0x100000),
					 PTX_ENTRY(100, IMAGE_LZ4 | 0x200000),
					 CUBIN_ENTRY(75),
					 { .kind = 8, .sm = 80, .bytes = "x", .size = 1 },
					 { .kind = 0x40, .sm = 80, .bytes = "x", .size = 1 } };
	static const char *const names[] = { "PTX compute_90a", "PTX compute_100f", "machine code sm_75",
					     "LTO code sm_80", "code of kind 0x40 sm_80" };
	entries[0].header = 112;
	entries[0].name = "file.cu";
	image_add(&image, entries, ARRAY_LENGTH(entries));
	struct fatbin fatbin;
	assert_int_equal(fatbin_open(image.data, image.count, &fatbin, NULL), FATBIN_OK);
	assert_int_equal(fatbin.entries.count, ARRAY_LENGTH(entries));
	assert_int_equal(fatbin.unit_count, 1);
	assert_false(fatbin.relocatable);
	for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
		char name[48];
		assert_string_equal(fatbin_entry_name(&fatbin.entries.data[i], name), names[i]);
		assert_int_equal(fatbin.entries.data[i].raw_kind, entries[i].kind);
	}
	assert_int_equal(fatbin.entries.data[0].name_length, 7);
	assert_memory_equal(fatbin.entries.data[0].name, "file.cu", 7);
	assert_int_equal(fatbin.entries.data[0].full_size, sizeof PTX(90));
	assert_int_equal(fatbin.entries.data[0].compression, FATBIN_ZSTD);
	assert_int_equal(fatbin.entries.data[1].compression, FATBIN_LZ4);
	assert_int_equal(fatbin.entries.data[2].compression, FATBIN_STORED);
	fatbin_close(&fatbin);
	text_fini(&image);
}

static void test_several_containers(void **state UNUSED)
{
	struct text image = { 0 };
	struct image_entry first[] = { PTX_ENTRY(70, IMAGE_ZSTD) }, second[] = { PTX_ENTRY(75, IMAGE_LZ4) };
	image_add(&image, NULL, 0);
	image_add(&image, first, 1);
	image_add(&image, second, 1);
	expect_ptx(image.data, image.count, 80, PTX(75));
	/* Without a size what follows the first container that holds something may be anything. */
	expect_ptx(image.data, 0, 80, PTX(70));
	text_fini(&image);
}

static void test_wrappers(void **state UNUSED)
{
	struct text image = { 0 }, unit = { 0 }, empty = { 0 };
	struct image_entry linked[] = { CUBIN_ENTRY(80) };
	struct image_entry relocatable[] = { CUBIN_ENTRY(80), PTX_ENTRY(75, IMAGE_ZSTD) };
	struct image_entry ready[] = { PTX_ENTRY(80, IMAGE_ZSTD) };
	image_add(&image, ready, 1);
	struct wrapper one = { 0x466243B1, 1, image.data, "file.cu" };
	expect_ptx(&one, 0, 80, PTX(80));
	/* Version 2 without units is what every program of nvcc has; the data itself counts. */
	const void *none[] = { NULL };
	struct wrapper two = { 0x466243B1, 2, image.data, none };
	expect_ptx(&two, 0, 80, PTX(80));
	two.units = NULL;
	expect_ptx(&two, 0, 80, PTX(80));

	image.count = 0;
	image_add(&image, linked, 1);
	image_add(&unit, relocatable, 2);
	image_add(&empty, NULL, 0);
	image_pad(&empty, 16); /* else the memory behind it would be looked at */
	const void *units[] = { unit.data, empty.data, unit.data, NULL };
	two = (struct wrapper){ 0x466243B1, 2, image.data, units };
	struct fatbin fatbin;
	struct fatbin_choice choice;
	assert_int_equal(fatbin_open(&two, 0, &fatbin, NULL), FATBIN_OK);
	assert_true(fatbin.relocatable);
	assert_int_equal(fatbin.unit_count, 2);
	assert_int_equal(fatbin.linked.count, 1);
	assert_int_equal(fatbin_choose_ptx(&fatbin, 80, &choice, NULL), FATBIN_OK);
	assert_int_equal(choice.count, 2);
	assert_string_equal(choice.units[0].text, PTX(75));
	assert_string_equal(choice.units[1].text, PTX(75));
	assert_ptr_equal(choice.units[1].entry, &fatbin.entries.data[3]);
	fatbin_choice_fini(&choice);
	fatbin_close(&fatbin);
	expect_error(&two, sizeof two, FATBIN_INVALID,
		     "a fat binary wrapper holds addresses and cannot stand in a file");
	text_fini(&image);
	text_fini(&unit);
	text_fini(&empty);
}

static void test_ptx_text(void **state UNUSED)
{
	static const char plain[] = PTX(80), comments[] = "\n\n//\n// Made by hand\n/* .version */\t" PTX(80);
	expect_ptx(plain, 0, 80, plain);
	expect_ptx(plain, sizeof plain, 80, plain);
	expect_ptx(plain, sizeof plain - 1, 80, plain);
	expect_ptx(comments, 0, 80, comments);
	struct fatbin fatbin;
	assert_int_equal(fatbin_open(comments, 0, &fatbin, NULL), FATBIN_OK);
	assert_int_equal(fatbin.entries.data[0].sm, 80);
	fatbin_close(&fatbin);
	expect_error("version 8.0", 0, FATBIN_INVALID,
		     "neither PTX (it begins with .version) nor a cubin nor a fat binary");
	expect_error("// a comment without an end", 0, FATBIN_INVALID,
		     "neither PTX (it begins with .version) nor a cubin nor a fat binary");
	expect_error("", 1, FATBIN_INVALID, "neither PTX (it begins with .version) nor a cubin nor a fat binary");
}

static void test_link_time_code(void **state UNUSED)
{
	expect_error("\xed\x43\x4e\x7f\x01", 5, FATBIN_NO_BINARY,
		     "link-time code (LTO IR of nvcc -dlto), which we cannot compile; make PTX instead");
	expect_error("BC\xc0\xde", 4, FATBIN_NO_BINARY,
		     "link-time code (LLVM bitcode), which we cannot compile; make PTX instead");
}

static void test_cubins(void **state UNUSED)
{
	struct text image = { 0 };
	/* e_flags: the sm in the lowest byte until CUDA 12, one byte up since. */
	image_add_elf(&image, 190, ET_EXEC, 0x500550, 7, NULL, 0);
	expect_error(image.data, image.count, FATBIN_NO_BINARY,
		     "only machine code for sm_80 here; rebuild with -gencode arch=compute_80,code=compute_80");
	image.count = 0;
	image_add_elf(&image, 190, ET_EXEC, 0x6007802, 8, NULL, 0);
	expect_error(image.data, 0, FATBIN_NO_BINARY,
		     "only machine code for sm_120 here; rebuild with -gencode arch=compute_120,code=compute_120");
	image.count = 0;
	image_add_elf(&image, EM_RISCV, ET_EXEC, 0, 0, NULL, 0);
	expect_error(image.data, image.count, FATBIN_INVALID, "an ELF file for RISC-V is no device code");
	image.data[4] = ELFCLASS32;
	expect_error(image.data, image.count, FATBIN_INVALID, "an ELF file that is cut off or not of 64 bits");
	text_fini(&image);
}

static void add_object(struct text *out, const char *section, const struct text *code)
{
	struct image_section sections[] = { { ".text", SHT_PROGBITS, 0, "\xc3", 1 },
					    { section, SHT_PROGBITS, 0, code->data, code->count } };
	image_add_elf(out, EM_X86_64, ET_REL, 0, 0, sections, 2);
}

static void test_objects_and_archives(void **state UNUSED)
{
	struct text code = { 0 }, first = { 0 }, second = { 0 }, archive = { 0 };
	struct image_entry entries[] = { CUBIN_ENTRY(80), PTX_ENTRY(80, IMAGE_ZSTD) };
	image_add(&code, entries, 2);
	add_object(&first, ".nv_fatbin", &code);
	expect_ptx(first.data, first.count, 80, PTX(80));
	code.count = 0;
	entries[1].bytes = PTX(75);
	entries[1].sm = 75;
	image_add(&code, entries, 2);
	add_object(&second, "__nv_relfatbin", &code);
	image_add_member(&archive, &first);
	image_add_member(&archive, &code); /* not an object: passed over, as linkers do */
	image_add_member(&archive, &second);
	struct fatbin fatbin;
	struct fatbin_choice choice;
	assert_int_equal(fatbin_open(archive.data, archive.count, &fatbin, NULL), FATBIN_OK);
	assert_true(fatbin.relocatable);
	assert_int_equal(fatbin_choose_ptx(&fatbin, 80, &choice, NULL), FATBIN_OK);
	assert_int_equal(choice.count, 2);
	assert_string_equal(choice.units[0].text, PTX(80));
	assert_string_equal(choice.units[1].text, PTX(75));
	fatbin_choice_fini(&choice);
	fatbin_close(&fatbin);
	expect_error(archive.data, 0, FATBIN_INVALID,
		     "an archive of unknown size; link it with cuLinkAddData or cuLinkAddFile");
	char message[128];
	snprintf(message, sizeof message, "archive damaged: the member at byte %zu is cut off",
		 archive.count - second.count);
	expect_error(archive.data, archive.count - 8, FATBIN_INVALID, message);
	text_fini(&code);
	text_fini(&first);
	text_fini(&second);
	text_fini(&archive);
}

/* ---- choice -------------------------------------------------------------------------------------- */

/* NVCC's manual: PTX runs on devices of its compute capability and higher. */
static void test_choice(void **state UNUSED)
{
	struct text image = { 0 };
	struct image_entry entries[] = { PTX_ENTRY(90, IMAGE_ZSTD | 0x100000),
					 PTX_ENTRY(52, IMAGE_LZ4),
					 PTX_ENTRY(90, 0),
					 CUBIN_ENTRY(80),
					 PTX_ENTRY(75, IMAGE_ZSTD),
					 PTX_ENTRY(120, 0) };
	static const struct {
		unsigned device, chosen;
	} cases[] = { { 80, 75 }, { 75, 75 },  { 74, 52 },   { 52, 52 },  { 50, 52 },
		      { 90, 90 }, { 119, 90 }, { 120, 120 }, { 200, 120 } };
	image_add(&image, entries, ARRAY_LENGTH(entries));
	struct fatbin fatbin;
	assert_int_equal(fatbin_open(image.data, image.count, &fatbin, NULL), FATBIN_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct fatbin_entry *entry = fatbin_best_ptx(&fatbin, 0, cases[i].device);
		assert_int_equal(entry->sm, cases[i].chosen);
		assert_int_equal(entry->suffix, 0); /* compute_90 before compute_90a */
	}
	assert_null(fatbin_best_ptx(&fatbin, 1, 80));
	fatbin_close(&fatbin);
	image.count = 0;
	image_add(&image, &entries[5], 1);
	expect_ptx(image.data, image.count, 80, PTX(120));
	text_fini(&image);
}

static void test_without_ptx(void **state UNUSED)
{
	struct text image = { 0 };
	struct image_entry entries[] = {
		CUBIN_ENTRY(90), CUBIN_ENTRY(75), CUBIN_ENTRY(90), { .kind = 8, .sm = 86, .bytes = "x", .size = 1 }
	};
	entries[0].flags = 0x100000;
	image_add(&image, entries, 3);
	expect_error(image.data, image.count, FATBIN_NO_BINARY,
		     "only machine code for sm_90a, sm_75, sm_90 here; rebuild with -gencode "
		     "arch=compute_75,code=compute_75");
	image.count = 0;
	image_add(&image, entries + 2, 2);
	expect_error(image.data, image.count, FATBIN_NO_BINARY,
		     "only machine code for sm_90 and link-time code (nvcc -dlto) for sm_86 here; rebuild with "
		     "-gencode arch=compute_86,code=compute_86");
	image.count = 0;
	image_add(&image, NULL, 0);
	expect_error(image.data, image.count, FATBIN_NO_BINARY, "the fat binary is empty");
	struct image_entry old = PTX_ENTRY(35, IMAGE_OLD);
	image.count = 0;
	image_add(&image, &old, 1);
	expect_error(
		image.data, image.count, FATBIN_NO_BINARY,
		"PTX compute_35 is compressed in a way (flag 0x1000) that is not known; rebuild with CUDA 11 or later");
	text_fini(&image);
}

/* ---- damage --------------------------------------------------------------------------------------- */

/* PTX(80) has 77 bytes with its NUL; as LZ4, where nothing in it repeats, two bytes for the length and those. */
enum {
	ENTRY = 16,
	ENTRY_HEADER = ENTRY + 4,
	ENTRY_PADDED = ENTRY + 8,
	ENTRY_STORED = ENTRY + 16,
	ENTRY_FULL = ENTRY + 56
};

static void expect_damage(uint64_t compression, size_t at, unsigned bytes, uint64_t value, const char *message)
{
	struct text image = { 0 }, field = { 0 };
	struct image_entry entry = PTX_ENTRY(80, compression);
	image_add(&image, &entry, 1);
	image_put(&field, value, bytes);
	memcpy(image.data + at, field.data, bytes);
	expect_error(image.data, image.count, FATBIN_INVALID, message);
	text_fini(&field);
	text_fini(&image);
}

static void test_damage(void **state UNUSED)
{
	expect_damage(0, 4, 2, 7, "fat binary of version 7; only version 1 (CUDA 4 and later) is known");
	expect_damage(0, 6, 2, 15, "fat binary damaged: it says it has 15 + 144 bytes, only 160 are there");
	expect_damage(0, 8, 8, UINT64_MAX,
		      "fat binary damaged: it says it has 16 + 18446744073709551615 bytes, only 160 are there");
	expect_damage(0, 8, 8, 40, "fat binary damaged: entry at byte 16: its header is cut off");
	expect_damage(0, ENTRY_HEADER, 4, 63,
		      "fat binary damaged: entry at byte 16: the size of its header is impossible");
	expect_damage(0, ENTRY_HEADER, 4, UINT32_MAX,
		      "fat binary damaged: entry at byte 16: the size of its header is impossible");
	expect_damage(0, ENTRY_PADDED, 8, UINT64_MAX - 63,
		      "fat binary damaged: entry at byte 16: its payload is cut off");
	expect_damage(IMAGE_LZ4, ENTRY_STORED, 4, 4096,
		      "fat binary damaged: entry at byte 16: its compressed size is larger than its payload");
	expect_damage(IMAGE_ZSTD, ENTRY_FULL, 8, 1000,
		      "fat binary damaged: 1000 bytes are declared, its zstd frame says 77");
	expect_damage(IMAGE_LZ4, ENTRY_FULL, 8, 78, "fat binary damaged: 78 bytes are declared, 77 came out");
	expect_damage(IMAGE_LZ4, ENTRY_FULL, 8, UINT64_MAX,
		      "fat binary damaged: 79 compressed bytes cannot become the 18446744073709551615 declared");
	expect_damage(IMAGE_LZ4, ENTRY_FULL, 8, 10, "fat binary damaged: its LZ4 block does not decode");
	expect_damage(IMAGE_ZSTD, ENTRY + 64, 4, 0, "fat binary damaged: its zstd frame has no valid header");
}

/* The image ends where its page does; behind it no memory is. */
static void test_never_beyond_mapped_memory(void **state UNUSED)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED);
	munmap(pages + page, page);
	struct text image = { 0 };
	struct image_entry entry = PTX_ENTRY(80, 0);
	image_add(&image, &entry, 1);
	char *at = pages + page - image.count;
	memcpy(at, image.data, image.count);
	expect_ptx(at, 0, 80, PTX(80));
	at[8] ^= 0x40; /* the container's size: 64 more */
	expect_error(at, 0, FATBIN_INVALID, "fat binary damaged: it says it has 16 + 208 bytes, only 160 are there");
	memset(pages, ' ', page);
	memcpy(pages, ".version 8.0", 12);
	expect_error(pages, 0, FATBIN_INVALID, "PTX text without a NUL at its end");
	text_fini(&image);
	munmap(pages, page);
	struct fatbin fatbin;
	assert_int_equal(fatbin_open(pages, 0, &fatbin, NULL), FATBIN_INVALID);
	assert_int_equal(fatbin_open(NULL, 0, &fatbin, NULL), FATBIN_INVALID);
	struct wrapper wrapper = { 0x466243B1, 1, pages, NULL };
	expect_error(&wrapper, 0, FATBIN_INVALID, "fat binary wrapper does not point at a fat binary");
	wrapper.version = 3;
	expect_error(&wrapper, 0, FATBIN_INVALID, "fat binary wrapper of version 3; 1 and 2 are known");
}

/* ---- programs -------------------------------------------------------------------------------------- */

struct program_file {
	char path[64];
};

static void write_program(struct program_file *file, const struct text *bytes)
{
	strcpy(file->path, "/tmp/dragoman-test-XXXXXX");
	int fd = mkstemp(file->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->count), bytes->count);
	close(fd);
}

static bool collect(void *argument, const char *name)
{
	text_printf(argument, "%s ", name);
	return true;
}

/* A program as ld links it: the string table, dynamic section and symbol versions by the ABI's layouts. */
static void add_program(struct text *out, const char *section, const struct text *code)
{
	static const char strings[] = "\0libcudart.so.13\0libc.so.6\0$ORIGIN/lib\0/opt/cuda\0GLIBC_2.34";
	const Elf64_Verneed need = { .vn_version = 1, .vn_cnt = 2, .vn_file = 1, .vn_aux = sizeof need };
	const Elf64_Vernaux versions[] = { { .vna_name = 1, .vna_next = sizeof versions[0] }, { .vna_name = 49 } };
	const Elf64_Dyn dynamic[] = { { DT_NEEDED, { 1 } },       { DT_NEEDED, { 17 } },
				      { DT_RPATH, { 27 } },       { DT_RUNPATH, { 39 } },
				      { DT_STRTAB, { 0x1000 } },  { DT_STRSZ, { sizeof strings } },
				      { DT_VERNEED, { 0x2000 } }, { DT_VERNEEDNUM, { 1 } },
				      { DT_NULL, { 0 } } };
	static const uint8_t runtime[] = { 1,    2,    3,    0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7,
					   0x4A, 0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9, 9 };
	char need_bytes[sizeof need + sizeof versions];
	memcpy(need_bytes, &need, sizeof need);
	memcpy(need_bytes + sizeof need, versions, sizeof versions);
	struct image_section sections[] = {
		{ ".interp", SHT_PROGBITS, 0x500, "/lib64/ld-linux-x86-64.so.2", 28 },
		{ ".dynstr", SHT_STRTAB, 0x1000, strings, sizeof strings },
		{ ".gnu.version_r", SHT_GNU_verneed, 0x2000, need_bytes, sizeof need_bytes },
		{ ".dynamic", SHT_DYNAMIC, 0x3000, dynamic, sizeof dynamic },
		{ ".rodata", SHT_PROGBITS, 0x4000, runtime, sizeof runtime },
		{ section, SHT_PROGBITS, 0x5000, code->data, code->count },
	};
	image_add_elf(out, EM_X86_64, ET_DYN, 0, 0, sections, ARRAY_LENGTH(sections));
}

static void test_program(void **state UNUSED)
{
	struct text code = { 0 }, image = { 0 }, cubin = { 0 }, names = { 0 };
	struct image_section with_kernel[] = { { ".nv.constant0._Z1kPf", SHT_PROGBITS, 0, "", 0 },
					       { ".text._Z1kPf", SHT_PROGBITS, 0, "", 0 } };
	image_add_elf(&cubin, 190, ET_EXEC, 0x500550, 7, with_kernel, 2);
	struct text idle = { 0 };
	image_add_elf(&idle, 190, ET_EXEC, 0x500550, 7, NULL, 0);
	struct image_entry no_kernel = { .kind = 2, .sm = 80, .bytes = idle.data, .size = idle.count };
	struct image_entry both[] = {
		{ .kind = 2, .sm = 80, .flags = IMAGE_ZSTD, .bytes = cubin.data, .size = cubin.count },
		PTX_ENTRY(80, IMAGE_ZSTD)
	};
	image_add(&code, &no_kernel, 1);
	image_add(&code, both, 2);
	image_add(&code, both, 1);
	add_program(&image, ".nv_fatbin", &code);
	struct program_file file;
	write_program(&file, &image);
	struct program_info info;
	struct fatbin_error error;
	assert_true(program_scan(file.path, &info, &error));
	assert_int_equal(info.kind, PROGRAM_ELF);
	assert_int_equal(info.machine, EM_X86_64);
	assert_int_equal(info.elf_type, ET_DYN);
	assert_string_equal(info.interpreter, "/lib64/ld-linux-x86-64.so.2");
	assert_string_equal(info.rpath, "$ORIGIN/lib");
	assert_string_equal(info.runpath, "/opt/cuda");
	assert_true(info.static_runtime);
	assert_int_equal(info.needs.count, 2);
	assert_string_equal(info.needs.data[0].soname, "libcudart.so.13");
	assert_int_equal(info.needs.data[0].versions.count, 2);
	assert_string_equal(info.needs.data[0].versions.data[0], "libcudart.so.13");
	assert_string_equal(info.needs.data[0].versions.data[1], "GLIBC_2.34");
	assert_string_equal(info.needs.data[1].soname, "libc.so.6");
	assert_int_equal(info.needs.data[1].versions.count, 0);
	assert_int_equal(info.code.unit_count, 3);
	assert_true(program_unit_runs(&info, 0));
	assert_true(program_unit_runs(&info, 1));
	assert_false(program_unit_runs(&info, 2));
	for (size_t i = 0; i < info.code.entries.count; i++)
		program_kernels(&info.code.entries.data[i], collect, &names);
	assert_string_equal(names.data, "_Z1kPf k80 _Z1kPf ");
	program_fini(&info);
	unlink(file.path);
	text_fini(&names);
	text_fini(&idle);
	text_fini(&cubin);
	text_fini(&image);
	text_fini(&code);
}

/* NVIDIA's cudadevrt as machine code needs no PTX; a program's own code that has been linked with it does. */
static void test_device_runtime(void **state UNUSED)
{
	struct image_section own[] = { { ".text.cudaGetParameterBuffer", SHT_PROGBITS, 0, "", 0 },
				       { ".nv.constant0._Z16memcpy_3d_deviceIjLi0ELi0ELi0EEv12MemcpyParamsIT_E", SHT_PROGBITS, 0, "", 0 },
				       { ".nv.constant0._Z1kPf", SHT_PROGBITS, 0, "", 0 } };
	for (size_t sections = 1; sections <= 3; sections++) {
		struct text code = { 0 }, first = { 0 }, second = { 0 }, archive = { 0 }, cubin = { 0 };
		image_add_elf(&cubin, 190, ET_REL, 0x500550, 7, own, sections);
		struct image_entry runtime = { .kind = 2, .sm = 80, .flags = IMAGE_ZSTD, .bytes = cubin.data, .size = cubin.count };
		struct image_entry ptx[] = { PTX_ENTRY(80, 0) };
		image_add(&code, &runtime, 1);
		add_object(&first, "__nv_relfatbin", &code);
		code.count = 0;
		image_add(&code, ptx, 1);
		add_object(&second, "__nv_relfatbin", &code);
		image_add_member(&archive, &first);
		image_add_member(&archive, &second);
		struct fatbin fatbin;
		struct fatbin_choice choice;
		struct fatbin_error error;
		assert_int_equal(fatbin_open(archive.data, archive.count, &fatbin, &error), FATBIN_OK);
		assert_int_equal(fatbin.unit_count, 2);
		assert_int_equal(fatbin_choose_ptx(&fatbin, 80, &choice, &error), sections < 3 ? FATBIN_OK : FATBIN_NO_BINARY);
		assert_int_equal(choice.count, sections < 3);
		if (choice.count)
			assert_string_equal(choice.units[0].text, PTX(80));
		fatbin_choice_fini(&choice);
		fatbin_close(&fatbin);
		text_fini(&code);
		text_fini(&first);
		text_fini(&second);
		text_fini(&archive);
		text_fini(&cubin);
	}
}

static void test_kernels_of_ptx(void **state UNUSED)
{
	static const char ptx[] = ".version 8.0\n// .entry no1\n/* .entry no2 */ .file 1 \".entry no3\"\n"
				  ".visible .entry\tyes$1 (.param .u32 p)\n{ .reg .b32 %.entry; }\n.weak .entry // "
				  "here\n yes_2()\n.func .entryx\n.entry";
	struct fatbin_entry entry = {
		.kind = FATBIN_PTX, .payload = ptx, .size = sizeof ptx - 1, .full_size = sizeof ptx - 1
	};
	struct text names = { 0 };
	program_kernels(&entry, collect, &names);
	assert_string_equal(names.data, "yes$1 yes_2 ");
	text_fini(&names);
}

static void test_other_files(void **state UNUSED)
{
	struct program_info info;
	struct fatbin_error error;
	struct program_file file;
	struct text script = { 0 };
	text_printf(&script, "#! /bin/sh -e\nexit 3\n");
	write_program(&file, &script);
	assert_true(program_scan(file.path, &info, &error));
	assert_int_equal(info.kind, PROGRAM_SCRIPT);
	assert_string_equal(info.interpreter, "/bin/sh");
	program_fini(&info);
	unlink(file.path);
	assert_false(program_scan(file.path, &info, &error));
	char message[128];
	snprintf(message, sizeof message, "cannot read %s: No such file or directory", file.path);
	assert_string_equal(error.message, message);
	assert_false(program_scan("/tmp", &info, &error));
	assert_string_equal(error.message, "cannot read /tmp: Is a directory");
	assert_false(program_scan("/dev/null", &info, &error));
	assert_string_equal(error.message, "cannot read /dev/null: it is no regular file");
	text_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compression_and_header_sizes),
		cmocka_unit_test(test_entry_fields),
		cmocka_unit_test(test_several_containers),
		cmocka_unit_test(test_wrappers),
		cmocka_unit_test(test_ptx_text),
		cmocka_unit_test(test_cubins),
		cmocka_unit_test(test_device_runtime),
		cmocka_unit_test(test_link_time_code),
		cmocka_unit_test(test_objects_and_archives),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_without_ptx),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_never_beyond_mapped_memory),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_kernels_of_ptx),
		cmocka_unit_test(test_other_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
