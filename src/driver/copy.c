/* Copies. CUDA Driver API 6.13, cuMemcpy*, and "API synchronization behavior" of the runtime's manual:
 *
 * - a synchronous copy is back when the data is there, but for device to device, which only keeps its place in the stream;
 * - an asynchronous copy from pageable memory may be given that memory back at once, so it is staged where it is
 *   small and waited for where it is not; one to pageable memory is waited for. */
#define _GNU_SOURCE
#include "driver/copy.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"

/* A copy that a queue of the CPU's cannot do, because one side is another back end's memory. */
struct foreign_copy {
	struct copy copy;
	struct driver_device *device;
};

static void copy_foreign(void *argument)
{
	struct foreign_copy *foreign = argument;
	const struct copy *c = &foreign->copy;

	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++)
			foreign->device->ops->copy_now(foreign->device->device, (uint8_t *)c->to + z * c->to_slice + y * c->to_pitch,
						       (const uint8_t *)c->from + z * c->from_slice + y * c->from_pitch, c->width);
	free(foreign);
}

/* The device whose back end must do the copy in place of the queue's; NULL: the queue's own can. */
static struct driver_device *foreign_device(const struct queue *queue, const struct copy *copy)
{
	const void *const sides[2] = {copy->to, copy->from};
	struct allocation found;

	if (!driver.mixed || queue->context->ops->copy_now)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (memory_map_find((uintptr_t)sides[i], &found) && found.device && found.device->ops->copy_now)
			return found.device;
	return NULL;
}

static CUresult put_foreign_copy(struct queue *queue, const struct copy *copy, struct driver_device *device)
{
	struct foreign_copy *foreign = malloc(sizeof *foreign);
	CUresult status;

	if (!foreign)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*foreign = (struct foreign_copy){*copy, device};
	status = (CUresult)queue->context->ops->queue_host_function(queue->device_queue, copy_foreign, foreign);
	if (status)
		free(foreign);
	return status;
}

CUresult queue_put_copy(struct queue *queue, const struct copy *copy)
{
	struct driver_device *foreign = foreign_device(queue, copy);
	const struct device_ops *ops = queue->context->ops;
	size_t width = copy->width, height = copy->height, depth = copy->depth;

	if (foreign)
		return put_foreign_copy(queue, copy, foreign);
	if (height > 1 && copy->to_pitch == width && copy->from_pitch == width) { /* rows without gaps */
		width *= height;
		height = 1;
	}
	if (depth > 1 && height == 1 && copy->to_slice == width && copy->from_slice == width) {
		width *= depth;
		depth = 1;
	}
	if (height == 1 && depth == 1)
		return (CUresult)ops->queue_copy(queue->device_queue, copy->to, copy->from, width);
	return (CUresult)ops->queue_copy_2d(queue->device_queue, copy->to, copy->to_pitch, copy->to_slice, copy->from, copy->from_pitch,
					    copy->from_slice, copy->width, copy->height, copy->depth);
}

/* A copy of the source's bytes, without gaps. */
static void *stage(const struct context *context, const struct copy *copy, struct copy *staged)
{
	size_t row = copy->width;
	uint8_t *bytes = context->ops->stage_take ? context->ops->stage_take(context->device->device) : malloc(row * copy->height * copy->depth);
	uint8_t *at = bytes;

	if (!bytes)
		return NULL;
	for (size_t z = 0; z < copy->depth; z++)
		for (size_t y = 0; y < copy->height; y++, at += row)
			memcpy(at, (const uint8_t *)copy->from + z * copy->from_slice + y * copy->from_pitch, row);
	*staged = *copy;
	staged->from = bytes;
	staged->from_pitch = row;
	staged->from_slice = row * copy->height;
	return bytes;
}

CUresult command_copy(struct stream *stream, const struct copy *copy, bool wait)
{
	struct queue *queue = stream->queue;
	struct copy staged;
	void *bytes = NULL;
	CUresult status;

	if (!copy->width || !copy->height || !copy->depth)
		return CUDA_SUCCESS;
	status = stream_enter(stream);
	if (status)
		return status;
	if (!wait && copy->to_host)
		wait = true;
	if (!wait && copy->from_host) {
		if (copy->width * copy->height * copy->depth <= STAGE_BYTES && !queue_is_done(queue, queue_last(queue)))
			bytes = stage(stream->context, copy, &staged);
		wait = !bytes;
	}
	status = queue_put_copy(queue, bytes ? &staged : copy);
	stream_leave(stream);
	if (bytes)
		context_defer(stream->context, queue, queue_last(queue), queue->context->ops->stage_give ? queue->context->ops->stage_give : free,
			      bytes);
	if (!status && wait)
		status = (CUresult)stream->context->ops->queue_synchronize(queue->device_queue, queue_last(queue));
	return status || !wait ? status : context_error(stream->context);
}

/* ---- where a side lies ------------------------------------------------------------------------------------- */

/* The bytes from `pointer` on that one side of a copy covers. */
static size_t side_span(const struct copy_side *side, const struct copy *copy)
{
	return (copy->depth - 1) * side->slice + (copy->height - 1) * side->row + copy->width;
}

static CUresult check_pitch(struct copy_side *side, const struct copy *copy)
{
	if (!side->row)
		side->row = copy->width + side->x;
	if (copy->height > 1 && side->row < side->x + copy->width)
		return api_error(CUDA_ERROR_INVALID_VALUE, "a pitch of %zu bytes for rows of %zu at %zu", side->row, copy->width, side->x);
	if (copy->depth > 1 && side->rows < side->y + copy->height)
		return api_error(CUDA_ERROR_INVALID_VALUE, "%zu rows a slice where %zu at %zu are copied", side->rows, copy->height, side->y);
	if (__builtin_mul_overflow(side->row, side->rows ? side->rows : 1, &side->slice))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult place_array(struct copy_side *side, const struct copy *copy)
{
	struct array *array = array_check(side->array);

	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	if (side->level)
		return CUDA_ERROR_INVALID_VALUE;
	if (side->x > array->row_bytes || copy->width > array->row_bytes - side->x || side->y > array->rows ||
	    copy->height > array->rows - side->y || side->z > array->slices || copy->depth > array->slices - side->z)
		return api_error(CUDA_ERROR_INVALID_VALUE, "the copy reaches past the array's end");
	side->row = array->pitch;
	side->slice = array->slice;
	side->pointer = array->base + side->z * side->slice + side->y * side->row + side->x;
	side->kind = SIDE_DEVICE;
	return CUDA_SUCCESS;
}

static CUresult place_pointer(struct copy_side *side, const struct copy *copy)
{
	struct allocation found;
	uintptr_t base = side->type == CU_MEMORYTYPE_HOST ? (uintptr_t)side->host : (uintptr_t)side->device;
	CUresult status = check_pitch(side, copy);

	if (status)
		return status;
	if (!base)
		return CUDA_ERROR_INVALID_VALUE;
	base += side->z * side->slice + side->y * side->row + side->x;
	side->pointer = (void *)base;
	if (memory_map_find(base, &found)) {
		bool pinned = found.kind == MEMORY_HOST || found.kind == MEMORY_REGISTERED;

		if (side->writes && found.read_only)
			return api_error(CUDA_ERROR_INVALID_VALUE, "%p is registered read-only", side->pointer);
		if (!pinned && !memory_is_device(base, side_span(side, copy), NULL))
			return api_error(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p reach past the allocation's end", side_span(side, copy),
					 side->pointer);
		side->kind = pinned ? SIDE_PINNED : found.kind == MEMORY_MANAGED ? SIDE_MANAGED : SIDE_DEVICE;
		return CUDA_SUCCESS;
	}
	if (side->type == CU_MEMORYTYPE_DEVICE)
		return api_error(CUDA_ERROR_INVALID_VALUE, "%p is not memory of the device", side->pointer);
	side->kind = SIDE_PAGEABLE;
	return CUDA_SUCCESS;
}

CUresult copy_place(struct copy_side *to, struct copy_side *from, struct copy *copy)
{
	struct copy_side *sides[2] = {to, from};

	to->writes = true;
	for (int i = 0; i < 2; i++) {
		CUresult status;

		switch ((int)sides[i]->type) {
		case CU_MEMORYTYPE_HOST:
		case CU_MEMORYTYPE_DEVICE:
		case CU_MEMORYTYPE_UNIFIED: status = place_pointer(sides[i], copy); break;
		case CU_MEMORYTYPE_ARRAY: status = place_array(sides[i], copy); break;
		default: status = CUDA_ERROR_INVALID_VALUE; break;
		}
		if (status)
			return status;
	}
	copy->to = to->pointer;
	copy->from = from->pointer;
	copy->to_pitch = to->row;
	copy->to_slice = to->slice;
	copy->from_pitch = from->row;
	copy->from_slice = from->slice;
	copy->to_host = to->kind == SIDE_PAGEABLE;
	copy->from_host = from->kind == SIDE_PAGEABLE;
	return CUDA_SUCCESS;
}

CUresult copy_run(CUstream handle, bool async, struct copy_side *to, struct copy_side *from, size_t width, size_t height,
		  size_t depth)
{
	struct copy copy = {.width = width, .height = height, .depth = depth};
	struct stream *stream;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!async)
		handle = api_per_thread_stream() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	status = stream_find(context, handle, &stream);
	if (status || !width || !height || !depth)
		return status;
	status = copy_place(to, from, &copy);
	if (status)
		return status;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return async ? capture_copy(stream, &copy) : capture_forbid_stream(stream);
	return command_copy(stream, &copy, !async && (to->kind != SIDE_DEVICE || from->kind != SIDE_DEVICE));
}

/* ---- one range to another ------------------------------------------------------------------------------------ */

static CUresult copy_range(CUstream stream, bool async, CUmemorytype to_type, uintptr_t to_address, CUmemorytype from_type,
			   uintptr_t from_address, size_t size)
{
	struct copy_side to = {.type = to_type, .host = (void *)to_address, .device = to_address};
	struct copy_side from = {.type = from_type, .host = (void *)from_address, .device = from_address};

	return copy_run(stream, async, &to, &from, size, 1, 1);
}

CUresult impl_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy_range(NULL, false, CU_MEMORYTYPE_UNIFIED, to, CU_MEMORYTYPE_UNIFIED, from, size);
}

CUresult impl_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_range(stream, true, CU_MEMORYTYPE_UNIFIED, to, CU_MEMORYTYPE_UNIFIED, from, size);
}

CUresult impl_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
	return copy_range(NULL, false, CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_HOST, (uintptr_t)from, size);
}

CUresult impl_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	return copy_range(stream, true, CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_HOST, (uintptr_t)from, size);
}

CUresult impl_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size)
{
	return copy_range(NULL, false, CU_MEMORYTYPE_HOST, (uintptr_t)to, CU_MEMORYTYPE_DEVICE, from, size);
}

CUresult impl_cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_range(stream, true, CU_MEMORYTYPE_HOST, (uintptr_t)to, CU_MEMORYTYPE_DEVICE, from, size);
}

CUresult impl_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy_range(NULL, false, CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_DEVICE, from, size);
}

CUresult impl_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_range(stream, true, CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_DEVICE, from, size);
}

static CUresult check_peers(CUcontext to, CUcontext from)
{
	REQUIRE_READY();
	return context_check(to) && context_check(from) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult impl_cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size)
{
	CUresult status = check_peers(to_context, from_context);

	return status ? status : impl_cuMemcpyDtoD_v2(to, from, size);
}

CUresult impl_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size,
				CUstream stream)
{
	CUresult status = check_peers(to_context, from_context);

	return status ? status : impl_cuMemcpyDtoDAsync_v2(to, from, size, stream);
}

/* ---- arrays of one dimension ----------------------------------------------------------------------------------- */

static CUresult copy_array(CUstream stream, bool async, CUarray to_array, uintptr_t to_address, CUarray from_array,
			   uintptr_t from_address, size_t to_offset, size_t from_offset, CUmemorytype memory, size_t size)
{
	struct copy_side to = {.type = to_array ? CU_MEMORYTYPE_ARRAY : memory, .array = to_array, .host = (void *)to_address,
			       .device = to_address, .x = to_offset};
	struct copy_side from = {.type = from_array ? CU_MEMORYTYPE_ARRAY : memory, .array = from_array,
				 .host = (void *)from_address, .device = from_address, .x = from_offset};

	return copy_run(stream, async, &to, &from, size, 1, 1);
}

CUresult impl_cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t size)
{
	return to ? copy_array(NULL, false, to, 0, NULL, from, offset, 0, CU_MEMORYTYPE_DEVICE, size) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t size)
{
	return from ? copy_array(NULL, false, NULL, to, from, 0, 0, offset, CU_MEMORYTYPE_DEVICE, size) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t size)
{
	return to ? copy_array(NULL, false, to, 0, NULL, (uintptr_t)from, offset, 0, CU_MEMORYTYPE_HOST, size) :
		    CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t size, CUstream stream)
{
	return to ? copy_array(stream, true, to, 0, NULL, (uintptr_t)from, offset, 0, CU_MEMORYTYPE_HOST, size) :
		    CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t size)
{
	return from ? copy_array(NULL, false, NULL, (uintptr_t)to, from, 0, 0, offset, CU_MEMORYTYPE_HOST, size) :
		      CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t size, CUstream stream)
{
	return from ? copy_array(stream, true, NULL, (uintptr_t)to, from, 0, 0, offset, CU_MEMORYTYPE_HOST, size) :
		      CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size)
{
	return to && from ? copy_array(NULL, false, to, 0, from, 0, to_offset, from_offset, CU_MEMORYTYPE_DEVICE, size) :
			    CUDA_ERROR_INVALID_HANDLE;
}
