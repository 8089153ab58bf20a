/* Device code inside host objects, executables, libraries and archives of objects: what nvcc -c and
 * nvcc -lib make and cuLinkAddFile(CU_JIT_INPUT_OBJECT, CU_JIT_INPUT_LIBRARY) takes.
 *
 * Objects keep fat binaries in two sections: .nv_fatbin (ready, or linked by nvcc) and __nv_relfatbin
 * (from -rdc=true, one container a source file). Archives are those of ar(5). */
#include "fatbin/internal.h"

#include <stdlib.h>

enum fatbin_status object_scan(struct fatbin *fatbin, const struct elf_file *elf, struct fatbin_error *error)
{
	static const char *const names[] = { ".nv_fatbin", "__nv_relfatbin" };
	struct elf_section section;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		for (uint64_t k = 0; elf_section(elf, k, &section); k++) {
			if (strcmp(section.name, names[i]) || !section.data)
				continue;
			uint32_t before = fatbin->unit_count;
			enum fatbin_status status =
				container_scan_all(fatbin, section.data, section.header.sh_size, true, error);
			if (status)
				return status;
			if (i == 1 && fatbin->unit_count > before)
				fatbin->relocatable = true;
		}
	return FATBIN_OK;
}

static const char archive_magic[] = "!<arch>\n";
enum { ARCHIVE_MAGIC = 8, MEMBER_HEADER = 60, MEMBER_SIZE_AT = 48, MEMBER_SIZE_DIGITS = 10 };

bool archive_is(const uint8_t *at, size_t size)
{
	return size >= ARCHIVE_MAGIC && !memcmp(at, archive_magic, ARCHIVE_MAGIC);
}

/* A member's size, in decimal padded with blanks; SIZE_MAX where it is none. */
static size_t member_size(const uint8_t *header)
{
	size_t size = 0;
	const uint8_t *digits = header + MEMBER_SIZE_AT;
	for (int i = 0; i < MEMBER_SIZE_DIGITS && digits[i] != ' '; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return SIZE_MAX;
		size = size * 10 + (size_t)(digits[i] - '0');
	}
	return size;
}

enum fatbin_status archive_scan(struct fatbin *fatbin, const uint8_t *at, size_t size, struct fatbin_error *error)
{
	for (size_t offset = ARCHIVE_MAGIC; offset < size;) {
		if (size - offset < MEMBER_HEADER)
			return fatbin_fail(error, FATBIN_INVALID, "archive damaged: the header at byte %zu is cut off",
					   offset);
		size_t length = member_size(at + offset);
		offset += MEMBER_HEADER;
		if (length > size - offset)
			return fatbin_fail(error, FATBIN_INVALID, "archive damaged: the member at byte %zu is cut off",
					   offset);
		struct elf_file elf;
		if (elf_open(&elf, at + offset, length)) {
			enum fatbin_status status = object_scan(fatbin, &elf, error);
			if (status)
				return status;
		}
		offset += length + (length & 1);
	}
	return FATBIN_OK;
}
