/* Managed memory: advice, prefetching, attachment. CUDA Driver API 6.17 "Unified Addressing".
 * Host and device share one memory here, so none of this moves anything; what was advised is remembered, because programs
 * ask for it. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"
#include "driver/capture.h"

enum { CPU_BIT = 63 };

static bool is_managed(const struct allocation *a)
{
	return a->kind == MEMORY_MANAGED || (a->kind == MEMORY_SYMBOL && a->flags);
}

/* Managed memory, or the system's where devices use the host's page tables. */
static CUresult check_range(struct context *context, CUdeviceptr pointer, size_t size, struct allocation *found, bool *known)
{
	if (!size || !pointer)
		return CUDA_ERROR_INVALID_VALUE;
	*known = memory_map_find(pointer, found);
	if (!*known)
		return context->device->properties.pageable_access ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (!is_managed(found))
		return api_error(CUDA_ERROR_INVALID_VALUE, "0x%llx is not managed memory", pointer);
	if (size > found->size - (pointer - found->base))
		return api_error(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%llx reach past the allocation's end", size, pointer);
	return CUDA_SUCCESS;
}

static CUresult check_location(const CUmemLocation *location)
{
	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE: return driver_device(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUmemLocation location_of(CUdevice dev)
{
	return dev == CU_DEVICE_CPU ? (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0} :
				      (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, dev};
}

/* ---- advice ----------------------------------------------------------------------------------------------------- */

struct advice {
	CUmem_advise advice;
	CUmemLocation location;
};

static void take_advice(struct allocation *allocation, void *argument)
{
	const struct advice *advice = argument;
	uint64_t bit = (uint64_t)1 << (advice->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? advice->location.id : CPU_BIT);

	switch ((int)advice->advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY: allocation->read_mostly = true; break;
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY: allocation->read_mostly = false; break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: allocation->preferred = advice->location; break;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: allocation->preferred.type = CU_MEM_LOCATION_TYPE_INVALID; break;
	case CU_MEM_ADVISE_SET_ACCESSED_BY: allocation->accessed_by |= bit; break;
	default: allocation->accessed_by &= ~bit; break;
	}
}

CUresult impl_cuMemAdvise_v2(CUdeviceptr pointer, size_t size, CUmem_advise advice, CUmemLocation location)
{
	struct advice given = {advice, location};
	struct allocation found;
	bool known;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	status = check_range(context, pointer, size, &found, &known);
	/* The location is ignored by the advice that needs none. */
	if (!status && advice > CU_MEM_ADVISE_UNSET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
		status = check_location(&location);
	if (!status && known)
		memory_map_edit(pointer, take_advice, &given);
	return status;
}

CUresult impl_cuMemAdvise(CUdeviceptr pointer, size_t size, CUmem_advise advice, CUdevice dev)
{
	return impl_cuMemAdvise_v2(pointer, size, advice, location_of(dev));
}

/* ---- prefetching -------------------------------------------------------------------------------------------------- */

static void take_prefetch(struct allocation *allocation, void *location)
{
	allocation->prefetched = *(const CUmemLocation *)location;
}

CUresult impl_cuMemPrefetchAsync_v2(CUdeviceptr pointer, size_t size, CUmemLocation location, unsigned int flags, CUstream handle)
{
	struct stream *stream;
	struct allocation found;
	bool known;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	status = check_range(stream->context, pointer, size, &found, &known);
	if (!status)
		status = check_location(&location);
	if (!status && atomic_load_explicit(&stream->capture, memory_order_acquire))
		status = capture_forbid_stream(stream);
	if (!status && known)
		memory_map_edit(pointer, take_prefetch, &location);
	return status;
}

CUresult impl_cuMemPrefetchAsync(CUdeviceptr pointer, size_t size, CUdevice dev, CUstream stream)
{
	return impl_cuMemPrefetchAsync_v2(pointer, size, location_of(dev), 0, stream);
}

/* Each location is for the ranges from its index on. */
static CUresult prefetch_batch(CUdeviceptr *pointers, size_t *sizes, size_t count, CUmemLocation *locations, size_t *starts,
			       size_t location_count, unsigned long long flags, CUstream stream)
{
	size_t run = 0;

	REQUIRE_READY();
	if (!pointers || !sizes || !count || !locations || !starts || !location_count || location_count > count || starts[0] || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUresult status;

		if (run + 1 < location_count && starts[run + 1] <= i)
			run++;
		status = impl_cuMemPrefetchAsync_v2(pointers[i], sizes[i], locations[run], 0, stream);
		if (status)
			return status;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPrefetchBatchAsync(CUdeviceptr *pointers, size_t *sizes, size_t count, CUmemLocation *locations,
				      size_t *starts, size_t location_count, unsigned long long flags, CUstream stream)
{
	return prefetch_batch(pointers, sizes, count, locations, starts, location_count, flags, stream);
}

/* What is discarded may hold anything: it keeps what it holds. */
CUresult impl_cuMemDiscardBatchAsync(CUdeviceptr *pointers, size_t *sizes, size_t count, unsigned long long flags, CUstream handle)
{
	struct stream *stream;
	struct allocation found;
	bool known;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!pointers || !sizes || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !status; i++)
		status = check_range(stream->context, pointers[i], sizes[i], &found, &known);
	return status;
}

CUresult impl_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *pointers, size_t *sizes, size_t count, CUmemLocation *locations,
						size_t *starts, size_t location_count, unsigned long long flags, CUstream stream)
{
	return prefetch_batch(pointers, sizes, count, locations, starts, location_count, flags, stream);
}

/* ---- questions ------------------------------------------------------------------------------------------------------ */

static int device_of(const CUmemLocation *location)
{
	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE: return location->id;
	case CU_MEM_LOCATION_TYPE_INVALID: return CU_DEVICE_INVALID;
	default: return CU_DEVICE_CPU;
	}
}

static CUresult accessed_by(int *out, size_t count, uint64_t bits)
{
	size_t filled = 0;

	for (int i = 0; i < CPU_BIT && filled < count; i++)
		if (bits >> i & 1)
			out[filled++] = i;
	if (bits >> CPU_BIT && filled < count)
		out[filled++] = CU_DEVICE_CPU;
	while (filled < count)
		out[filled++] = CU_DEVICE_INVALID;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr pointer, size_t count)
{
	struct allocation found = {.preferred = {CU_MEM_LOCATION_TYPE_INVALID, 0}, .prefetched = {CU_MEM_LOCATION_TYPE_INVALID, 0}};
	bool known;
	int *out = data;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!data || !size || size % 4 || (size != 4 && attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY))
		return CUDA_ERROR_INVALID_VALUE;
	status = check_range(context, pointer, count, &found, &known);
	if (status)
		return status;
	switch ((int)attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *out = found.read_mostly; break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *out = device_of(&found.preferred); break;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: return accessed_by(out, size / 4, found.accessed_by);
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = device_of(&found.prefetched); break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *out = (int)found.preferred.type; break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *out = found.preferred.id; break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *out = (int)found.prefetched.type; break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *out = found.prefetched.id; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t attribute_count,
				      CUdeviceptr pointer, size_t count)
{
	REQUIRE_READY();
	if (!data || !sizes || !attributes || !attribute_count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < attribute_count; i++) {
		CUresult status = impl_cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], pointer, count);

		if (status)
			return status;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer, size_t size, unsigned int flags)
{
	struct stream *stream;
	struct allocation found;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_MEM_ATTACH_SINGLE && stream->rule == STREAM_LEGACY)
		return api_error(CUDA_ERROR_INVALID_VALUE, "memory cannot be attached to the legacy stream alone");
	if (!memory_map_find(pointer, &found))
		return stream->context->device->properties.pageable_access ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (!is_managed(&found) || (size && (found.base != pointer || size != found.size)))
		return api_error(CUDA_ERROR_INVALID_VALUE, "only a whole managed allocation can be attached");
	return CUDA_SUCCESS;
}
