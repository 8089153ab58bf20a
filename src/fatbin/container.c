/* Fat binaries: wrappers, containers and their entries; what an image of unknown kind is.
 *
 *     wrapper    24 bytes, made by nvcc in .nvFatBinSegment: points at containers
 *     container  16 bytes, then entries: header, payload, header, payload, …
 *     entry      64 bytes or more: kind, sm, sizes, flags
 *
 * Layouts as nvcc 11 to 13 write them (see docs/legal.md on how such facts were found). */
#include "fatbin/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	WRAPPER_MAGIC = 0x466243B1,
	WRAPPER_SIZE = 24,
	CONTAINER_SIZE = 16,
	CONTAINER_VERSION = 1,
	ENTRY_SIZE = 64,
	LARGEST_HEADER = 1 << 16,
	LARGEST_LIST = 1 << 16 /* entries in an image; libcublasLt has 5,424 */
};
static const uint32_t container_magic = 0xBA55ED50, container_magic_old = 0x1EE55A01;
static const uint32_t lto_magic = 0x7F4E43ED, bitcode_magic = 0xDEC04342; /* nvcc -ltoir, LLVM */

enum { RAW_PTX = 1, RAW_CUBIN = 2, RAW_CUBIN_OLD = 4, RAW_LTO_IR = 8 };
enum {
	FLAG_OLD = 0x1000,
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000,
	FLAG_ARCH_SPECIFIC = 0x100000,
	FLAG_FAMILY = 0x200000
};

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t get32(const uint8_t *at)
{
	return get16(at) | (uint32_t)get16(at + 2) << 16;
}

static uint64_t get64(const uint8_t *at)
{
	return get32(at) | (uint64_t)get32(at + 4) << 32;
}

enum fatbin_status fatbin_fail(struct fatbin_error *error, enum fatbin_status status, const char *format, ...)
{
	if (error) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(error->message, sizeof error->message, format, arguments);
		va_end(arguments);
		error->status = status;
	}
	return status;
}

bool fatbin_add(struct fatbin *fatbin, const struct fatbin_entry *entry)
{
	return fatbin->entries.count < LARGEST_LIST && vec_push(&fatbin->entries, *entry);
}

/* ---- entries -------------------------------------------------------------------------------- */

static enum fatbin_kind kind_of(unsigned raw)
{
	switch (raw) {
	case RAW_PTX:
		return FATBIN_PTX;
	case RAW_CUBIN:
	case RAW_CUBIN_OLD:
		return FATBIN_CUBIN;
	case RAW_LTO_IR:
		return FATBIN_LTO_IR;
	default:
		return FATBIN_OTHER;
	}
}

/* An entry at `at`, of which `size` bytes are there; `used` gets those it takes. NULL or what is wrong with it. */
static const char *entry_read(struct fatbin_entry *entry, const uint8_t *at, size_t size, size_t *used)
{
	if (size < ENTRY_SIZE)
		return "its header is cut off";
	uint32_t header = get32(at + 4);
	if (header < ENTRY_SIZE || header > LARGEST_HEADER || header > size)
		return "the size of its header is impossible";
	uint64_t padded = get64(at + 8), stored = get32(at + 16), full = get64(at + 56);
	if (padded > size - header)
		return "its payload is cut off";
	uint64_t flags = get64(at + 40);
	*entry = (struct fatbin_entry){
		.raw_kind = get16(at),
		.kind = kind_of(get16(at)),
		.sm = (uint16_t)get32(at + 28),
		.flags = flags,
		.payload = at + header,
		.size = padded,
		.full_size = padded,
		.suffix = flags & FLAG_ARCH_SPECIFIC ? 'a'
			  : flags & FLAG_FAMILY      ? 'f'
						     : 0,
		.compression = flags & FLAG_ZSTD  ? FATBIN_ZSTD
			       : flags & FLAG_LZ4 ? FATBIN_LZ4
			       : flags & FLAG_OLD ? FATBIN_OLD
						  : FATBIN_STORED,
	};
	uint64_t name = get32(at + 32), name_length = get32(at + 36);
	if (name && name_length && name <= header && name_length <= header - name) {
		entry->name = (const char *)at + name;
		entry->name_length = strnlen(entry->name, name_length);
	}
	if (entry->compression != FATBIN_STORED) {
		if (stored > padded)
			return "its compressed size is larger than its payload";
		entry->size = stored ? stored : padded;
		entry->full_size = full;
	}
	*used = header + padded;
	return NULL;
}

/* ---- containers ----------------------------------------------------------------------------- */

bool container_is(const uint8_t *at, size_t size)
{
	return size >= 4 && (get32(at) == container_magic || get32(at) == container_magic_old);
}

static enum fatbin_status container_scan(struct fatbin *fatbin, const uint8_t *at, size_t size, uint32_t unit,
					 size_t *used, struct fatbin_error *error)
{
	if (size < CONTAINER_SIZE)
		return fatbin_fail(error, FATBIN_INVALID, "fat binary damaged: its header is cut off");
	unsigned version = get16(at + 4), header = get16(at + 6);
	uint64_t payload = get64(at + 8);
	if (version != CONTAINER_VERSION)
		return fatbin_fail(error, FATBIN_INVALID,
				   "fat binary of version %u; only version 1 (CUDA 4 and later) is known", version);
	if (header < CONTAINER_SIZE || header > size || payload > size - header)
		return fatbin_fail(error, FATBIN_INVALID,
				   "fat binary damaged: it says it has %u + %llu bytes, only %zu are there", header,
				   (unsigned long long)payload, size);
	*used = header + payload;
	for (size_t offset = header, taken; offset < *used; offset += taken) {
		struct fatbin_entry entry;
		const char *wrong = entry_read(&entry, at + offset, *used - offset, &taken);
		if (wrong)
			return fatbin_fail(error, FATBIN_INVALID, "fat binary damaged: entry at byte %zu: %s", offset,
					   wrong);
		entry.unit = unit;
		if (!fatbin_add(fatbin, &entry))
			return fatbin_fail(error, FATBIN_NO_MEMORY,
					   "no memory for the list of device code, or more than %d pieces",
					   LARGEST_LIST);
	}
	return FATBIN_OK;
}

enum fatbin_status container_scan_all(struct fatbin *fatbin, const uint8_t *at, size_t size, bool apart,
				      struct fatbin_error *error)
{
	enum fatbin_status status = FATBIN_OK;
	uint32_t first = fatbin->unit_count;
	while (!status && container_is(at, size)) {
		size_t used, count = fatbin->entries.count;
		status = container_scan(fatbin, at, size, apart ? fatbin->unit_count : first, &used, error);
		if (status) {
			fatbin->entries.count = count;
			break;
		}
		if (apart && fatbin->entries.count > count)
			fatbin->unit_count++;
		/* The next one is aligned to 8 bytes, as the section is. */
		size_t step = align_up(used, 8);
		if (step >= size)
			break;
		at += step;
		size -= step;
	}
	if (!apart)
		fatbin->unit_count = first + 1;
	return status;
}

/* Of an image whose size nobody gave: the container, and those behind it only while nothing was found yet. */
static enum fatbin_status container_scan_first(struct fatbin *fatbin, const uint8_t *at, size_t size, uint32_t unit,
					       struct fatbin_error *error)
{
	size_t count = fatbin->entries.count;
	for (size_t used;; at += used, size -= used) {
		enum fatbin_status status = container_scan(fatbin, at, size, unit, &used, error);
		if (status || fatbin->entries.count > count || !container_is(at + used, size - used))
			return status;
	}
}

/* ---- wrappers (only in this program's own memory) ---------------------------------------------- */

/* The relocatable code of one source file each, until the list's NULL. */
static enum fatbin_status wrapper_units(struct fatbin *fatbin, const void *const *list, struct fatbin_error *error)
{
	size_t room = memory_readable(list) / sizeof *list;
	for (size_t i = 0; i < room; i++) {
		const uint8_t *at;
		memcpy(&at, list + i, sizeof at);
		if (!at)
			return FATBIN_OK;
		size_t size = memory_readable(at);
		if (!container_is(at, size))
			return fatbin_fail(error, FATBIN_INVALID,
					   "fat binary damaged: relocatable unit %zu is no fat binary", i + 1);
		size_t count = fatbin->entries.count;
		enum fatbin_status status = container_scan_first(fatbin, at, size, fatbin->unit_count, error);
		if (status)
			return status;
		if (fatbin->entries.count > count)
			fatbin->unit_count++;
	}
	return fatbin_fail(error, FATBIN_INVALID, "fat binary damaged: the list of relocatable units has no end");
}

static enum fatbin_status wrapper_scan(struct fatbin *fatbin, const uint8_t *at, size_t size,
				       struct fatbin_error *error)
{
	if (size < WRAPPER_SIZE)
		return fatbin_fail(error, FATBIN_INVALID, "fat binary wrapper is cut off");
	uint32_t version = get32(at + 4);
	const uint8_t *data;
	const void *const *units;
	memcpy(&data, at + 8, sizeof data);
	memcpy(&units, at + 16, sizeof units);
	if (version != 1 && version != 2)
		return fatbin_fail(error, FATBIN_INVALID, "fat binary wrapper of version %u; 1 and 2 are known",
				   version);
	size_t there = memory_readable(data);
	if (!container_is(data, there))
		return fatbin_fail(error, FATBIN_INVALID, "fat binary wrapper does not point at a fat binary");
	if (version == 2 && units) {
		enum fatbin_status status = wrapper_units(fatbin, units, error);
		if (status)
			return status;
		fatbin->relocatable = fatbin->unit_count > 0;
	}
	if (!fatbin->relocatable) {
		fatbin->unit_count = 1;
		return container_scan_first(fatbin, data, there, 0, error);
	}
	/* What nvcc linked is of use only for messages: a flaw in it does not matter. */
	struct fatbin linked = { 0 };
	if (!container_scan_first(&linked, data, there, 0, NULL))
		for (size_t i = 0; i < linked.entries.count; i++)
			if (!vec_push(&fatbin->linked, linked.entries.data[i]))
				break;
	fatbin_close(&linked);
	return FATBIN_OK;
}

/* ---- other images ------------------------------------------------------------------------------ */

/* Length of the white space and comments that text begins with. */
static size_t text_skip(const char *text, size_t size)
{
	size_t at = 0;
	while (at < size) {
		const char *end;
		if (strchr(" \t\r\n\f\v", text[at]) && text[at])
			at++;
		else if (size - at >= 2 && !memcmp(text + at, "//", 2) && (end = memchr(text + at, '\n', size - at)))
			at = (size_t)(end - text) + 1;
		else if (size - at >= 4 && !memcmp(text + at, "/*", 2) &&
			 (end = memmem(text + at + 2, size - at - 2, "*/", 2)))
			at = (size_t)(end - text) + 2;
		else
			break;
	}
	return at;
}

/* The number of `.target sm_80`, which stands near the start; 0 where not found. */
static unsigned text_target(const char *text, size_t size)
{
	static const char word[] = ".target", sm[] = "sm_";
	size_t near = size < 4096 ? size : 4096;
	const char *at = memmem(text, near, word, sizeof word - 1), *end = text + near;
	at = at ? memmem(at, (size_t)(end - at), sm, sizeof sm - 1) : NULL;
	unsigned number = 0;
	for (at = at ? at + sizeof sm - 1 : end; at < end && *at >= '0' && *at <= '9' && number < 1000; at++)
		number = number * 10 + (unsigned)(*at - '0');
	return number;
}

static enum fatbin_status add_single(struct fatbin *fatbin, struct fatbin_entry entry, struct fatbin_error *error)
{
	entry.full_size = entry.size;
	fatbin->unit_count = 1;
	return fatbin_add(fatbin, &entry)
		       ? FATBIN_OK
		       : fatbin_fail(error, FATBIN_NO_MEMORY, "no memory for the list of device code");
}

static enum fatbin_status elf_scan(struct fatbin *fatbin, const uint8_t *at, size_t size, bool bounded,
				   struct fatbin_error *error)
{
	struct elf_file elf;
	char name[32];
	if (!elf_open(&elf, at, size))
		return fatbin_fail(error, FATBIN_INVALID, "an ELF file that is cut off or not of 64 bits");
	if (elf.header.e_machine == EM_CUDA)
		return add_single(fatbin,
				  (struct fatbin_entry){ .kind = FATBIN_CUBIN,
							 .raw_kind = RAW_CUBIN,
							 .sm = (uint16_t)elf_cubin_sm(&elf),
							 .payload = at,
							 .size = bounded ? size : 0 },
				  error);
	if (bounded && (elf.header.e_machine == EM_X86_64 || elf.header.e_machine == EM_AARCH64))
		return object_scan(fatbin, &elf, error);
	return fatbin_fail(error, FATBIN_INVALID, "an ELF file for %s is no device code",
			   elf_machine_name(elf.header.e_machine, name));
}

static enum fatbin_status image_scan(struct fatbin *fatbin, const uint8_t *at, size_t size, bool bounded,
				     struct fatbin_error *error)
{
	if (size >= 4 && get32(at) == WRAPPER_MAGIC) {
		if (bounded)
			return fatbin_fail(error, FATBIN_INVALID,
					   "a fat binary wrapper holds addresses and cannot stand in a file");
		return wrapper_scan(fatbin, at, size, error);
	}
	if (container_is(at, size)) {
		if (bounded)
			return container_scan_all(fatbin, at, size, false, error);
		fatbin->unit_count = 1;
		return container_scan_first(fatbin, at, size, 0, error);
	}
	if (elf_is(at, size))
		return elf_scan(fatbin, at, size, bounded, error);
	if (archive_is(at, size)) {
		if (!bounded)
			return fatbin_fail(error, FATBIN_INVALID,
					   "an archive of unknown size; link it with cuLinkAddData or cuLinkAddFile");
		return archive_scan(fatbin, at, size, error);
	}
	if (size >= 4 && (get32(at) == lto_magic || get32(at) == bitcode_magic))
		return fatbin_fail(error, FATBIN_NO_BINARY,
				   "link-time code (%s), which we cannot compile; make PTX instead",
				   get32(at) == lto_magic ? "LTO IR of nvcc -dlto" : "LLVM bitcode");
	const char *text = (const char *)at;
	size_t length = strnlen(text, size), skip = text_skip(text, length);
	static const char version[] = ".version";
	if (length - skip >= sizeof version && !memcmp(text + skip, version, sizeof version - 1)) {
		if (!bounded && length == size)
			return fatbin_fail(error, FATBIN_INVALID, "PTX text without a NUL at its end");
		return add_single(fatbin,
				  (struct fatbin_entry){ .kind = FATBIN_PTX,
							 .raw_kind = RAW_PTX,
							 .payload = at,
							 .size = length,
							 .sm = (uint16_t)text_target(text + skip, length - skip) },
				  error);
	}
	return fatbin_fail(error, FATBIN_INVALID, "neither PTX (it begins with .version) nor a cubin nor a fat binary");
}

enum fatbin_status fatbin_open(const void *image, size_t size, struct fatbin *fatbin, struct fatbin_error *error)
{
	*fatbin = (struct fatbin){ 0 };
	bool bounded = size != 0;
	if (!bounded)
		size = memory_readable(image);
	if (!image || !size)
		return fatbin_fail(error, FATBIN_INVALID, "the image of device code is at %p, where no memory is",
				   image);
	enum fatbin_status status = image_scan(fatbin, image, size, bounded, error);
	if (status)
		fatbin_close(fatbin);
	return status;
}

void fatbin_close(struct fatbin *fatbin)
{
	vec_fini(&fatbin->entries);
	vec_fini(&fatbin->linked);
	fatbin->unit_count = 0;
	fatbin->relocatable = false;
}

size_t fatbin_unit_begin(const struct fatbin *fatbin, uint32_t unit, size_t *end)
{
	size_t low = 0, high = fatbin->entries.count; /* in order of units: libraries have thousands */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (fatbin->entries.data[middle].unit < unit)
			low = middle + 1;
		else
			high = middle;
	}
	*end = low;
	while (*end < fatbin->entries.count && fatbin->entries.data[*end].unit == unit)
		++*end;
	return low;
}

const char *fatbin_entry_name(const struct fatbin_entry *entry, char buffer[48])
{
	char suffix[2] = { entry->suffix, 0 };
	switch (entry->kind) {
	case FATBIN_PTX:
		snprintf(buffer, 48, entry->sm ? "PTX compute_%u%s" : "PTX", entry->sm, suffix);
		break;
	case FATBIN_CUBIN:
		snprintf(buffer, 48, "machine code sm_%u%s", entry->sm, suffix);
		break;
	case FATBIN_LTO_IR:
		snprintf(buffer, 48, "LTO code sm_%u%s", entry->sm, suffix);
		break;
	default:
		snprintf(buffer, 48, "code of kind 0x%x sm_%u%s", entry->raw_kind, entry->sm, suffix);
	}
	return buffer;
}
