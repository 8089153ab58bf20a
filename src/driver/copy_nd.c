/* Copies of two and three dimensions, between contexts, and in batches. CUDA Driver API 6.13, cuMemcpy2D … cuMemcpy3DPeer,
 * cuMemcpyBatchAsync. */
#define _GNU_SOURCE
#include "driver/copy.h"

#include "api/cuda_impl.h"
#include "driver/capture.h"

static CUresult copy_2d(const CUDA_MEMCPY2D *p, bool async, CUstream stream)
{
	struct copy_side to, from;

	REQUIRE_READY();
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	to = (struct copy_side){.type = p->dstMemoryType, .host = p->dstHost, .device = p->dstDevice, .array = p->dstArray,
				.x = p->dstXInBytes, .y = p->dstY, .row = p->dstPitch};
	from = (struct copy_side){.type = p->srcMemoryType, .host = p->srcHost, .device = p->srcDevice, .array = p->srcArray,
				  .x = p->srcXInBytes, .y = p->srcY, .row = p->srcPitch};
	return copy_run(stream, async, &to, &from, p->WidthInBytes, p->Height, 1);
}

CUresult impl_cuMemcpy2D_v2(const CUDA_MEMCPY2D *parameters)
{
	return copy_2d(parameters, false, NULL);
}

CUresult impl_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *parameters)
{
	return copy_2d(parameters, false, NULL);
}

CUresult impl_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *parameters, CUstream stream)
{
	return copy_2d(parameters, true, stream);
}

void copy_sides_of_3d(const CUDA_MEMCPY3D *p, struct copy_side *to, struct copy_side *from)
{
	*to = (struct copy_side){.type = p->dstMemoryType, .host = p->dstHost, .device = p->dstDevice, .array = p->dstArray,
				 .x = p->dstXInBytes, .y = p->dstY, .z = p->dstZ, .level = p->dstLOD, .row = p->dstPitch,
				 .rows = p->dstHeight};
	*from = (struct copy_side){.type = p->srcMemoryType, .host = p->srcHost, .device = p->srcDevice, .array = p->srcArray,
				   .x = p->srcXInBytes, .y = p->srcY, .z = p->srcZ, .level = p->srcLOD, .row = p->srcPitch,
				   .rows = p->srcHeight};
}

static CUresult copy_3d(const CUDA_MEMCPY3D *p, bool async, CUstream stream)
{
	struct copy_side to, from;

	REQUIRE_READY();
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	copy_sides_of_3d(p, &to, &from);
	return copy_run(stream, async, &to, &from, p->WidthInBytes, p->Height, p->Depth);
}

CUresult impl_cuMemcpy3D_v2(const CUDA_MEMCPY3D *parameters)
{
	return copy_3d(parameters, false, NULL);
}

CUresult impl_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *parameters, CUstream stream)
{
	return copy_3d(parameters, true, stream);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *p, bool async, CUstream stream)
{
	struct copy_side to, from;

	REQUIRE_READY();
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if ((p->dstMemoryType != CU_MEMORYTYPE_HOST && !context_check(p->dstContext)) ||
	    (p->srcMemoryType != CU_MEMORYTYPE_HOST && !context_check(p->srcContext)))
		return CUDA_ERROR_INVALID_CONTEXT;
	to = (struct copy_side){.type = p->dstMemoryType, .host = p->dstHost, .device = p->dstDevice, .array = p->dstArray,
				.x = p->dstXInBytes, .y = p->dstY, .z = p->dstZ, .level = p->dstLOD, .row = p->dstPitch,
				.rows = p->dstHeight};
	from = (struct copy_side){.type = p->srcMemoryType, .host = p->srcHost, .device = p->srcDevice, .array = p->srcArray,
				  .x = p->srcXInBytes, .y = p->srcY, .z = p->srcZ, .level = p->srcLOD, .row = p->srcPitch,
				  .rows = p->srcHeight};
	return copy_run(stream, async, &to, &from, p->WidthInBytes, p->Height, p->Depth);
}

CUresult impl_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *parameters)
{
	return copy_3d_peer(parameters, false, NULL);
}

CUresult impl_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *parameters, CUstream stream)
{
	return copy_3d_peer(parameters, true, stream);
}

/* ---- batches ------------------------------------------------------------------------------------------------------ */

/* Attributes are for runs of copies; the indices at which runs begin grow from 0. */
static bool runs_are_valid(const CUmemcpyAttributes *attributes, const size_t *starts, size_t runs, size_t count)
{
	if (!runs || !attributes || !starts || runs > count || starts[0])
		return false;
	for (size_t i = 0; i < runs; i++) {
		if ((i && starts[i] <= starts[i - 1]) || starts[i] >= count)
			return false;
		if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
		    attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
			return false;
	}
	return true;
}

static CUresult copy_batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
			   size_t *starts, size_t runs, size_t *failed, CUstream stream)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	if (failed)
		*failed = SIZE_MAX;
	if (!to || !from || !sizes || !count || !stream || stream == CU_STREAM_LEGACY || !runs_are_valid(attributes, starts, runs, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUresult status = sizes[i] ? impl_cuMemcpyAsync(to[i], from[i], sizes[i], stream) : CUDA_ERROR_INVALID_VALUE;

		if (status) {
			if (failed)
				*failed = i;
			return status;
		}
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
				 size_t *starts, size_t runs, size_t *failed, CUstream stream)
{
	return copy_batch(to, from, sizes, count, attributes, starts, runs, failed, stream);
}

CUresult impl_cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
				    CUmemcpyAttributes *attributes, size_t *starts, size_t runs, CUstream stream)
{
	return copy_batch(to, from, sizes, count, attributes, starts, runs, NULL, stream);
}

/* One side of a 3D batch entry: in elements, where the others count bytes. */
static CUresult batch_side(const CUmemcpy3DOperand *operand, const CUextent3D *extent, struct copy_side *side, size_t *element)
{
	switch ((int)operand->type) {
	case CU_MEMCPY_OPERAND_TYPE_POINTER:
		*side = (struct copy_side){.type = CU_MEMORYTYPE_UNIFIED, .device = operand->op.ptr.ptr,
					   .row = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width,
					   .rows = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height};
		*element = 1;
		return CUDA_SUCCESS;
	case CU_MEMCPY_OPERAND_TYPE_ARRAY: {
		struct array *array = array_check(operand->op.array.array);

		if (!array)
			return CUDA_ERROR_INVALID_HANDLE;
		*side = (struct copy_side){.type = CU_MEMORYTYPE_ARRAY, .array = operand->op.array.array,
					   .x = operand->op.array.offset.x * array->element, .y = operand->op.array.offset.y,
					   .z = operand->op.array.offset.z};
		*element = array->element;
		return CUDA_SUCCESS;
	}
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult copy_3d_batch_entry(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
	struct copy_side to, from;
	size_t to_element, from_element, element;
	CUresult status = batch_side(&op->dst, &op->extent, &to, &to_element);

	if (!status)
		status = batch_side(&op->src, &op->extent, &from, &from_element);
	if (status)
		return status;
	if (op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY && op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY && to_element != from_element)
		return CUDA_ERROR_INVALID_VALUE;
	element = to_element > from_element ? to_element : from_element;
	if (to.type == CU_MEMORYTYPE_UNIFIED)
		to.row *= element;
	if (from.type == CU_MEMORYTYPE_UNIFIED)
		from.row *= element;
	if (!op->extent.width || !op->extent.height || !op->extent.depth)
		return CUDA_ERROR_INVALID_VALUE;
	return copy_run(stream, true, &to, &from, op->extent.width * element, op->extent.height, op->extent.depth);
}

static CUresult copy_3d_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags,
			      CUstream stream)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	if (failed)
		*failed = SIZE_MAX;
	if (!count || !list || flags || !stream || stream == CU_STREAM_LEGACY)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUresult status = copy_3d_batch_entry(&list[i], stream);

		if (status) {
			if (failed)
				*failed = i;
			return status;
		}
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags,
				   CUstream stream)
{
	return copy_3d_batch(count, list, failed, flags, stream);
}

CUresult impl_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags, CUstream stream)
{
	return copy_3d_batch(count, list, NULL, flags, stream);
}
