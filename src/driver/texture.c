/* Texture and surface references: variables of a module (.texref, .surfref) that a program binds arrays or memory to before it
 * launches. CUDA Driver API 6.29 "Texture Reference Management", 6.30 "Surface Reference Management". A reference keeps an object of
 * its own, made anew when what it is bound to or how it is read changes; its variable holds the object's number. */
#define _GNU_SOURCE
#include "driver/texture.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "backend/sampler.h"
#include "driver/array.h"

struct reference {
	struct handle handle;
	struct module *module;         /* NULL: made by cuTexRefCreate() */
	const struct ptx_variable *variable;
	struct reference *next;
	uint64_t *number;              /* the variable's memory */
	uint64_t object;               /* 0: not bound */
	bool bound;
	uint8_t clamp_ogl;             /* axes (bits) whose mode is that, for which the API has no name */
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	CUarray_format format;         /* of linear memory */
	unsigned channels;
};
_Static_assert(sizeof(struct reference) <= HANDLE_SLOT_BYTES, "references are larger than their slots");

static void unbind(struct reference *r)
{
	struct context *context = r->module ? r->module->context : NULL;
	if (!context || !r->object)
		return;
	memory_copy_now(context, r->number, &(uint64_t){ 0 }, sizeof *r->number);
	context->ops->texture_destroy(context->device->device, r->object);
	r->object = 0;
}

void references_release(struct module *module)
{
	while (module->references) {
		struct reference *r = module->references;
		module->references = r->next;
		unbind(r);
		handle_destroy(r);
	}
}

/* After any change: launches made before it see the old binding. */
static CUresult rebind(struct reference *r, bool surface)
{
	struct texture_description description;
	struct context *context = r->module ? r->module->context : NULL;
	CUresult status;
	if (!r->bound)
		return CUDA_SUCCESS;
	status = texture_describe(&r->resource, surface ? NULL : &r->texture, NULL, &description);
	if (status || !context)
		return status;
	if (!context->ops->texture_create)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "textures on back end \"%s\"", context->ops->name);
	status = context_synchronize(context);
	if (status)
		return status;
	unbind(r);
	for (unsigned axis = 0; axis < 3; axis++)
		if (r->clamp_ogl >> axis & 1)
			description.address[axis] = TEXTURE_CLAMP_OGL;
	status = (CUresult)context->ops->texture_create(context->device->device, &description, &r->object);
	if (!status)
		status = memory_copy_now(context, r->number, &r->object, sizeof r->object);
	return status;
}

/* ---- references of modules ---------------------------------------------------------------------------------------------- */

/* What the variable's initialiser says (PTX ISA 5.3, unified mode). */
static void initialise(struct reference *r, const struct ptx_sampling *s)
{
	for (unsigned axis = 0; axis < 3; axis++) {
		enum texture_address mode = s->address[axis] < 0 ? TEXTURE_CLAMP : texture_address_of((enum ptx_address_mode)s->address[axis]);
		r->clamp_ogl |= (uint8_t)((mode == TEXTURE_CLAMP_OGL) << axis);
		r->texture.addressMode[axis] = mode == TEXTURE_CLAMP_OGL ? CU_TR_ADDRESS_MODE_CLAMP : (CUaddress_mode)mode;
	}
	r->texture.filterMode = s->linear > 0 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
	r->texture.flags = s->normalized > 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
}

static CUresult reference_create(struct module *module, const struct ptx_variable *variable, enum handle_kind kind, struct reference **out)
{
	void *memory = NULL;
	struct reference *r;
	CUresult status = CUDA_SUCCESS;
	if (variable)
		status = (CUresult)module->context->ops->module_variable(module->device_module, variable, &memory);
	if (status)
		return status;
	r = handle_create(kind);
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->module = module;
	r->variable = variable;
	r->number = memory;
	r->format = CU_AD_FORMAT_FLOAT;
	r->channels = 1;
	for (int i = 0; i < 3; i++)
		r->texture.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
	if (variable && variable->sampling)
		initialise(r, variable->sampling);
	*out = r;
	return CUDA_SUCCESS;
}

static CUresult reference_of_module(CUmodule handle, const char *name, enum handle_kind kind, struct reference **out)
{
	enum ptx_type type = kind == HANDLE_TEXREF ? PTX_TEXREF : PTX_SURFREF;
	struct module *module = handle_check(handle, HANDLE_MODULE);
	const struct ptx_variable *variable;
	CUresult status = CUDA_SUCCESS;
	REQUIRE_CONTEXT(context);
	(void)context;
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	variable = ptx_find_variable(module->code->ptx, name);
	if (!variable || (variable->type != type && variable->space != PTX_SPACE_TEX))
		return api_error(CUDA_ERROR_NOT_FOUND, "no %s reference \"%s\" in the module", kind == HANDLE_TEXREF ? "texture" : "surface", name);
	pthread_mutex_lock(&module->lock);
	*out = module->references;
	while (*out && (*out)->variable != variable)
		*out = (*out)->next;
	if (!*out) {
		status = reference_create(module, variable, kind, out);
		if (!status) {
			(*out)->next = module->references;
			module->references = *out;
		}
	}
	pthread_mutex_unlock(&module->lock);
	return status;
}

CUresult impl_cuModuleGetTexRef(CUtexref *reference, CUmodule module, const char *name)
{
	return reference_of_module(module, name, HANDLE_TEXREF, (struct reference **)reference);
}

CUresult impl_cuModuleGetSurfRef(CUsurfref *reference, CUmodule module, const char *name)
{
	return reference_of_module(module, name, HANDLE_SURFREF, (struct reference **)reference);
}

CUresult impl_cuTexRefCreate(CUtexref *reference)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	return reference ? reference_create(NULL, NULL, HANDLE_TEXREF, (struct reference **)reference) : CUDA_ERROR_INVALID_VALUE;
}

static struct reference *texture_reference(CUtexref handle)
{
	return handle_check(handle, HANDLE_TEXREF);
}

CUresult impl_cuTexRefDestroy(CUtexref handle)
{
	struct reference *r = texture_reference(handle);
	if (!r || r->module)
		return CUDA_ERROR_INVALID_VALUE;
	handle_destroy(r);
	return CUDA_SUCCESS;
}

/* The module's references are known by name; binding one to a kernel's parameter does no more. */
CUresult impl_cuParamSetTexRef(CUfunction function, int unit, CUtexref handle)
{
	struct function *found;
	CUresult status;
	REQUIRE_CONTEXT(context);
	status = function_find(function, context, &found);
	if (status)
		return status;
	return unit == CU_PARAM_TR_DEFAULT && texture_reference(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- what is bound ---------------------------------------------------------------------------------------------------------- */

static CUresult bind(struct reference *r, const CUDA_RESOURCE_DESC *resource, bool surface)
{
	CUDA_RESOURCE_DESC before;
	bool was_bound;
	CUresult status;
	REQUIRE_CONTEXT(context);
	(void)context;
	if (!r)
		return CUDA_ERROR_INVALID_VALUE;
	before = r->resource;
	was_bound = r->bound;
	r->resource = *resource;
	r->bound = true;
	status = rebind(r, surface);
	if (status) {
		r->resource = before;
		r->bound = was_bound;
	}
	return status;
}

CUresult impl_cuTexRefSetArray(CUtexref handle, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
	return flags == CU_TRSA_OVERRIDE_FORMAT ? bind(texture_reference(handle), &resource, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = array};
	return flags == CU_TRSA_OVERRIDE_FORMAT ? bind(texture_reference(handle), &resource, false) : CUDA_ERROR_INVALID_VALUE;
}

/* Memory may begin anywhere: a texture begins at the multiple of 512 before it, and the caller adds the offset. */
CUresult impl_cuTexRefSetAddress_v2(size_t *offset, CUtexref handle, CUdeviceptr address, size_t bytes)
{
	struct reference *r = texture_reference(handle);
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
	size_t before = address % 512;
	if (!r || (before && !offset))
		return CUDA_ERROR_INVALID_VALUE;
	resource.res.linear.devPtr = address - before;
	resource.res.linear.sizeInBytes = bytes + before;
	resource.res.linear.format = r->format;
	resource.res.linear.numChannels = r->channels;
	if (offset)
		*offset = before;
	return bind(r, &resource, false);
}

CUresult impl_cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *descriptor, CUdeviceptr address, size_t pitch)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_PITCH2D};
	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	resource.res.pitch2D.devPtr = address;
	resource.res.pitch2D.format = descriptor->Format;
	resource.res.pitch2D.numChannels = descriptor->NumChannels;
	resource.res.pitch2D.width = descriptor->Width;
	resource.res.pitch2D.height = descriptor->Height;
	resource.res.pitch2D.pitchInBytes = pitch;
	return bind(texture_reference(handle), &resource, false);
}

CUresult impl_cuTexRefSetAddress2D_v2(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *descriptor, CUdeviceptr address, size_t pitch)
{
	return impl_cuTexRefSetAddress2D_v3(handle, descriptor, address, pitch);
}

CUresult impl_cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels)
{
	struct reference *r = texture_reference(handle);
	if (!r || !array_format_bytes(format) || (channels != 1 && channels != 2 && channels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	r->format = format;
	r->channels = (unsigned)channels;
	if (r->bound && r->resource.resType == CU_RESOURCE_TYPE_LINEAR) {
		r->resource.res.linear.format = format;
		r->resource.res.linear.numChannels = (unsigned)channels;
		return rebind(r, false);
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
	return flags ? CUDA_ERROR_INVALID_VALUE : bind(handle_check(handle, HANDLE_SURFREF), &resource, true);
}

CUresult impl_cuSurfRefGetArray(CUarray *array, CUsurfref handle)
{
	const struct reference *r = handle_check(handle, HANDLE_SURFREF);
	if (!r || !array || !r->bound)
		return CUDA_ERROR_INVALID_VALUE;
	*array = r->resource.res.array.hArray;
	return CUDA_SUCCESS;
}

CUresult impl_cuTexRefGetAddress_v2(CUdeviceptr *address, CUtexref handle)
{
	const struct reference *r = texture_reference(handle);
	if (!r || !address || !r->bound)
		return CUDA_ERROR_INVALID_VALUE;
	switch (r->resource.resType) {
	case CU_RESOURCE_TYPE_LINEAR: *address = r->resource.res.linear.devPtr; return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_PITCH2D: *address = r->resource.res.pitch2D.devPtr; return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult impl_cuTexRefGetArray(CUarray *array, CUtexref handle)
{
	const struct reference *r = texture_reference(handle);
	if (!r || !array || !r->bound || r->resource.resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	*array = r->resource.res.array.hArray;
	return CUDA_SUCCESS;
}

CUresult impl_cuTexRefGetMipmappedArray(CUmipmappedArray *array, CUtexref handle)
{
	const struct reference *r = texture_reference(handle);
	if (!r || !array || !r->bound || r->resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	*array = r->resource.res.mipmap.hMipmappedArray;
	return CUDA_SUCCESS;
}

CUresult impl_cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref handle)
{
	const struct reference *r = texture_reference(handle);
	if (!r || !format || !channels)
		return CUDA_ERROR_INVALID_VALUE;
	*format = r->format;
	*channels = (int)r->channels;
	return CUDA_SUCCESS;
}

/* ---- how it is read ----------------------------------------------------------------------------------------------------------- */

/* cuTexRefSetX(reference, value) and cuTexRefGetX(&value, reference) of one field. */
#define FIELD(name, type, field, valid)                                                                                \
	CUresult impl_cuTexRefSet##name(CUtexref handle, type value)                                                   \
	{                                                                                                              \
		struct reference *r = texture_reference(handle);                                                       \
		if (!r || !(valid))                                                                                    \
			return CUDA_ERROR_INVALID_VALUE;                                                               \
		r->texture.field = value;                                                                              \
		return rebind(r, false);                                                                               \
	}
FIELD(FilterMode, CUfilter_mode, filterMode, (unsigned)value <= CU_TR_FILTER_MODE_LINEAR)
FIELD(MipmapFilterMode, CUfilter_mode, mipmapFilterMode, (unsigned)value <= CU_TR_FILTER_MODE_LINEAR)
FIELD(MipmapLevelBias, float, mipmapLevelBias, true)
FIELD(MaxAnisotropy, unsigned int, maxAnisotropy, true)
FIELD(Flags, unsigned int, flags,
      !(value & ~(unsigned)(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION)))

#define GETTER(name, type, field)                                                                                      \
	CUresult impl_cuTexRefGet##name(type *value, CUtexref handle)                                                  \
	{                                                                                                              \
		const struct reference *r = texture_reference(handle);                                                 \
		if (!r || !value)                                                                                      \
			return CUDA_ERROR_INVALID_VALUE;                                                               \
		*value = (type)r->texture.field;                                                                       \
		return CUDA_SUCCESS;                                                                                   \
	}
GETTER(FilterMode, CUfilter_mode, filterMode)
GETTER(MipmapFilterMode, CUfilter_mode, mipmapFilterMode)
GETTER(MipmapLevelBias, float, mipmapLevelBias)
GETTER(MaxAnisotropy, int, maxAnisotropy)
GETTER(Flags, unsigned int, flags)

CUresult impl_cuTexRefSetAddressMode(CUtexref handle, int dimension, CUaddress_mode mode)
{
	struct reference *r = texture_reference(handle);
	if (!r || dimension < 0 || dimension > 2 || (unsigned)mode > CU_TR_ADDRESS_MODE_BORDER)
		return CUDA_ERROR_INVALID_VALUE;
	r->texture.addressMode[dimension] = mode;
	r->clamp_ogl &= (uint8_t)~(1u << dimension);
	return rebind(r, false);
}

CUresult impl_cuTexRefGetAddressMode(CUaddress_mode *mode, CUtexref handle, int dimension)
{
	const struct reference *r = texture_reference(handle);
	if (!r || !mode || dimension < 0 || dimension > 2)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = r->texture.addressMode[dimension];
	return CUDA_SUCCESS;
}

CUresult impl_cuTexRefSetMipmapLevelClamp(CUtexref handle, float least, float most)
{
	struct reference *r = texture_reference(handle);
	if (!r)
		return CUDA_ERROR_INVALID_VALUE;
	r->texture.minMipmapLevelClamp = least;
	r->texture.maxMipmapLevelClamp = most;
	return rebind(r, false);
}

CUresult impl_cuTexRefGetMipmapLevelClamp(float *least, float *most, CUtexref handle)
{
	const struct reference *r = texture_reference(handle);
	if (!r || !least || !most)
		return CUDA_ERROR_INVALID_VALUE;
	*least = r->texture.minMipmapLevelClamp;
	*most = r->texture.maxMipmapLevelClamp;
	return CUDA_SUCCESS;
}

CUresult impl_cuTexRefSetBorderColor(CUtexref handle, float *color)
{
	struct reference *r = texture_reference(handle);
	if (!r || !color)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(r->texture.borderColor, color, sizeof r->texture.borderColor);
	return rebind(r, false);
}

CUresult impl_cuTexRefGetBorderColor(float *color, CUtexref handle)
{
	const struct reference *r = texture_reference(handle);
	if (!r || !color)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(color, r->texture.borderColor, sizeof r->texture.borderColor);
	return CUDA_SUCCESS;
}
