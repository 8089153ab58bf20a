/* An entry's bytes, decompressed: zstd frames (what nvcc 12.8 and later write), raw LZ4 blocks (11 and
 * 12, and -compress-mode=speed), or stored. The sizes that the entry declares are checked against
 * what its compression can yield before any memory is taken for them. */
#include "fatbin/internal.h"

#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

/* The largest PTX seen has 60 MB. Beyond this a size is a mistake. */
static const uint64_t largest = UINT64_C(1) << 30;

static enum fatbin_status declared_size(const struct fatbin_entry *entry, size_t *full, struct fatbin_error *error)
{
	uint64_t size = entry->full_size, possible = largest;
	if (entry->compression == FATBIN_ZSTD) {
		unsigned long long frame = ZSTD_getFrameContentSize(entry->payload, entry->size);
		if (frame == ZSTD_CONTENTSIZE_ERROR)
			return fatbin_fail(error, FATBIN_INVALID,
					   "fat binary damaged: its zstd frame has no valid header");
		if (!size && frame != ZSTD_CONTENTSIZE_UNKNOWN)
			size = frame;
		if (frame != ZSTD_CONTENTSIZE_UNKNOWN && frame != size)
			return fatbin_fail(error, FATBIN_INVALID,
					   "fat binary damaged: %llu bytes are declared, its zstd frame says %llu",
					   (unsigned long long)size, frame);
	} else if (entry->compression == FATBIN_LZ4) {
		possible = (uint64_t)entry->size * 255 + 64; /* one byte of a match's length stands for 255 */
	}
	if (size > largest || size > possible)
		return fatbin_fail(error, FATBIN_INVALID,
				   "fat binary damaged: %zu compressed bytes cannot become the %llu declared",
				   entry->size, (unsigned long long)size);
	*full = size;
	return FATBIN_OK;
}

static enum fatbin_status decompress(const struct fatbin_entry *entry, char *out, size_t full,
				     struct fatbin_error *error)
{
	size_t made = 0;
	if (entry->compression == FATBIN_STORED) {
		memcpy(out, entry->payload, full);
		return FATBIN_OK;
	}
	if (entry->compression == FATBIN_ZSTD) {
		made = ZSTD_decompress(out, full, entry->payload, entry->size);
		if (ZSTD_isError(made))
			return fatbin_fail(error, FATBIN_INVALID, "fat binary damaged: zstd: %s",
					   ZSTD_getErrorName(made));
	} else {
		int result = entry->size > INT_MAX
				     ? -1
				     : LZ4_decompress_safe(entry->payload, out, (int)entry->size, (int)full);
		if (result < 0)
			return fatbin_fail(error, FATBIN_INVALID, "fat binary damaged: its LZ4 block does not decode");
		made = (size_t)result;
	}
	if (made != full)
		return fatbin_fail(error, FATBIN_INVALID, "fat binary damaged: %zu bytes are declared, %zu came out",
				   full, made);
	return FATBIN_OK;
}

enum fatbin_status fatbin_payload(const struct fatbin_entry *entry, char **bytes, size_t *size,
				  struct fatbin_error *error)
{
	size_t full = 0;
	char name[48];
	if (entry->compression == FATBIN_OLD)
		return fatbin_fail(
			error, FATBIN_NO_BINARY,
			"%s is compressed in a way (flag 0x1000) that is not known; rebuild with CUDA 11 or later",
			fatbin_entry_name(entry, name));
	enum fatbin_status status = declared_size(entry, &full, error);
	if (status)
		return status;
	char *out = malloc(full + 1);
	if (!out)
		return fatbin_fail(error, FATBIN_NO_MEMORY, "no memory for %zu bytes of device code", full);
	status = decompress(entry, out, full, error);
	if (status) {
		free(out);
		return status;
	}
	while (entry->kind == FATBIN_PTX && full && !out[full - 1])
		full--;
	out[full] = 0;
	*bytes = out;
	*size = full;
	return FATBIN_OK;
}
