/* What the files of src/fatbin share and nobody else needs. */
#ifndef DRAGOMAN_FATBIN_INTERNAL_H
#define DRAGOMAN_FATBIN_INTERNAL_H

#include "fatbin/elf.h"
#include "fatbin/fatbin.h"

/* Fills `error` (may be NULL) and returns `status`. */
enum fatbin_status fatbin_fail(struct fatbin_error *error, enum fatbin_status status, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Bytes that may be read from `at` on; 0 where not even one. (memory.c) */
size_t memory_readable(const void *at);

/* Does a container begin here? (container.c) */
bool container_is(const uint8_t *at, size_t size);
/* Adds the containers that follow one another in `size` bytes: as alternatives of one unit, or (apart) each
 * that holds something as a unit of its own. */
enum fatbin_status container_scan_all(struct fatbin *fatbin, const uint8_t *at, size_t size, bool apart,
				      struct fatbin_error *error);
bool fatbin_add(struct fatbin *fatbin, const struct fatbin_entry *entry);

/* Adds the device code embedded in a host object, executable or library, each container a unit. (object.c) */
enum fatbin_status object_scan(struct fatbin *fatbin, const struct elf_file *elf, struct fatbin_error *error);
bool archive_is(const uint8_t *at, size_t size);
enum fatbin_status archive_scan(struct fatbin *fatbin, const uint8_t *at, size_t size, struct fatbin_error *error);

#endif
