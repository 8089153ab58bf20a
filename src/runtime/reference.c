/* Texture and surface references, which programs of CUDA 11 and before have as variables: binding them. CUDA Runtime API
 * reference manual 11.8, "Texture Reference Management" and "Surface Reference Management". A reference is one of the
 * driver's, in the module that the program's variable belongs to; how texels are read is what the program's structure says
 * when it binds. */
#include "runtime.h"

/* ---- texture references ---------------------------------------------------------------------------------------------------- */

static cudaError_t texture_find(const struct textureReference *texture, struct registered_reference **found,
				CUtexref *reference)
{
	CUmodule module;
	cudaError_t error = register_find_reference(texture, false, found, &module);
	CUresult result = error ? CUDA_SUCCESS : cuModuleGetTexRef(reference, module, (*found)->name);
	if (result == CUDA_ERROR_NOT_FOUND)
		return cudaErrorInvalidTexture;
	return error ? error : (cudaError_t)result;
}

/* Filtering, addressing and the form that texels are read in. */
static cudaError_t texture_describe(const struct registered_reference *found, CUtexref reference)
{
	const struct textureReference *t = found->host;
	unsigned flags = (found->normalized_read ? 0 : CU_TRSF_READ_AS_INTEGER) |
			 (t->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0) | (t->sRGB ? CU_TRSF_SRGB : 0) |
			 (t->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0);
	CUresult result = cuTexRefSetFlags(reference, flags);
	for (int i = 0; i < 3 && !result; i++)
		result = cuTexRefSetAddressMode(reference, i, (CUaddress_mode)t->addressMode[i]);
	if (!result)
		result = cuTexRefSetFilterMode(reference, (CUfilter_mode)t->filterMode);
	if (!result)
		result = cuTexRefSetMipmapFilterMode(reference, (CUfilter_mode)t->mipmapFilterMode);
	if (!result)
		result = cuTexRefSetMipmapLevelBias(reference, t->mipmapLevelBias);
	if (!result)
		result = cuTexRefSetMipmapLevelClamp(reference, t->minMipmapLevelClamp, t->maxMipmapLevelClamp);
	if (!result)
		result = cuTexRefSetMaxAnisotropy(reference, t->maxAnisotropy);
	return (cudaError_t)result;
}

/* The reference behind the program's structure, ready to be bound. */
static cudaError_t texture_prepare(const struct textureReference *texture, struct registered_reference **found,
				   CUtexref *reference)
{
	cudaError_t error = texture_find(texture, found, reference);
	return error ? error : texture_describe(*found, *reference);
}

/* A texture ends where its memory does, whatever size the program gives (the default is as much as there can be). */
static cudaError_t texture_clip(const void *pointer, size_t *size)
{
	CUdeviceptr base;
	size_t whole;
	CUresult result = cuMemGetAddressRange_v2(&base, &whole, device_pointer(pointer));
	if (result)
		return cudaErrorInvalidValue;
	size_t rest = whole - (device_pointer(pointer) - base);
	*size = *size < rest ? *size : rest;
	return cudaSuccess;
}

cudaError_t impl_cudaBindTexture(size_t *offset, const struct textureReference *texture, const void *pointer,
				 const struct cudaChannelFormatDesc *desc, size_t size)
{
	struct registered_reference *found;
	CUtexref reference;
	size_t before = 0;
	CUarray_format format;
	unsigned channels;
	RUNTIME_REQUIRE();
	cudaError_t error = desc ? texture_prepare(texture, &found, &reference) : cudaErrorInvalidValue;
	if (!error)
		error = array_format_to_driver(desc, &format, &channels);
	if (!error)
		error = texture_clip(pointer, &size);
	if (!error)
		error = (cudaError_t)cuTexRefSetFormat(reference, format, (int)channels);
	if (!error)
		error = (cudaError_t)cuTexRefSetAddress_v2(offset ? &before : NULL, reference, device_pointer(pointer), size);
	if (error)
		return runtime_result(error);
	found->offset = before;
	if (offset)
		*offset = before;
	return cudaSuccess;
}

cudaError_t impl_cudaBindTexture2D(size_t *offset, const struct textureReference *texture, const void *pointer,
				   const struct cudaChannelFormatDesc *desc, size_t width, size_t height, size_t pitch)
{
	struct registered_reference *found;
	CUtexref reference;
	CUDA_ARRAY_DESCRIPTOR descriptor = { .Width = width, .Height = height };
	RUNTIME_REQUIRE();
	cudaError_t error = desc ? texture_prepare(texture, &found, &reference) : cudaErrorInvalidValue;
	if (!error)
		error = array_format_to_driver(desc, &descriptor.Format, &descriptor.NumChannels);
	if (!error)
		error = (cudaError_t)cuTexRefSetFormat(reference, descriptor.Format, (int)descriptor.NumChannels);
	if (!error)
		error = (cudaError_t)cuTexRefSetAddress2D_v3(reference, &descriptor, device_pointer(pointer), pitch);
	if (error)
		return runtime_result(error);
	found->offset = 0; /* rows begin where the pointer says, or the driver has refused it */
	if (offset)
		*offset = 0;
	return cudaSuccess;
}

cudaError_t impl_cudaBindTextureToArray(const struct textureReference *texture, cudaArray_const_t array,
					const struct cudaChannelFormatDesc *desc)
{
	struct registered_reference *found;
	CUtexref reference;
	RUNTIME_REQUIRE();
	cudaError_t error = array && desc ? texture_prepare(texture, &found, &reference) : cudaErrorInvalidValue;
	return runtime_result(error ? (int)error :
				      (int)cuTexRefSetArray(reference, (CUarray)(uintptr_t)array, CU_TRSA_OVERRIDE_FORMAT));
}

cudaError_t impl_cudaBindTextureToMipmappedArray(const struct textureReference *texture, cudaMipmappedArray_const_t array,
						 const struct cudaChannelFormatDesc *desc)
{
	struct registered_reference *found;
	CUtexref reference;
	RUNTIME_REQUIRE();
	cudaError_t error = array && desc ? texture_prepare(texture, &found, &reference) : cudaErrorInvalidValue;
	return runtime_result(error ? (int)error :
				      (int)cuTexRefSetMipmappedArray(reference, (CUmipmappedArray)(uintptr_t)array,
								     CU_TRSA_OVERRIDE_FORMAT));
}

/* What was bound stays readable until something else is bound, as a kernel that reads an unbound texture is at fault. */
cudaError_t impl_cudaUnbindTexture(const struct textureReference *texture)
{
	struct registered_reference *found;
	CUtexref reference;
	RUNTIME_REQUIRE();
	return runtime_result(texture_find(texture, &found, &reference));
}

/* Where what is bound begins, after the aligned place at which the texture does. */
cudaError_t impl_cudaGetTextureAlignmentOffset(size_t *offset, const struct textureReference *texture)
{
	struct registered_reference *found;
	CUtexref reference;
	CUdeviceptr address;
	CUarray array;
	RUNTIME_REQUIRE();
	if (!offset)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = texture_find(texture, &found, &reference);
	if (error)
		return runtime_result(error);
	if (!cuTexRefGetArray(&array, reference))
		*offset = 0;
	else if (!cuTexRefGetAddress_v2(&address, reference))
		*offset = found->offset;
	else
		return runtime_result(cudaErrorInvalidTextureBinding);
	return cudaSuccess;
}

cudaError_t impl_cudaGetTextureReference(const struct textureReference **texture, const void *symbol)
{
	struct registered_reference *found;
	CUtexref reference;
	RUNTIME_REQUIRE();
	if (!texture)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = texture_find(symbol, &found, &reference);
	if (!error)
		*texture = found->host;
	return runtime_result(error);
}

/* ---- surface references ---------------------------------------------------------------------------------------------------- */

static cudaError_t surface_find(const struct surfaceReference *surface, struct registered_reference **found,
				CUsurfref *reference)
{
	CUmodule module;
	cudaError_t error = register_find_reference(surface, true, found, &module);
	CUresult result = error ? CUDA_SUCCESS : cuModuleGetSurfRef(reference, module, (*found)->name);
	if (result == CUDA_ERROR_NOT_FOUND)
		return cudaErrorInvalidSurface;
	return error ? error : (cudaError_t)result;
}

cudaError_t impl_cudaBindSurfaceToArray(const struct surfaceReference *surface, cudaArray_const_t array,
					const struct cudaChannelFormatDesc *desc)
{
	struct registered_reference *found;
	CUsurfref reference;
	RUNTIME_REQUIRE();
	cudaError_t error = array && desc ? surface_find(surface, &found, &reference) : cudaErrorInvalidValue;
	return runtime_result(error ? (int)error : (int)cuSurfRefSetArray(reference, (CUarray)(uintptr_t)array, 0));
}

cudaError_t impl_cudaGetSurfaceReference(const struct surfaceReference **surface, const void *symbol)
{
	struct registered_reference *found;
	CUsurfref reference;
	RUNTIME_REQUIRE();
	if (!surface)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = surface_find(symbol, &found, &reference);
	if (!error)
		*surface = found->host;
	return runtime_result(error);
}
