/* Texture and surface objects. CUDA Driver API 6.31 and 6.32. A program's object is the back end's number, which kernels
 * get as it is; what it was made of is kept here for the functions that ask. */
#define _GNU_SOURCE
#include "driver/array.h"
#include "driver/texture.h"

#include <stdlib.h>

#include "api/cuda_impl.h"

struct object {
	struct handle handle;
	uint64_t number;
	struct context *context;       /* may be gone before the object is */
	struct driver_device *device;
	bool surface, viewed;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	CUDA_RESOURCE_VIEW_DESC view;
	struct object *next;
};
_Static_assert(sizeof(struct object) <= HANDLE_SLOT_BYTES, "objects are larger than their slots");

enum { BUCKETS = 256 };
static struct {
	pthread_mutex_t lock;
	struct object *buckets[BUCKETS];
} objects = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct object *find_locked(uint64_t number, bool surface)
{
	struct object *object = objects.buckets[number % BUCKETS];
	while (object && (object->number != number || object->surface != surface))
		object = object->next;
	return object;
}

static CUresult object_create(struct context *context, const struct object *what, const struct texture_description *description,
			      uint64_t *number)
{
	struct object *object;
	CUresult status;
	if (!context->ops->texture_create)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "textures on back end \"%s\"", context->ops->name);
	object = handle_create(HANDLE_OBJECT);
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct handle handle = object->handle;
	*object = *what;
	object->handle = handle;
	object->context = context;
	object->device = context->device;
	status = (CUresult)context->ops->texture_create(context->device->device, description, &object->number);
	if (status) {
		handle_destroy(object);
		return status;
	}
	*number = object->number;
	pthread_mutex_lock(&objects.lock);
	object->next = objects.buckets[object->number % BUCKETS];
	objects.buckets[object->number % BUCKETS] = object;
	pthread_mutex_unlock(&objects.lock);
	return CUDA_SUCCESS;
}

/* Kernels that were launched with it may still run. */
static CUresult object_destroy(uint64_t number, bool surface)
{
	struct object **link, *object;
	REQUIRE_CONTEXT(context);
	(void)context;
	pthread_mutex_lock(&objects.lock);
	object = find_locked(number, surface);
	if (object) {
		link = &objects.buckets[number % BUCKETS];
		while (*link != object)
			link = &(*link)->next;
		*link = object->next;
	}
	pthread_mutex_unlock(&objects.lock);
	if (!object)
		return CUDA_ERROR_INVALID_VALUE;
	if (context_check((CUcontext)object->context))
		context_synchronize(object->context);
	object->device->ops->texture_destroy(object->device->device, number);
	handle_destroy(object);
	return CUDA_SUCCESS;
}

static CUresult object_get(uint64_t number, bool surface, struct object *out)
{
	struct object *object;
	REQUIRE_CONTEXT(context);
	(void)context;
	pthread_mutex_lock(&objects.lock);
	object = find_locked(number, surface);
	if (object)
		*out = *object;
	pthread_mutex_unlock(&objects.lock);
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- textures ----------------------------------------------------------------------------------------------------------- */

CUresult impl_cuTexObjectCreate(CUtexObject *number, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
				const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct texture_description description;
	struct object what;
	uint64_t made;
	CUresult status;
	REQUIRE_CONTEXT(context);
	if (!number || !resource || !texture)
		return CUDA_ERROR_INVALID_VALUE;
	if (view && resource->resType != CU_RESOURCE_TYPE_ARRAY && resource->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return api_error(CUDA_ERROR_INVALID_VALUE, "only arrays have resource views");
	what = (struct object){ .viewed = view, .resource = *resource, .texture = *texture };
	if (view)
		what.view = *view;
	status = texture_describe(resource, texture, view, &description);
	if (!status)
		status = object_create(context, &what, &description, &made);
	if (!status)
		*number = made;
	return status;
}

CUresult impl_cuTexObjectDestroy(CUtexObject number)
{
	return object_destroy(number, false);
}

CUresult impl_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject number)
{
	struct object object;
	CUresult status = resource ? object_get(number, false, &object) : CUDA_ERROR_INVALID_VALUE;
	if (!status)
		*resource = object.resource;
	return status;
}

CUresult impl_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *texture, CUtexObject number)
{
	struct object object;
	CUresult status = texture ? object_get(number, false, &object) : CUDA_ERROR_INVALID_VALUE;
	if (!status)
		*texture = object.texture;
	return status;
}

CUresult impl_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject number)
{
	struct object object;
	CUresult status = view ? object_get(number, false, &object) : CUDA_ERROR_INVALID_VALUE;
	if (status)
		return status;
	if (!object.viewed)
		return api_error(CUDA_ERROR_INVALID_VALUE, "the texture was made without a resource view");
	*view = object.view;
	return CUDA_SUCCESS;
}

/* ---- surfaces ----------------------------------------------------------------------------------------------------------- */

CUresult impl_cuSurfObjectCreate(CUsurfObject *number, const CUDA_RESOURCE_DESC *resource)
{
	struct texture_description description;
	struct object what;
	uint64_t made;
	CUresult status;
	REQUIRE_CONTEXT(context);
	if (!number || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	what = (struct object){ .surface = true, .resource = *resource };
	status = texture_describe(resource, NULL, NULL, &description);
	if (!status)
		status = object_create(context, &what, &description, &made);
	if (!status)
		*number = made;
	return status;
}

CUresult impl_cuSurfObjectDestroy(CUsurfObject number)
{
	return object_destroy(number, true);
}

CUresult impl_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject number)
{
	struct object object;
	CUresult status = resource ? object_get(number, true, &object) : CUDA_ERROR_INVALID_VALUE;
	if (!status)
		*resource = object.resource;
	return status;
}
