/* Stream memory operations: streams that write a value, or wait for one. CUDA Driver API 6.21. */
#define _GNU_SOURCE
#include "driver/graph.h"

#include <stdlib.h>
#include <time.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"

enum { WAIT_FLAGS = CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH, MEMOPS_MOST = 256, POLL_NS = 20000 };

static CUresult check_address(CUdeviceptr address, unsigned bytes)
{
	if (address % bytes || !memory_is_device(address, bytes, NULL))
		return api_error(CUDA_ERROR_INVALID_VALUE, "%u bytes at 0x%llx are not aligned memory of the device", bytes, address);
	return CUDA_SUCCESS;
}

static CUresult check_one(const CUstreamBatchMemOpParams *op)
{
	switch ((int)op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		if (op->waitValue.flags & ~(unsigned)WAIT_FLAGS)
			return CUDA_ERROR_INVALID_VALUE;
		return check_address(op->waitValue.address, op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		if (op->writeValue.flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
			return CUDA_ERROR_INVALID_VALUE;
		return check_address(op->writeValue.address, op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8);
	case CU_STREAM_MEM_OP_BARRIER: return op->memoryBarrier.flags <= 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: the device cannot");
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult memops_check(const CUstreamBatchMemOpParams *operations, unsigned count, unsigned flags)
{
	if (!operations || !count || count > MEMOPS_MOST || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		CUresult status = check_one(&operations[i]);

		if (status)
			return status;
	}
	return CUDA_SUCCESS;
}

/* ---- waiting -------------------------------------------------------------------------------------------------------- */

/* A kernel or another process writes the value meanwhile: the race is what this is for. Whoever goes on behind the wait does so
 * through the queue's locks, which order what it reads. */
__attribute__((no_sanitize_thread)) static uint64_t value_now(const CUstreamBatchMemOpParams *op, bool wide)
{
	uintptr_t address = (uintptr_t)op->waitValue.address;

	return wide ? *(const volatile uint64_t *)address : *(const volatile uint32_t *)address;
}

static bool value_has_come(const CUstreamBatchMemOpParams *op)
{
	bool wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
	uint64_t want = wide ? op->waitValue.value64 : op->waitValue.value;

	return device_value_has_come(value_now(op, wide), want, wide ? 8 : 4, op->waitValue.flags);
}

static void wait_for_value(void *argument)
{
	CUstreamBatchMemOpParams op = *(CUstreamBatchMemOpParams *)argument;
	struct timespec pause = {0, POLL_NS};

	free(argument);
	while (!value_has_come(&op))
		nanosleep(&pause, NULL);
}

static CUresult put_wait(struct queue *queue, const CUstreamBatchMemOpParams *op)
{
	const struct device_ops *ops = queue->context->ops;
	CUstreamBatchMemOpParams *copy;
	struct allocation found;
	CUresult status;

	if (ops->queue_wait_value && memory_map_find((uintptr_t)op->waitValue.address, &found) && found.kind != MEMORY_HOST &&
	    found.kind != MEMORY_REGISTERED && found.kind != MEMORY_MANAGED) { /* the host does not reach it */
		bool wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;

		return (CUresult)ops->queue_wait_value(queue->device_queue, (void *)(uintptr_t)op->waitValue.address,
						       wide ? op->waitValue.value64 : op->waitValue.value, wide ? 8 : 4, op->waitValue.flags);
	}
	copy = malloc(sizeof *copy);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*copy = *op;
	status = (CUresult)queue->context->ops->queue_host_function(queue->device_queue, wait_for_value, copy);
	if (status)
		free(copy);
	return status;
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static CUresult put_write(struct queue *queue, const CUstreamBatchMemOpParams *op)
{
	const struct device_ops *ops = queue->context->ops;
	void *address = (void *)(uintptr_t)op->writeValue.address;
	uint64_t *value;
	CUresult status;

	if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
		return (CUresult)ops->queue_fill(queue->device_queue, address, 0, op->writeValue.value, 4, 1, 1);
	/* Pinned where the device asks for it: a copy of other memory would wait for the stream here. */
	value = ops->stage_take ? ops->stage_take(queue->context->device->device) : malloc(sizeof *value);
	if (!value)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*value = op->writeValue.value64;
	status = (CUresult)ops->queue_copy(queue->device_queue, address, value, sizeof *value);
	context_defer(queue->context, queue, queue_last(queue), ops->stage_give ? ops->stage_give : free, value);
	return status;
}

CUresult memops_put(struct queue *queue, const CUstreamBatchMemOpParams *operations, unsigned count)
{
	CUresult status = CUDA_SUCCESS;

	for (unsigned i = 0; i < count && !status; i++) {
		switch ((int)operations[i].operation) {
		case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		case CU_STREAM_MEM_OP_WAIT_VALUE_64: status = put_wait(queue, &operations[i]); break;
		case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		case CU_STREAM_MEM_OP_WRITE_VALUE_64: status = put_write(queue, &operations[i]); break;
		default: break; /* a barrier: a queue's commands are ordered anyway */
		}
	}
	return status;
}

/* ---- entries ------------------------------------------------------------------------------------------------------------ */

CUresult impl_cuStreamBatchMemOp_v2(CUstream handle, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (!status)
		status = memops_check(operations, count, flags);
	if (status)
		return status;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_memops(stream, operations, count);
	status = stream_enter(stream);
	if (!status)
		status = memops_put(stream->queue, operations, count);
	stream_leave(stream);
	return status;
}

CUresult impl_cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags)
{
	return impl_cuStreamBatchMemOp_v2(stream, count, operations, flags);
}

static CUresult one(CUstream stream, CUstreamBatchMemOpType operation, CUdeviceptr address, uint64_t value, unsigned flags)
{
	CUstreamBatchMemOpParams op = {.operation = operation};

	op.waitValue.operation = operation; /* waits and writes are laid out alike */
	op.waitValue.address = address;
	op.waitValue.value64 = value;
	op.waitValue.flags = flags;
	return impl_cuStreamBatchMemOp_v2(stream, 1, &op, 0);
}

CUresult impl_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}

CUresult impl_cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}

CUresult impl_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}

CUresult impl_cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}

CUresult impl_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}

CUresult impl_cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}

CUresult impl_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}

CUresult impl_cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
