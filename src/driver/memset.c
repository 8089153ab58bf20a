/* Setting memory. CUDA Driver API 6.13, cuMemset*. 16- and 32-bit forms want an aligned address; a pitch counts
 * only where there are rows. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"
#include "driver/capture.h"

CUresult queue_put_fill(struct queue *queue, const struct fill *fill)
{
	struct allocation found;

	if (driver.mixed && !queue->context->ops->copy_now && memory_map_find((uintptr_t)fill->to, &found) && found.device &&
	    found.device->ops->copy_now)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "a fill of memory of another kind of device");
	return (CUresult)queue->context->ops->queue_fill(queue->device_queue, fill->to, fill->pitch, fill->value, fill->element,
							 fill->width, fill->height);
}

CUresult command_fill(struct stream *stream, const struct fill *fill)
{
	CUresult status = stream_enter(stream);

	if (!status)
		status = queue_put_fill(stream->queue, fill);
	stream_leave(stream);
	return status;
}

CUresult fill_check(const struct fill *fill, struct allocation *found)
{
	uintptr_t base = (uintptr_t)fill->to;
	size_t row, span;

	if (fill->element != 1 && fill->element != 2 && fill->element != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(fill->width, fill->element, &row) || base % fill->element)
		return CUDA_ERROR_INVALID_VALUE;
	if (fill->height > 1 && (fill->pitch < row || fill->pitch % fill->element))
		return api_error(CUDA_ERROR_INVALID_VALUE, "a pitch of %zu bytes for rows of %zu", fill->pitch, row);
	if (__builtin_mul_overflow(fill->height - 1, fill->pitch, &span) || __builtin_add_overflow(span, row, &span))
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_is_device(base, span, found) || found->kind == MEMORY_REGISTERED || found->read_only)
		return api_error(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%zx are not memory of the device", span, (size_t)base);
	return CUDA_SUCCESS;
}

static CUresult fill_run(CUstream handle, bool async, struct fill fill)
{
	struct allocation found;
	struct stream *stream;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!async)
		handle = api_per_thread_stream() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	status = stream_find(context, handle, &stream);
	if (status || !fill.width || !fill.height)
		return status;
	status = fill_check(&fill, &found);
	if (status)
		return status;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return async ? capture_fill(stream, &fill) : capture_forbid_stream(stream);
	status = command_fill(stream, &fill);
	/* The host may look at its own memory right after the call. */
	if (!status && !async && (found.kind == MEMORY_HOST || found.kind == MEMORY_MANAGED))
		status = (CUresult)context->ops->queue_synchronize(stream->queue->device_queue, queue_last(stream->queue));
	return status;
}

static CUresult fill_line(CUstream stream, bool async, CUdeviceptr to, uint32_t value, unsigned element, size_t count)
{
	return fill_run(stream, async, (struct fill){(void *)(uintptr_t)to, 0, count, 1, value, element});
}

static CUresult fill_rows(CUstream stream, bool async, CUdeviceptr to, size_t pitch, uint32_t value, unsigned element,
			  size_t width, size_t height)
{
	return fill_run(stream, async, (struct fill){(void *)(uintptr_t)to, pitch, width, height, value, element});
}

CUresult impl_cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
	return fill_line(NULL, false, to, value, 1, count);
}

CUresult impl_cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
	return fill_line(NULL, false, to, value, 2, count);
}

CUresult impl_cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	return fill_line(NULL, false, to, value, 4, count);
}

CUresult impl_cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return fill_rows(NULL, false, to, pitch, value, 1, width, height);
}

CUresult impl_cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height)
{
	return fill_rows(NULL, false, to, pitch, value, 2, width, height);
}

CUresult impl_cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height)
{
	return fill_rows(NULL, false, to, pitch, value, 4, width, height);
}

CUresult impl_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
	return fill_line(stream, true, to, value, 1, count);
}

CUresult impl_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
	return fill_line(stream, true, to, value, 2, count);
}

CUresult impl_cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
	return fill_line(stream, true, to, value, 4, count);
}

CUresult impl_cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream)
{
	return fill_rows(stream, true, to, pitch, value, 1, width, height);
}

CUresult impl_cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
				 CUstream stream)
{
	return fill_rows(stream, true, to, pitch, value, 2, width, height);
}

CUresult impl_cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream)
{
	return fill_rows(stream, true, to, pitch, value, 4, width, height);
}
