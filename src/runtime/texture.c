/* Texture and surface objects. CUDA Runtime API, "Texture Object Management" and "Surface Object Management"; CUDA C++
 * Programming Guide, "Texture Memory". The objects are the driver's; the runtime describes resources by channel
 * descriptors, and says how texels are read by modes where the driver has flags. */
#include "runtime.h"

_Static_assert(sizeof(struct cudaResourceViewDesc) == sizeof(CUDA_RESOURCE_VIEW_DESC), "resource views differ");

/* ---- resources --------------------------------------------------------------------------------------------------------- */

static cudaError_t resource_to_driver(const struct cudaResourceDesc *desc, CUDA_RESOURCE_DESC *out)
{
	*out = (CUDA_RESOURCE_DESC){ .flags = desc->flags };
	switch (desc->resType) {
	case cudaResourceTypeArray:
		out->resType = CU_RESOURCE_TYPE_ARRAY;
		out->res.array.hArray = (CUarray)desc->res.array.array;
		return cudaSuccess;
	case cudaResourceTypeMipmappedArray:
		out->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
		out->res.mipmap.hMipmappedArray = (CUmipmappedArray)desc->res.mipmap.mipmap;
		return cudaSuccess;
	case cudaResourceTypeLinear:
		out->resType = CU_RESOURCE_TYPE_LINEAR;
		out->res.linear.devPtr = device_pointer(desc->res.linear.devPtr);
		out->res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
		return array_format_to_driver(&desc->res.linear.desc, &out->res.linear.format, &out->res.linear.numChannels);
	case cudaResourceTypePitch2D:
		out->resType = CU_RESOURCE_TYPE_PITCH2D;
		out->res.pitch2D.devPtr = device_pointer(desc->res.pitch2D.devPtr);
		out->res.pitch2D.width = desc->res.pitch2D.width;
		out->res.pitch2D.height = desc->res.pitch2D.height;
		out->res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
		return array_format_to_driver(&desc->res.pitch2D.desc, &out->res.pitch2D.format, &out->res.pitch2D.numChannels);
	}
	return cudaErrorInvalidValue;
}

static void resource_from_driver(const CUDA_RESOURCE_DESC *desc, struct cudaResourceDesc *out)
{
	*out = (struct cudaResourceDesc){ .resType = (enum cudaResourceType)desc->resType, .flags = desc->flags };
	switch (desc->resType) {
	case CU_RESOURCE_TYPE_ARRAY: out->res.array.array = (cudaArray_t)desc->res.array.hArray; break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		out->res.mipmap.mipmap = (cudaMipmappedArray_t)desc->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		out->res.linear.devPtr = host_pointer(desc->res.linear.devPtr);
		out->res.linear.desc = array_format_from_driver(desc->res.linear.format, desc->res.linear.numChannels);
		out->res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		out->res.pitch2D.devPtr = host_pointer(desc->res.pitch2D.devPtr);
		out->res.pitch2D.desc = array_format_from_driver(desc->res.pitch2D.format, desc->res.pitch2D.numChannels);
		out->res.pitch2D.width = desc->res.pitch2D.width;
		out->res.pitch2D.height = desc->res.pitch2D.height;
		out->res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
		break;
	}
}

/* The format that a texture reads: its view's where there is one, the resource's otherwise. */
static cudaError_t resource_format(const CUDA_RESOURCE_DESC *desc, CUarray_format *format)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = { 0 };
	CUarray level;
	CUresult result = CUDA_SUCCESS;
	switch (desc->resType) {
	case CU_RESOURCE_TYPE_ARRAY: result = cuArray3DGetDescriptor_v2(&descriptor, desc->res.array.hArray); break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		result = cuMipmappedArrayGetLevel(&level, desc->res.mipmap.hMipmappedArray, 0);
		if (!result)
			result = cuArray3DGetDescriptor_v2(&descriptor, level);
		break;
	case CU_RESOURCE_TYPE_LINEAR: descriptor.Format = desc->res.linear.format; break;
	case CU_RESOURCE_TYPE_PITCH2D: descriptor.Format = desc->res.pitch2D.format; break;
	}
	*format = descriptor.Format;
	return (cudaError_t)result;
}

/* ---- how texels are read -------------------------------------------------------------------------------------------------- */

static bool format_is_integer(CUarray_format format)
{
	return format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_UNSIGNED_INT16 ||
	       format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT8 ||
	       format == CU_AD_FORMAT_SIGNED_INT16 || format == CU_AD_FORMAT_SIGNED_INT32;
}

/* Integers can be filtered only as normalised floats, and only those of 8 and 16 bits become that. */
static cudaError_t texture_check(const struct cudaTextureDesc *desc, CUarray_format format, bool viewed)
{
	if (viewed || !format_is_integer(format))
		return cudaSuccess;
	bool wide = format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32;
	if (desc->readMode == cudaReadModeNormalizedFloat && wide)
		return (cudaError_t)api_error(cudaErrorInvalidNormSetting, "32-bit integers cannot be read as normalized floats");
	if (desc->readMode == cudaReadModeElementType && desc->filterMode == cudaFilterModeLinear)
		return (cudaError_t)api_error(cudaErrorInvalidFilterSetting, "integers cannot be filtered");
	return cudaSuccess;
}

static CUDA_TEXTURE_DESC texture_to_driver(const struct cudaTextureDesc *desc)
{
	CUDA_TEXTURE_DESC out = {
		.filterMode = (CUfilter_mode)desc->filterMode,
		.maxAnisotropy = desc->maxAnisotropy,
		.mipmapFilterMode = (CUfilter_mode)desc->mipmapFilterMode,
		.mipmapLevelBias = desc->mipmapLevelBias,
		.minMipmapLevelClamp = desc->minMipmapLevelClamp,
		.maxMipmapLevelClamp = desc->maxMipmapLevelClamp,
	};
	for (int i = 0; i < 3; i++)
		out.addressMode[i] = (CUaddress_mode)desc->addressMode[i];
	memcpy(out.borderColor, desc->borderColor, sizeof out.borderColor);
	out.flags = (desc->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
		    (desc->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) | (desc->sRGB ? CU_TRSF_SRGB : 0) |
		    (desc->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0) |
		    (desc->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0);
	return out;
}

static struct cudaTextureDesc texture_from_driver(const CUDA_TEXTURE_DESC *desc)
{
	struct cudaTextureDesc out = {
		.filterMode = (enum cudaTextureFilterMode)desc->filterMode,
		.readMode = desc->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat,
		.sRGB = (desc->flags & CU_TRSF_SRGB) != 0,
		.normalizedCoords = (desc->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
		.maxAnisotropy = desc->maxAnisotropy,
		.mipmapFilterMode = (enum cudaTextureFilterMode)desc->mipmapFilterMode,
		.mipmapLevelBias = desc->mipmapLevelBias,
		.minMipmapLevelClamp = desc->minMipmapLevelClamp,
		.maxMipmapLevelClamp = desc->maxMipmapLevelClamp,
		.disableTrilinearOptimization = (desc->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
		.seamlessCubemap = (desc->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0,
	};
	for (int i = 0; i < 3; i++)
		out.addressMode[i] = (enum cudaTextureAddressMode)desc->addressMode[i];
	memcpy(out.borderColor, desc->borderColor, sizeof out.borderColor);
	return out;
}

/* ---- texture objects --------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
					 const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_DESC driver_resource;
	CUarray_format format;
	RUNTIME_REQUIRE();
	if (!object || !resource || !texture)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = resource_to_driver(resource, &driver_resource);
	if (!error)
		error = resource_format(&driver_resource, &format);
	if (!error)
		error = texture_check(texture, format, view && view->format != cudaResViewFormatNone);
	if (error)
		return runtime_result(error);
	CUDA_TEXTURE_DESC driver_texture = texture_to_driver(texture);
	return runtime_result(cuTexObjectCreate((CUtexObject *)object, &driver_resource, &driver_texture,
						(const CUDA_RESOURCE_VIEW_DESC *)view));
}

cudaError_t impl_cudaDestroyTextureObject(cudaTextureObject_t object)
{
	return RUNTIME(object ? cuTexObjectDestroy(object) : CUDA_SUCCESS);
}

cudaError_t impl_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t object)
{
	CUDA_RESOURCE_DESC desc;
	RUNTIME_REQUIRE();
	CUresult result = resource ? cuTexObjectGetResourceDesc(&desc, object) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		resource_from_driver(&desc, resource);
	return runtime_result(result);
}

cudaError_t impl_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object)
{
	CUDA_TEXTURE_DESC desc;
	RUNTIME_REQUIRE();
	CUresult result = texture ? cuTexObjectGetTextureDesc(&desc, object) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*texture = texture_from_driver(&desc);
	return runtime_result(result);
}

cudaError_t impl_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *view, cudaTextureObject_t object)
{
	return RUNTIME(cuTexObjectGetResourceViewDesc((CUDA_RESOURCE_VIEW_DESC *)view, object));
}

/* ---- surface objects ------------------------------------------------------------------------------------------------------------ */

cudaError_t impl_cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC desc;
	RUNTIME_REQUIRE();
	if (!object || !resource)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = resource_to_driver(resource, &desc);
	return runtime_result(error ? (int)error : (int)cuSurfObjectCreate((CUsurfObject *)object, &desc));
}

cudaError_t impl_cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
	return RUNTIME(object ? cuSurfObjectDestroy(object) : CUDA_SUCCESS);
}

cudaError_t impl_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t object)
{
	CUDA_RESOURCE_DESC desc;
	RUNTIME_REQUIRE();
	CUresult result = resource ? cuSurfObjectGetResourceDesc(&desc, object) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		resource_from_driver(&desc, resource);
	return runtime_result(result);
}
