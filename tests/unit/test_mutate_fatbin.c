/* Damaged inputs crash nothing: thousands of truncations and changed bits and bytes of fat binaries,
 * objects, archives and programs, all made from a fixed seed, each opened, chosen from, decompressed
 * and scanned. A fault, a sanitizer's report or a hang is the failure; what comes out must keep to
 * the bounds of what went in.
 *
 * DRAGOMAN_TEST_MUTATIONS sets how many. */
#include "fatbin/fatbin.h"

#include "fatbin_image.h"

#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t random_state = 0x9E3779B97F4A7C15;

static uint64_t random_next(void) /* xorshift64 (Marsaglia 2003) */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static size_t random_below(size_t limit)
{
	return limit ? (size_t)(random_next() % limit) : 0;
}

static const char ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\tret;\n}\n";

static void make_container(struct text *out)
{
	struct text cubin = { 0 };
	struct image_section kernel = { ".nv.constant0.k", SHT_PROGBITS, 0, "xyz", 3 };
	image_add_elf(&cubin, 190, ET_EXEC, 0x500550, 7, &kernel, 1);
	struct image_entry entries[] = {
		{ .kind = 2, .sm = 80, .flags = IMAGE_ZSTD, .header = 112, .bytes = cubin.data, .size = cubin.count },
		{ .kind = 1,
		  .sm = 80,
		  .flags = IMAGE_ZSTD,
		  .header = 80,
		  .name = "a.cu",
		  .bytes = ptx,
		  .size = sizeof ptx },
		{ .kind = 1, .sm = 75, .flags = IMAGE_LZ4, .bytes = ptx, .size = sizeof ptx },
		{ .kind = 1, .sm = 70, .bytes = ptx, .size = sizeof ptx },
		{ .kind = 2, .sm = 75, .bytes = cubin.data, .size = cubin.count },
	};
	image_add(out, NULL, 0);
	image_add(out, entries, ARRAY_LENGTH(entries));
	image_add(out, entries + 1, 2);
	text_fini(&cubin);
}

static void make_program(struct text *out)
{
	struct text code = { 0 };
	make_container(&code);
	static const char strings[] = "\0libcudart.so.13\0libc.so.6\0$ORIGIN/lib";
	const Elf64_Verneed need[] = {
		{ .vn_version = 1, .vn_cnt = 1, .vn_file = 1, .vn_aux = 2 * sizeof need[0], .vn_next = sizeof need[0] },
		{ .vn_version = 1, .vn_cnt = 1, .vn_file = 17, .vn_aux = sizeof need[0] }
	};
	const Elf64_Vernaux version = { .vna_name = 1, .vna_next = 0 };
	char needs[sizeof need + sizeof version];
	memcpy(needs, need, sizeof need);
	memcpy(needs + sizeof need, &version, sizeof version);
	const Elf64_Dyn dynamic[] = { { DT_NEEDED, { 1 } },      { DT_NEEDED, { 17 } },      { DT_RPATH, { 27 } },
				      { DT_STRTAB, { 0x1000 } }, { DT_VERNEED, { 0x2000 } }, { DT_VERNEEDNUM, { 2 } },
				      { DT_NULL, { 0 } } };
	struct image_section sections[] = {
		{ ".interp", SHT_PROGBITS, 0x500, "/lib64/ld-linux-x86-64.so.2", 28 },
		{ ".dynstr", SHT_STRTAB, 0x1000, strings, sizeof strings },
		{ ".gnu.version_r", SHT_GNU_verneed, 0x2000, needs, sizeof needs },
		{ ".dynamic", SHT_DYNAMIC, 0x3000, dynamic, sizeof dynamic },
		{ ".nv_fatbin", SHT_PROGBITS, 0x4000, code.data, code.count },
		{ "__nv_relfatbin", SHT_PROGBITS, 0x6000, code.data, code.count },
	};
	image_add_elf(out, EM_X86_64, ET_DYN, 0, 0, sections, ARRAY_LENGTH(sections));
	text_fini(&code);
}

static void make_archive(struct text *out)
{
	struct text object = { 0 };
	make_program(&object);
	image_add_member(out, &object);
	image_add_member(out, &object);
	text_fini(&object);
}

static void make_ptx(struct text *out)
{
	text_add(out, ptx, sizeof ptx);
}

/* One to eight changes, and at times a cut; returns the size that is left. */
static size_t mutate(char *bytes, size_t size)
{
	static const uint64_t telling[] = { 0,      1,          0x7f,       0x80,       0xff,      0x7fff,
					    0xffff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX };
	if (random_below(3) == 0)
		size = random_below(size) + 1;
	for (size_t changes = 1 + random_below(8); changes; changes--) {
		size_t at = random_below(2) ? random_below(size) : random_below(size < 256 ? size : 256);
		uint64_t value = telling[random_below(ARRAY_LENGTH(telling))];
		size_t width = (size_t)1 << random_below(4);
		if (random_below(2))
			bytes[at] = (char)(bytes[at] ^ 1 << random_below(8));
		else
			memcpy(bytes + at, &value, width < size - at ? width : size - at);
	}
	return size;
}

static bool touch_name(void *argument, const char *name)
{
	*(size_t *)argument += strlen(name);
	return true;
}

static void use(const struct fatbin *fatbin, const char *image, size_t size)
{
	size_t letters = 0;
	for (size_t i = 0; i < fatbin->entries.count; i++) {
		const struct fatbin_entry *entry = &fatbin->entries.data[i];
		assert_true(entry->unit < fatbin->unit_count);
		assert_true(!entry->size || ((const char *)entry->payload >= image &&
					     entry->size <= (size_t)(image + size - (const char *)entry->payload)));
		assert_true(!entry->name ||
			    (entry->name >= image && entry->name_length <= (size_t)(image + size - entry->name)));
		program_kernels(entry, touch_name, &letters);
	}
	struct fatbin_choice choice;
	struct fatbin_error error = { 0 };
	if (fatbin_choose_ptx(fatbin, 80, &choice, &error))
		assert_true(error.message[0] && strlen(error.message) < sizeof error.message);
	for (uint32_t i = 0; i < choice.count; i++)
		assert_int_equal(choice.units[i].text[choice.units[i].length], 0);
	fatbin_choice_fini(&choice);
}

/* The mutant ends at the end of a page behind which nothing is mapped, so that one byte too far is a fault. */
static void try_mutant(const char *bytes, size_t size, bool sized)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = align_up(size, page);
	char *pages = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + room, page, PROT_NONE), 0);
	char *at = pages + room - size;
	memcpy(at, bytes, size);
	struct fatbin fatbin;
	struct fatbin_error error = { 0 };
	if (!fatbin_open(at, sized ? size : 0, &fatbin, &error))
		use(&fatbin, at, size);
	else
		assert_true(error.message[0] && error.status && !fatbin.entries.count);
	fatbin_close(&fatbin);
	munmap(pages, room + page);
}

static void try_program(const char *path, int fd, const char *bytes, size_t size)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	struct program_info info;
	struct fatbin_error error;
	assert_true(program_scan(path, &info, &error));
	for (uint32_t unit = 0; unit < info.code.unit_count && unit < 16; unit++)
		(void)program_unit_runs(&info, unit);
	use(&info.code, info.map, info.map_size);
	program_fini(&info);
}

static void test_mutations(void **state UNUSED)
{
	static void (*const makers[])(struct text * out) = { make_container, make_program, make_archive, make_ptx };
	long count = env_long("DRAGOMAN_TEST_MUTATIONS", 10000, 1, 1000000000);
	struct text originals[ARRAY_LENGTH(makers)] = { 0 };
	char path[] = "/tmp/dragoman-test-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_LENGTH(makers); i++)
		makers[i](&originals[i]);
	for (long i = 0; i < count; i++) {
		struct text *original = &originals[i % (long)ARRAY_LENGTH(makers)];
		char *mutant = malloc(original->count);
		memcpy(mutant, original->data, original->count);
		size_t size = mutate(mutant, original->count);
		bool program = makers[i % (long)ARRAY_LENGTH(makers)] == make_program;
		uint32_t magic = 0;
		memcpy(&magic, mutant, size < 4 ? size : 4);
		/* A mutant that became a wrapper would hold addresses: not an input that can be survived, or met. */
		bool sized = program || magic == 0x466243B1 || random_below(2);
		try_mutant(mutant, size, sized);
		if (program)
			try_program(path, fd, mutant, size);
		free(mutant);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(makers); i++)
		text_fini(&originals[i]);
	close(fd);
	unlink(path);
}

/* Every truncation of a container, with and without a size. */
static void test_truncations(void **state UNUSED)
{
	struct text image = { 0 };
	make_container(&image);
	for (size_t size = 1; size < image.count; size++) {
		try_mutant(image.data, size, true);
		try_mutant(image.data, size, false);
	}
	text_fini(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mutations), cmocka_unit_test(test_truncations) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
