/* Arrays and mipmapped arrays. CUDA Driver API 6.13, cuArray* and cuMipmappedArray*.
 * Texels lie in rows; rows, then slices (layers, faces, depth) follow one another. */
#define _GNU_SOURCE
#include "driver/array.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"

enum { ROW_ALIGN = 32, LEVELS_MOST = 16, EXTENT_MOST = 131072 };

struct array *array_check(CUarray handle)
{
	return handle_check(handle, HANDLE_ARRAY);
}

/* Block-compressed formats store 4×4 texels in 8 or 16 bytes. */
static size_t format_block(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_BC1_UNORM:
	case CU_AD_FORMAT_BC1_UNORM_SRGB:
	case CU_AD_FORMAT_BC4_UNORM:
	case CU_AD_FORMAT_BC4_SNORM: return 8;
	case CU_AD_FORMAT_BC2_UNORM:
	case CU_AD_FORMAT_BC2_UNORM_SRGB:
	case CU_AD_FORMAT_BC3_UNORM:
	case CU_AD_FORMAT_BC3_UNORM_SRGB:
	case CU_AD_FORMAT_BC5_UNORM:
	case CU_AD_FORMAT_BC5_SNORM:
	case CU_AD_FORMAT_BC6H_UF16:
	case CU_AD_FORMAT_BC6H_SF16:
	case CU_AD_FORMAT_BC7_UNORM:
	case CU_AD_FORMAT_BC7_UNORM_SRGB: return 16;
	default: return 0;
	}
}

size_t array_format_bytes(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
	case CU_AD_FORMAT_UNORM_INT8X1:
	case CU_AD_FORMAT_SNORM_INT8X1: return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
	case CU_AD_FORMAT_UNORM_INT8X2:
	case CU_AD_FORMAT_SNORM_INT8X2:
	case CU_AD_FORMAT_UNORM_INT16X1:
	case CU_AD_FORMAT_SNORM_INT16X1: return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
	case CU_AD_FORMAT_UNORM_INT8X4:
	case CU_AD_FORMAT_SNORM_INT8X4:
	case CU_AD_FORMAT_UNORM_INT16X2:
	case CU_AD_FORMAT_SNORM_INT16X2:
	case CU_AD_FORMAT_UNORM_INT_101010_2: return 4;
	case CU_AD_FORMAT_UNORM_INT16X4:
	case CU_AD_FORMAT_SNORM_INT16X4: return 8;
	default: return format_block(format);
	}
}

static bool format_has_channels(CUarray_format format)
{
	return (int)format <= CU_AD_FORMAT_FLOAT;
}

static size_t texel_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return array_format_bytes(d->Format) * (format_has_channels(d->Format) ? d->NumChannels : 1);
}

static CUresult check_descriptor(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
	const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
			       CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE |
			       CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

	if (!array_format_bytes(d->Format))
		return api_error(CUDA_ERROR_INVALID_VALUE, "array format 0x%x", (unsigned)d->Format);
	if (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4 && format_has_channels(d->Format))
		return api_error(CUDA_ERROR_INVALID_VALUE, "arrays of %u channels", d->NumChannels);
	if (!d->Width || d->Flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "sparse arrays and arrays with deferred mapping");
	if (d->Width > EXTENT_MOST || d->Height > EXTENT_MOST || d->Depth > EXTENT_MOST)
		return api_error(CUDA_ERROR_INVALID_VALUE, "an array of %zu×%zu×%zu", d->Width, d->Height, d->Depth);
	if (cube && (d->Width != d->Height || !d->Depth || d->Depth % 6 || (!layered && d->Depth != 6)))
		return api_error(CUDA_ERROR_INVALID_VALUE, "a cube map has six square faces a layer");
	if (layered && !d->Depth)
		return CUDA_ERROR_INVALID_VALUE;
	if (!layered && !cube && d->Depth && !d->Height)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static size_t blocks_of(size_t texels, CUarray_format format)
{
	return format_block(format) ? (texels + 3) / 4 : texels;
}

static struct array *array_shape(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct array *array = handle_create(HANDLE_ARRAY);

	if (!array)
		return NULL;
	array->context = context;
	array->descriptor = *d;
	array->element = texel_bytes(d);
	array->row_bytes = blocks_of(d->Width, d->Format) * array->element;
	array->pitch = align_up(array->row_bytes, ROW_ALIGN);
	array->rows = d->Height ? blocks_of(d->Height, d->Format) : 1;
	array->slices = d->Depth ? d->Depth : 1;
	array->slice = array->pitch * array->rows;
	return array;
}

static CUresult storage_create(struct context *context, size_t size, uint8_t **base)
{
	struct allocation *allocation;
	CUresult status = allocation_create(context, size, MEMORY_ARRAY, 0, &allocation);

	if (!status)
		*base = (uint8_t *)allocation->base;
	return status;
}

static void storage_destroy(uint8_t *base)
{
	struct allocation *allocation = base ? memory_map_remove((uintptr_t)base) : NULL;

	if (allocation)
		allocation_release(allocation);
}

CUresult impl_cuArray3DCreate_v2(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	struct array *array;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!handle || !descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	status = check_descriptor(descriptor);
	if (!status)
		status = capture_forbid_unsafe();
	if (status)
		return status;
	array = array_shape(context, descriptor);
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	status = storage_create(context, array->slice * array->slices, &array->base);
	if (status) {
		handle_destroy(array);
		return status;
	}
	*handle = (CUarray)array;
	return CUDA_SUCCESS;
}

CUresult impl_cuArrayCreate_v2(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
	CUDA_ARRAY3D_DESCRIPTOR full;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!handle || !descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	full = (CUDA_ARRAY3D_DESCRIPTOR){.Width = descriptor->Width, .Height = descriptor->Height, .Format = descriptor->Format,
					 .NumChannels = descriptor->NumChannels};
	return impl_cuArray3DCreate_v2(handle, &full);
}

/* The array or mipmapped array behind a handle of the program's. */
static CUresult find(const void *handle, enum handle_kind kind, void **object)
{
	struct context *context;
	CUresult status = context_current(&context);

	if (status)
		return status;
	*object = handle_check(handle, kind);
	return *object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult array_find(CUarray handle, struct array **array)
{
	void *object = NULL;
	CUresult status = find(handle, HANDLE_ARRAY, &object);

	*array = object;
	return status;
}

static CUresult mipmap_find(CUmipmappedArray handle, struct mipmap **mipmap)
{
	void *object = NULL;
	CUresult status = find(handle, HANDLE_MIPMAP, &object);

	*mipmap = object;
	return status;
}

CUresult impl_cuArrayDestroy(CUarray handle)
{
	struct array *array;
	CUresult status = array_find(handle, &array);

	if (!status)
		status = capture_forbid_unsafe();
	if (status)
		return status;
	if (array->parent)
		return api_error(CUDA_ERROR_INVALID_HANDLE, "a level is destroyed with its mipmapped array");
	status = context_synchronize(array->context);
	storage_destroy(array->base);
	handle_destroy(array);
	return status;
}

CUresult impl_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray handle)
{
	struct array *array;
	CUresult status = array_find(handle, &array);

	if (status)
		return status;
	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	*descriptor = array->descriptor;
	return CUDA_SUCCESS;
}

CUresult impl_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *descriptor, CUarray handle)
{
	struct array *array;
	CUresult status = array_find(handle, &array);

	if (status)
		return status;
	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	*descriptor = (CUDA_ARRAY_DESCRIPTOR){array->descriptor.Width, array->descriptor.Height, array->descriptor.Format,
					      array->descriptor.NumChannels};
	return CUDA_SUCCESS;
}

/* What only arrays with deferred mapping, or sparse ones, tell: there are none. */
static CUresult no_requirements(const void *handle, enum handle_kind kind, const void *requirements, CUdevice dev)
{
	void *unused;
	CUresult status = find(handle, kind, &unused);

	if (status)
		return status;
	if (!requirements)
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return api_error(CUDA_ERROR_INVALID_VALUE, "the array was not made with deferred mapping");
}

static CUresult no_sparse_properties(const void *handle, enum handle_kind kind)
{
	void *unused;
	CUresult status = find(handle, kind, &unused);

	return status ? status : api_error(CUDA_ERROR_INVALID_VALUE, "the array is not sparse");
}

CUresult impl_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUarray handle, CUdevice dev)
{
	return no_requirements(handle, HANDLE_ARRAY, requirements, dev);
}

CUresult impl_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUmipmappedArray handle,
						    CUdevice dev)
{
	return no_requirements(handle, HANDLE_MIPMAP, requirements, dev);
}

CUresult impl_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUarray handle)
{
	(void)properties;
	return no_sparse_properties(handle, HANDLE_ARRAY);
}

CUresult impl_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUmipmappedArray handle)
{
	(void)properties;
	return no_sparse_properties(handle, HANDLE_MIPMAP);
}

CUresult impl_cuArrayGetPlane(CUarray *plane, CUarray handle, unsigned int index)
{
	struct array *array;
	CUresult status = array_find(handle, &array);

	(void)plane, (void)index;
	return status ? status : api_error(CUDA_ERROR_INVALID_VALUE, "the array has a format of one plane");
}

/* ---- mipmapped arrays ------------------------------------------------------------------------------------------------- */

static size_t halved(size_t extent, unsigned level)
{
	return extent ? (extent >> level ? extent >> level : 1) : 0;
}

static CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
	CUDA_ARRAY3D_DESCRIPTOR at = *d;

	at.Width = halved(d->Width, level);
	at.Height = halved(d->Height, level);
	if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		at.Depth = halved(d->Depth, level);
	return at;
}

static unsigned level_limit(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	size_t most = d->Width > d->Height ? d->Width : d->Height;
	unsigned levels = 1;

	if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) && d->Depth > most)
		most = d->Depth;
	while (most >>= 1)
		levels++;
	return levels < LEVELS_MOST ? levels : LEVELS_MOST;
}

static void mipmap_free(struct mipmap *mipmap)
{
	for (unsigned i = 0; i < mipmap->level_count; i++)
		if (mipmap->levels[i])
			handle_destroy(mipmap->levels[i]);
	storage_destroy(mipmap->base);
	handle_destroy(mipmap);
}

static CUresult mipmap_fill(struct mipmap *mipmap)
{
	uint8_t *at;
	CUresult status;

	for (unsigned i = 0; i < mipmap->level_count; i++) {
		CUDA_ARRAY3D_DESCRIPTOR d = level_descriptor(&mipmap->descriptor, i);

		mipmap->levels[i] = array_shape(mipmap->context, &d);
		if (!mipmap->levels[i])
			return CUDA_ERROR_OUT_OF_MEMORY;
		mipmap->levels[i]->parent = mipmap;
		mipmap->bytes += align_up(mipmap->levels[i]->slice * mipmap->levels[i]->slices, 512);
	}
	status = storage_create(mipmap->context, mipmap->bytes, &mipmap->base);
	if (status)
		return status;
	at = mipmap->base;
	for (unsigned i = 0; i < mipmap->level_count; i++) {
		mipmap->levels[i]->base = at;
		at += align_up(mipmap->levels[i]->slice * mipmap->levels[i]->slices, 512);
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuMipmappedArrayCreate(CUmipmappedArray *handle, const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int levels)
{
	struct mipmap *mipmap;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!handle || !descriptor || !levels)
		return CUDA_ERROR_INVALID_VALUE;
	status = check_descriptor(descriptor);
	if (!status)
		status = capture_forbid_unsafe();
	if (status)
		return status;
	mipmap = handle_create(HANDLE_MIPMAP);
	if (!mipmap)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mipmap->context = context;
	mipmap->descriptor = *descriptor;
	mipmap->level_count = levels < level_limit(descriptor) ? levels : level_limit(descriptor);
	status = mipmap_fill(mipmap);
	if (status) {
		mipmap_free(mipmap);
		return status;
	}
	*handle = (CUmipmappedArray)mipmap;
	return CUDA_SUCCESS;
}

CUresult impl_cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray handle, unsigned int index)
{
	struct mipmap *mipmap;
	CUresult status = mipmap_find(handle, &mipmap);

	if (status)
		return status;
	if (!level || index >= mipmap->level_count)
		return CUDA_ERROR_INVALID_VALUE;
	*level = (CUarray)mipmap->levels[index];
	return CUDA_SUCCESS;
}

CUresult impl_cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	struct mipmap *mipmap;
	CUresult status = mipmap_find(handle, &mipmap);

	if (!status)
		status = capture_forbid_unsafe();
	if (status)
		return status;
	status = context_synchronize(mipmap->context);
	mipmap_free(mipmap);
	return status;
}
