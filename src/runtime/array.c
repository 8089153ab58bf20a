/* Arrays, mipmapped arrays and their formats. CUDA Runtime API, "Memory Management" and "Texture Object Management"
 * (channel descriptors). The handles are the driver's: cudaArray_t is a CUarray. */
#include "runtime.h"

/* ---- formats -------------------------------------------------------------------------------------------------------------- */

/* Formats that a channel kind names by itself: normalised integers and compressed blocks. */
static const struct {
	enum cudaChannelFormatKind kind;
	CUarray_format format;
	unsigned char channels, bits[4];
	unsigned char block; /* bytes of a 4x4 block, for compressed formats */
} special_formats[] = {
	{ cudaChannelFormatKindNV12, CU_AD_FORMAT_NV12, 3, { 8, 8, 8 }, 0 },
	{ cudaChannelFormatKindUnsignedNormalized8X1, CU_AD_FORMAT_UNORM_INT8X1, 1, { 8 }, 0 },
	{ cudaChannelFormatKindUnsignedNormalized8X2, CU_AD_FORMAT_UNORM_INT8X2, 2, { 8, 8 }, 0 },
	{ cudaChannelFormatKindUnsignedNormalized8X4, CU_AD_FORMAT_UNORM_INT8X4, 4, { 8, 8, 8, 8 }, 0 },
	{ cudaChannelFormatKindUnsignedNormalized16X1, CU_AD_FORMAT_UNORM_INT16X1, 1, { 16 }, 0 },
	{ cudaChannelFormatKindUnsignedNormalized16X2, CU_AD_FORMAT_UNORM_INT16X2, 2, { 16, 16 }, 0 },
	{ cudaChannelFormatKindUnsignedNormalized16X4, CU_AD_FORMAT_UNORM_INT16X4, 4, { 16, 16, 16, 16 }, 0 },
	{ cudaChannelFormatKindSignedNormalized8X1, CU_AD_FORMAT_SNORM_INT8X1, 1, { 8 }, 0 },
	{ cudaChannelFormatKindSignedNormalized8X2, CU_AD_FORMAT_SNORM_INT8X2, 2, { 8, 8 }, 0 },
	{ cudaChannelFormatKindSignedNormalized8X4, CU_AD_FORMAT_SNORM_INT8X4, 4, { 8, 8, 8, 8 }, 0 },
	{ cudaChannelFormatKindSignedNormalized16X1, CU_AD_FORMAT_SNORM_INT16X1, 1, { 16 }, 0 },
	{ cudaChannelFormatKindSignedNormalized16X2, CU_AD_FORMAT_SNORM_INT16X2, 2, { 16, 16 }, 0 },
	{ cudaChannelFormatKindSignedNormalized16X4, CU_AD_FORMAT_SNORM_INT16X4, 4, { 16, 16, 16, 16 }, 0 },
	{ cudaChannelFormatKindUnsignedBlockCompressed1, CU_AD_FORMAT_BC1_UNORM, 4, { 8, 8, 8, 8 }, 8 },
	{ cudaChannelFormatKindUnsignedBlockCompressed1SRGB, CU_AD_FORMAT_BC1_UNORM_SRGB, 4, { 8, 8, 8, 8 }, 8 },
	{ cudaChannelFormatKindUnsignedBlockCompressed2, CU_AD_FORMAT_BC2_UNORM, 4, { 8, 8, 8, 8 }, 16 },
	{ cudaChannelFormatKindUnsignedBlockCompressed2SRGB, CU_AD_FORMAT_BC2_UNORM_SRGB, 4, { 8, 8, 8, 8 }, 16 },
	{ cudaChannelFormatKindUnsignedBlockCompressed3, CU_AD_FORMAT_BC3_UNORM, 4, { 8, 8, 8, 8 }, 16 },
	{ cudaChannelFormatKindUnsignedBlockCompressed3SRGB, CU_AD_FORMAT_BC3_UNORM_SRGB, 4, { 8, 8, 8, 8 }, 16 },
	{ cudaChannelFormatKindUnsignedBlockCompressed4, CU_AD_FORMAT_BC4_UNORM, 1, { 8 }, 8 },
	{ cudaChannelFormatKindSignedBlockCompressed4, CU_AD_FORMAT_BC4_SNORM, 1, { 8 }, 8 },
	{ cudaChannelFormatKindUnsignedBlockCompressed5, CU_AD_FORMAT_BC5_UNORM, 2, { 8, 8 }, 16 },
	{ cudaChannelFormatKindSignedBlockCompressed5, CU_AD_FORMAT_BC5_SNORM, 2, { 8, 8 }, 16 },
	{ cudaChannelFormatKindUnsignedBlockCompressed6H, CU_AD_FORMAT_BC6H_UF16, 3, { 16, 16, 16 }, 16 },
	{ cudaChannelFormatKindSignedBlockCompressed6H, CU_AD_FORMAT_BC6H_SF16, 3, { 16, 16, 16 }, 16 },
	{ cudaChannelFormatKindUnsignedBlockCompressed7, CU_AD_FORMAT_BC7_UNORM, 4, { 8, 8, 8, 8 }, 16 },
	{ cudaChannelFormatKindUnsignedBlockCompressed7SRGB, CU_AD_FORMAT_BC7_UNORM_SRGB, 4, { 8, 8, 8, 8 }, 16 },
	{ cudaChannelFormatKindUnsignedNormalized1010102, CU_AD_FORMAT_UNORM_INT_101010_2, 4, { 10, 10, 10, 2 }, 0 },
};

/* The rest: a kind and a width of bits. */
static const struct {
	enum cudaChannelFormatKind kind;
	int bits;
	CUarray_format format;
} plain_formats[] = {
	{ cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8 },
	{ cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16 },
	{ cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32 },
	{ cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8 },
	{ cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16 },
	{ cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32 },
	{ cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF },
	{ cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT },
};

static cudaError_t bad_descriptor(const struct cudaChannelFormatDesc *desc)
{
	return (cudaError_t)api_error(cudaErrorInvalidChannelDescriptor, "no format has channels of %d, %d, %d, %d bits of kind %d",
				      desc->x, desc->y, desc->z, desc->w, (int)desc->f);
}

cudaError_t array_format_to_driver(const struct cudaChannelFormatDesc *desc, CUarray_format *format, unsigned *channels)
{
	const int bits[4] = { desc->x, desc->y, desc->z, desc->w };
	for (size_t i = 0; i < ARRAY_LENGTH(special_formats); i++)
		if (special_formats[i].kind == desc->f) {
			*format = special_formats[i].format;
			*channels = special_formats[i].channels;
			return cudaSuccess;
		}
	/* All channels that there are have the same width, and come first. */
	unsigned count = 0;
	while (count < 4 && bits[count] == bits[0])
		count++;
	for (unsigned i = count; i < 4; i++)
		if (bits[i] != 0)
			return bad_descriptor(desc);
	if (count == 3)
		return bad_descriptor(desc);
	for (size_t i = 0; i < ARRAY_LENGTH(plain_formats); i++)
		if (plain_formats[i].kind == desc->f && plain_formats[i].bits == bits[0]) {
			*format = plain_formats[i].format;
			*channels = count;
			return cudaSuccess;
		}
	return bad_descriptor(desc);
}

struct cudaChannelFormatDesc array_format_from_driver(CUarray_format format, unsigned channels)
{
	for (size_t i = 0; i < ARRAY_LENGTH(special_formats); i++) {
		const unsigned char *bits = special_formats[i].bits;
		if (special_formats[i].format == format)
			return (struct cudaChannelFormatDesc){ bits[0], bits[1], bits[2], bits[3], special_formats[i].kind };
	}
	for (size_t i = 0; i < ARRAY_LENGTH(plain_formats); i++) {
		int bits = plain_formats[i].bits;
		if (plain_formats[i].format == format)
			return (struct cudaChannelFormatDesc){ bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
							       channels > 3 ? bits : 0, plain_formats[i].kind };
	}
	return (struct cudaChannelFormatDesc){ .f = cudaChannelFormatKindNone };
}

cudaError_t array_element_size(CUarray array, size_t *size)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	CUresult result = cuArray3DGetDescriptor_v2(&descriptor, array);
	if (result)
		return (cudaError_t)result;
	for (size_t i = 0; i < ARRAY_LENGTH(special_formats); i++)
		if (special_formats[i].format == descriptor.Format && special_formats[i].block) {
			*size = special_formats[i].block;
			return cudaSuccess;
		}
	struct cudaChannelFormatDesc desc = array_format_from_driver(descriptor.Format, descriptor.NumChannels);
	*size = (size_t)(desc.x + desc.y + desc.z + desc.w) / 8;
	return *size ? cudaSuccess : cudaErrorInvalidValue;
}

struct cudaChannelFormatDesc impl_cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){ x, y, z, w, kind };
}

/* ---- arrays ------------------------------------------------------------------------------------------------------------------ */

/* The flags have the driver's numbers. */
_Static_assert(cudaArrayLayered == CUDA_ARRAY3D_LAYERED && cudaArraySurfaceLoadStore == CUDA_ARRAY3D_SURFACE_LDST &&
		       cudaArrayCubemap == CUDA_ARRAY3D_CUBEMAP && cudaArrayTextureGather == CUDA_ARRAY3D_TEXTURE_GATHER &&
		       cudaArraySparse == CUDA_ARRAY3D_SPARSE && cudaArrayDeferredMapping == CUDA_ARRAY3D_DEFERRED_MAPPING,
	       "array flags differ");
_Static_assert(sizeof(struct cudaArraySparseProperties) == sizeof(CUDA_ARRAY_SPARSE_PROPERTIES), "sparse properties differ");
_Static_assert(sizeof(struct cudaArrayMemoryRequirements) == sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS), "requirements differ");

static cudaError_t array_describe(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned flags,
				  CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	*descriptor = (CUDA_ARRAY3D_DESCRIPTOR){ extent.width, extent.height, extent.depth, 0, 0, flags };
	return desc ? array_format_to_driver(desc, &descriptor->Format, &descriptor->NumChannels) : cudaErrorInvalidValue;
}

cudaError_t impl_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
				   unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	RUNTIME_REQUIRE();
	if (!array)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = array_describe(desc, extent, flags, &descriptor);
	return runtime_result(error ? (int)error : (int)cuArray3DCreate_v2((CUarray *)array, &descriptor));
}

cudaError_t impl_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
				 unsigned int flags)
{
	return impl_cudaMalloc3DArray(array, desc, (struct cudaExtent){ width, height, 0 }, flags);
}

cudaError_t impl_cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *desc,
					  struct cudaExtent extent, unsigned int levels, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	RUNTIME_REQUIRE();
	if (!array)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = array_describe(desc, extent, flags, &descriptor);
	return runtime_result(error ? (int)error :
				      (int)cuMipmappedArrayCreate((CUmipmappedArray *)array, &descriptor, levels));
}

cudaError_t impl_cudaFreeArray(cudaArray_t array)
{
	return RUNTIME(array ? cuArrayDestroy((CUarray)array) : CUDA_SUCCESS);
}

cudaError_t impl_cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
	return RUNTIME(array ? cuMipmappedArrayDestroy((CUmipmappedArray)array) : CUDA_SUCCESS);
}

cudaError_t impl_cudaGetMipmappedArrayLevel(cudaArray_t *level_array, cudaMipmappedArray_const_t array, unsigned int level)
{
	return RUNTIME(cuMipmappedArrayGetLevel((CUarray *)level_array, (CUmipmappedArray)(uintptr_t)array, level));
}

cudaError_t impl_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
				  cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	RUNTIME_REQUIRE();
	CUresult result = cuArray3DGetDescriptor_v2(&descriptor, (CUarray)array);
	if (result)
		return runtime_result(result);
	if (desc)
		*desc = array_format_from_driver(descriptor.Format, descriptor.NumChannels);
	if (extent)
		*extent = (struct cudaExtent){ descriptor.Width, descriptor.Height, descriptor.Depth };
	if (flags)
		*flags = descriptor.Flags;
	return cudaSuccess;
}

cudaError_t impl_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	if (!desc)
		return runtime_result(cudaErrorInvalidValue);
	return impl_cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

cudaError_t impl_cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned int index)
{
	return RUNTIME(cuArrayGetPlane((CUarray *)plane, (CUarray)array, index));
}

cudaError_t impl_cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements, cudaArray_t array, int device)
{
	return RUNTIME(cuArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)requirements, (CUarray)array, device));
}

cudaError_t impl_cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements,
							 cudaMipmappedArray_t array, int device)
{
	return RUNTIME(cuMipmappedArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)requirements,
							     (CUmipmappedArray)array, device));
}

cudaError_t impl_cudaArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaArray_t array)
{
	return RUNTIME(cuArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUarray)array));
}

cudaError_t impl_cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaMipmappedArray_t array)
{
	return RUNTIME(cuMipmappedArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUmipmappedArray)array));
}
