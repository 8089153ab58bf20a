/* Resources as back ends see them: memory, format, sampling. CUDA Driver API 6.31, CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC and
 * CUDA_RESOURCE_VIEW_DESC; CUDA C++ Programming Guide, "Texture Memory". */
#define _GNU_SOURCE
#include "driver/array.h"
#include "driver/texture.h"

enum { TEXTURE_ALIGN = 512, PITCH_ALIGN = 32 }; /* the device attributes TEXTURE_ALIGNMENT, TEXTURE_PITCH_ALIGNMENT */

/* ---- formats --------------------------------------------------------------------------------------------------------- */

struct format {
	enum texture_channel channel;
	uint8_t bits, channels; /* channels 0: the resource says */
};

static bool format_of(CUarray_format format, struct format *out)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8: *out = (struct format){ TEXTURE_UNSIGNED, 8, 0 }; return true;
	case CU_AD_FORMAT_UNSIGNED_INT16: *out = (struct format){ TEXTURE_UNSIGNED, 16, 0 }; return true;
	case CU_AD_FORMAT_UNSIGNED_INT32: *out = (struct format){ TEXTURE_UNSIGNED, 32, 0 }; return true;
	case CU_AD_FORMAT_SIGNED_INT8: *out = (struct format){ TEXTURE_SIGNED, 8, 0 }; return true;
	case CU_AD_FORMAT_SIGNED_INT16: *out = (struct format){ TEXTURE_SIGNED, 16, 0 }; return true;
	case CU_AD_FORMAT_SIGNED_INT32: *out = (struct format){ TEXTURE_SIGNED, 32, 0 }; return true;
	case CU_AD_FORMAT_HALF: *out = (struct format){ TEXTURE_FLOAT, 16, 0 }; return true;
	case CU_AD_FORMAT_FLOAT: *out = (struct format){ TEXTURE_FLOAT, 32, 0 }; return true;
	case CU_AD_FORMAT_UNORM_INT8X1: *out = (struct format){ TEXTURE_UNORM, 8, 1 }; return true;
	case CU_AD_FORMAT_UNORM_INT8X2: *out = (struct format){ TEXTURE_UNORM, 8, 2 }; return true;
	case CU_AD_FORMAT_UNORM_INT8X4: *out = (struct format){ TEXTURE_UNORM, 8, 4 }; return true;
	case CU_AD_FORMAT_UNORM_INT16X1: *out = (struct format){ TEXTURE_UNORM, 16, 1 }; return true;
	case CU_AD_FORMAT_UNORM_INT16X2: *out = (struct format){ TEXTURE_UNORM, 16, 2 }; return true;
	case CU_AD_FORMAT_UNORM_INT16X4: *out = (struct format){ TEXTURE_UNORM, 16, 4 }; return true;
	case CU_AD_FORMAT_SNORM_INT8X1: *out = (struct format){ TEXTURE_SNORM, 8, 1 }; return true;
	case CU_AD_FORMAT_SNORM_INT8X2: *out = (struct format){ TEXTURE_SNORM, 8, 2 }; return true;
	case CU_AD_FORMAT_SNORM_INT8X4: *out = (struct format){ TEXTURE_SNORM, 8, 4 }; return true;
	case CU_AD_FORMAT_SNORM_INT16X1: *out = (struct format){ TEXTURE_SNORM, 16, 1 }; return true;
	case CU_AD_FORMAT_SNORM_INT16X2: *out = (struct format){ TEXTURE_SNORM, 16, 2 }; return true;
	case CU_AD_FORMAT_SNORM_INT16X4: *out = (struct format){ TEXTURE_SNORM, 16, 4 }; return true;
	case CU_AD_FORMAT_UNORM_INT_101010_2: *out = (struct format){ TEXTURE_UNORM, 10, 4 }; return true;
	default: return false;
	}
}

/* The views' formats in their own order: unsigned, signed of 8, 16, 32 bits, floats of 16, 32; 1, 2, 4 channels each. */
static bool format_of_view(CUresourceViewFormat view, struct format *out)
{
	static const struct format groups[] = {
		{ TEXTURE_UNSIGNED, 8, 0 }, { TEXTURE_SIGNED, 8, 0 },  { TEXTURE_UNSIGNED, 16, 0 }, { TEXTURE_SIGNED, 16, 0 },
		{ TEXTURE_UNSIGNED, 32, 0 }, { TEXTURE_SIGNED, 32, 0 }, { TEXTURE_FLOAT, 16, 0 },    { TEXTURE_FLOAT, 32, 0 },
	};
	unsigned index = (unsigned)view - CU_RES_VIEW_FORMAT_UINT_1X8;
	if (view == CU_RES_VIEW_FORMAT_NONE || index / 3 >= ARRAY_LENGTH(groups))
		return false;
	*out = groups[index / 3];
	out->channels = (uint8_t)(1u << index % 3);
	return true;
}

static CUresult set_format(CUarray_format format, unsigned channels, struct texture_description *out)
{
	struct format f;
	if (!format_of(format, &f))
		return array_format_bytes(format) ? api_error(CUDA_ERROR_NOT_SUPPORTED, "textures of format 0x%x", (unsigned)format) :
						    CUDA_ERROR_INVALID_VALUE;
	out->channel = f.channel;
	out->bits = f.bits;
	out->channels = f.channels ? f.channels : (uint8_t)channels;
	return out->channels == 1 || out->channels == 2 || out->channels == 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static size_t texel_bytes(const struct texture_description *d)
{
	return d->bits == 10 ? 4 : d->bits / 8u * (size_t)d->channels;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static void set_level(const struct array *array, struct texture_level *level)
{
	const CUDA_ARRAY3D_DESCRIPTOR *d = &array->descriptor;
	*level = (struct texture_level){
		.base = array->base,
		.row = array->pitch,
		.slice = array->slice,
		.width = (uint32_t)d->Width,
		.height = d->Height ? (uint32_t)d->Height : 1,
		.depth = d->Depth && !(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) ? (uint32_t)d->Depth : 1,
	};
}

static CUresult describe_array(const CUDA_ARRAY3D_DESCRIPTOR *d, struct texture_description *out)
{
	bool cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
	out->layered = d->Flags & CUDA_ARRAY3D_LAYERED;
	if (cube)
		out->geometry = TEXTURE_CUBE;
	else if (d->Depth && !out->layered)
		out->geometry = TEXTURE_3D;
	else
		out->geometry = d->Height ? TEXTURE_2D : TEXTURE_1D;
	out->layers = out->layered ? (uint32_t)d->Depth / (cube ? 6 : 1) : 1;
	return set_format(d->Format, d->NumChannels, out);
}

static CUresult describe_linear(const CUDA_RESOURCE_DESC *resource, struct texture_description *out)
{
	CUresult status = set_format(resource->res.linear.format, resource->res.linear.numChannels, out);
	size_t texels;
	if (status)
		return status;
	texels = resource->res.linear.sizeInBytes / texel_bytes(out);
	if (!texels || resource->res.linear.devPtr % texel_bytes(out))
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_is_device(resource->res.linear.devPtr, resource->res.linear.sizeInBytes, NULL))
		return api_error(CUDA_ERROR_INVALID_VALUE, "a texture of memory that is not the device's");
	out->linear_memory = true;
	out->geometry = TEXTURE_1D;
	out->levels[0] = (struct texture_level){ .base = (uint8_t *)(uintptr_t)resource->res.linear.devPtr,
						 .width = texels < UINT32_MAX ? (uint32_t)texels : UINT32_MAX, .height = 1, .depth = 1 };
	return CUDA_SUCCESS;
}

static CUresult describe_pitched(const CUDA_RESOURCE_DESC *resource, struct texture_description *out)
{
	uintptr_t base = resource->res.pitch2D.devPtr;
	size_t width = resource->res.pitch2D.width, height = resource->res.pitch2D.height, pitch = resource->res.pitch2D.pitchInBytes, row;
	CUresult status = set_format(resource->res.pitch2D.format, resource->res.pitch2D.numChannels, out);
	if (status)
		return status;
	row = width * texel_bytes(out);
	if (!width || !height || width > 131072 || height > 65536 || pitch < row)
		return CUDA_ERROR_INVALID_VALUE;
	if (base % TEXTURE_ALIGN || (height > 1 && pitch % PITCH_ALIGN))
		return api_error(CUDA_ERROR_INVALID_VALUE, "a texture's memory must be aligned to %d bytes, its rows to %d", TEXTURE_ALIGN,
				 PITCH_ALIGN);
	if (!memory_is_device(base, (height - 1) * pitch + row, NULL))
		return api_error(CUDA_ERROR_INVALID_VALUE, "a texture of memory that is not the device's");
	out->geometry = TEXTURE_2D;
	out->levels[0] = (struct texture_level){ .base = (uint8_t *)base, .row = pitch, .width = (uint32_t)width,
						 .height = (uint32_t)height, .depth = 1 };
	return CUDA_SUCCESS;
}

static CUresult describe_mipmap(const CUDA_RESOURCE_DESC *resource, struct texture_description *out)
{
	const struct mipmap *mipmap = handle_check(resource->res.mipmap.hMipmappedArray, HANDLE_MIPMAP);
	if (!mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	out->mipmapped = true;
	out->level_count = mipmap->level_count;
	for (unsigned i = 0; i < mipmap->level_count; i++)
		set_level(mipmap->levels[i], &out->levels[i]);
	return describe_array(&mipmap->descriptor, out);
}

static CUresult describe_resource(const CUDA_RESOURCE_DESC *resource, struct texture_description *out)
{
	const struct array *array;
	switch (resource->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		array = array_check(resource->res.array.hArray);
		if (!array)
			return CUDA_ERROR_INVALID_HANDLE;
		set_level(array, &out->levels[0]);
		return describe_array(&array->descriptor, out);
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return describe_mipmap(resource, out);
	case CU_RESOURCE_TYPE_LINEAR: return describe_linear(resource, out);
	case CU_RESOURCE_TYPE_PITCH2D: return describe_pitched(resource, out);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* ---- sampling and views --------------------------------------------------------------------------------------------------- */

static CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC *view, struct texture_description *out)
{
	struct format f;
	unsigned last = view->lastMipmapLevel < out->level_count ? view->lastMipmapLevel : out->level_count - 1;
	uint32_t cube = out->geometry == TEXTURE_CUBE ? 6 : 1;
	if (view->format != CU_RES_VIEW_FORMAT_NONE) {
		size_t before = texel_bytes(out);
		if (!format_of_view(view->format, &f))
			return api_error(CUDA_ERROR_NOT_SUPPORTED, "resource views of format 0x%x", (unsigned)view->format);
		out->channel = f.channel;
		out->bits = f.bits;
		out->channels = f.channels;
		if (texel_bytes(out) != before)
			return api_error(CUDA_ERROR_INVALID_VALUE, "a view's texels must be as large as its resource's");
	}
	if (view->firstMipmapLevel > last)
		return CUDA_ERROR_INVALID_VALUE;
	out->level_count = last - view->firstMipmapLevel + 1;
	for (unsigned i = 0; i < out->level_count; i++)
		out->levels[i] = out->levels[i + view->firstMipmapLevel];
	if (!out->layered)
		return CUDA_SUCCESS;
	if (view->firstLayer > view->lastLayer || view->lastLayer >= out->layers)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < out->level_count; i++)
		out->levels[i].base += out->levels[i].slice * view->firstLayer * cube;
	out->layers = view->lastLayer - view->firstLayer + 1;
	return CUDA_SUCCESS;
}

static CUresult apply_sampling(const CUDA_TEXTURE_DESC *texture, struct texture_description *out)
{
	for (int i = 0; i < 3; i++) {
		if ((unsigned)texture->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		out->address[i] = (enum texture_address)texture->addressMode[i];
		out->border[i] = texture->borderColor[i];
	}
	out->border[3] = texture->borderColor[3];
	if ((unsigned)texture->filterMode > CU_TR_FILTER_MODE_LINEAR || (unsigned)texture->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	out->filtered = texture->filterMode == CU_TR_FILTER_MODE_LINEAR;
	out->mip_filtered = texture->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
	out->normalized = texture->flags & CU_TRSF_NORMALIZED_COORDINATES;
	out->srgb = texture->flags & CU_TRSF_SRGB;
	out->level_bias = texture->mipmapLevelBias;
	out->level_least = texture->minMipmapLevelClamp;
	out->level_most = texture->maxMipmapLevelClamp;
	if (!(texture->flags & CU_TRSF_READ_AS_INTEGER) && out->bits < 32) { /* small integers are read as normalised floats */
		out->channel = out->channel == TEXTURE_UNSIGNED ? TEXTURE_UNORM :
			       out->channel == TEXTURE_SIGNED   ? TEXTURE_SNORM :
								  out->channel;
	}
	return CUDA_SUCCESS;
}

CUresult texture_describe(const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
			  struct texture_description *out)
{
	CUresult status;
	*out = (struct texture_description){ .layers = 1, .level_count = 1, .surface = !texture };
	status = describe_resource(resource, out);
	if (!status && view)
		status = apply_view(view, out);
	if (!status && texture)
		status = apply_sampling(texture, out);
	return status;
}
