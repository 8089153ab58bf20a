/* Decompression in a stream. CUDA Driver API 6.13, cuMemBatchDecompressAsync. LZ4 blocks, as
 * CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK says, on devices that work on the host's memory. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <lz4.h>
#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"

struct decompression { /* on its way in a stream */
	size_t count;
	CUmemDecompressParams items[];
};

/* How much came out is told, nothing where the data are damaged: the manual has no status for that moment. */
static void decompress(void *argument)
{
	struct decompression *work = argument;

	for (size_t i = 0; i < work->count; i++) {
		const CUmemDecompressParams *item = &work->items[i];
		int out = LZ4_decompress_safe(item->src, item->dst, (int)item->srcNumBytes, (int)item->dstNumBytes);

		if (out < 0)
			log_warn("cuMemBatchDecompressAsync: item %zu is no LZ4 block, or its data do not fit", i);
		if (item->dstActBytes)
			*item->dstActBytes = out < 0 ? 0 : (cuuint32_t)out;
	}
	free(work);
}

static CUresult check_item(const CUmemDecompressParams *item)
{
	if (item->algo == CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE || item->algo == CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "only LZ4 is decompressed (CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK)");
	if (item->algo != CU_MEM_DECOMPRESS_ALGORITHM_LZ4 || !item->src || !item->dst || !item->srcNumBytes || !item->dstNumBytes ||
	    item->srcNumBytes > DECOMPRESS_MOST || item->dstNumBytes > DECOMPRESS_MOST)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_is_device((uintptr_t)item->src, item->srcNumBytes, NULL) ||
	    !memory_is_device((uintptr_t)item->dst, item->dstNumBytes, NULL))
		return api_error(CUDA_ERROR_INVALID_VALUE, "source or destination is no device memory of that size");
	return CUDA_SUCCESS;
}

CUresult impl_cuMemBatchDecompressAsync(CUmemDecompressParams *items, size_t count, unsigned int flags, size_t *failed, CUstream handle)
{
	struct decompression *work;
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!items || !count || flags || count > SIZE_MAX / sizeof *items / 2)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream->context->device->properties.host_backed)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "decompression needs a device that works on the host's memory");
	status = capture_forbid_stream(stream);
	for (size_t i = 0; i < count && !status; i++) {
		status = check_item(&items[i]);
		if (status && failed)
			*failed = i;
	}
	work = status ? NULL : malloc(sizeof *work + count * sizeof *items);
	if (!work)
		return status ? status : CUDA_ERROR_OUT_OF_MEMORY;
	work->count = count;
	memcpy(work->items, items, count * sizeof *items);
	status = command_host(stream, decompress, work);
	if (status)
		free(work);
	return status;
}
