/* What is known of a pointer. CUDA Driver API 6.17 "Unified Addressing". */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"
#include "driver/pool.h"

static bool is_host(const struct allocation *a)
{
	return a->kind == MEMORY_HOST || a->kind == MEMORY_REGISTERED;
}

static bool is_managed(const struct allocation *a)
{
	return a->kind == MEMORY_MANAGED || (a->kind == MEMORY_SYMBOL && a->flags);
}

static CUresult attribute_of(void *out, CUpointer_attribute attribute, CUdeviceptr pointer, const struct allocation *a)
{
	switch ((int)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)out = (CUcontext)(a->context ? a->context : a->device->primary); break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)out = is_host(a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)out = pointer; break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!is_host(a) && !is_managed(a))
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)out = (void *)(uintptr_t)pointer;
		break;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return api_error(CUDA_ERROR_NOT_SUPPORTED, "peer-to-peer tokens");
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned char *)out = a->sync_memops; break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)out = a->id; break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned char *)out = is_managed(a); break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = a->device ? a->device->ordinal : -1; break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *(unsigned char *)out = a->kind == MEMORY_DEVICE; break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)out = a->base; break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)out = a->size; break;
	case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned char *)out = 1; break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: *(unsigned *)out = pool_handle_types(a); break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *(unsigned char *)out = 0; break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: *(unsigned *)out = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE; break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)out = (CUmemoryPool)a->pool; break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *(size_t *)out = a->size; break;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *(void **)out = (void *)a->base; break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: *(unsigned long long *)out = a->id; break;
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(unsigned char *)out = !is_host(a) && a->device && a->device->properties.host_backed;
		break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuPointerGetAttribute(void *out, CUpointer_attribute attribute, CUdeviceptr pointer)
{
	struct allocation found;

	REQUIRE_READY();
	if (!out || !memory_map_find(pointer, &found))
		return CUDA_ERROR_INVALID_VALUE;
	return attribute_of(out, attribute, pointer, &found);
}

/* Memory that is not ours: everything is unknown, and that is no error. */
static CUresult attribute_of_unknown(void *out, CUpointer_attribute attribute)
{
	switch ((int)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: memset(out, 0, 8); break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: memset(out, 0, 4); break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = CU_DEVICE_INVALID; break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: memset(out, 0, 1); break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **out, CUdeviceptr pointer)
{
	struct allocation found;
	bool known;

	REQUIRE_READY();
	if (!count || !attributes || !out)
		return CUDA_ERROR_INVALID_VALUE;
	known = memory_map_find(pointer, &found);
	for (unsigned i = 0; i < count; i++) {
		CUresult status = CUDA_ERROR_INVALID_VALUE;

		if (!out[i])
			return CUDA_ERROR_INVALID_VALUE;
		if (known)
			status = attribute_of(out[i], attributes[i], pointer, &found);
		if (status)
			status = attribute_of_unknown(out[i], attributes[i]);
		if (status)
			return status;
	}
	return CUDA_SUCCESS;
}

static void set_sync_memops(struct allocation *allocation, void *value)
{
	allocation->sync_memops = *(const unsigned *)value;
}

CUresult impl_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
	unsigned on;

	REQUIRE_READY();
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&on, value, sizeof on);
	return memory_map_edit(pointer, set_sync_memops, &on) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
