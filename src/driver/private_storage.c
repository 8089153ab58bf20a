/* Context-local storage, by which the CUDA runtime and NVIDIA's libraries keep state with a context: private table
 * C693336E. Destructors run when the context ends or the primary context is reset. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

static CUresult find_context(CUcontext handle, struct context **context)
{
	if (!handle)
		return context_current_quiet(context);
	REQUIRE_READY();
	*context = context_check(handle);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult storage_put(CUcontext handle, void *key, void *value, void (*destructor)(CUcontext, void *, void *))
{
	struct storage *storage;
	struct context *context;
	CUresult status = find_context(handle, &context);

	if (status)
		return status;
	pthread_mutex_lock(&context->lock);
	for (storage = context->storage; storage && storage->key != key; storage = storage->next)
		;
	if (!storage && (storage = malloc(sizeof *storage))) {
		storage->key = key;
		storage->next = context->storage;
		context->storage = storage;
	}
	if (storage) {
		storage->value = value;
		storage->destructor = destructor;
	}
	pthread_mutex_unlock(&context->lock);
	return storage ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult storage_remove(CUcontext handle, void *key)
{
	struct storage **link, *storage;
	struct context *context;
	CUresult status = find_context(handle, &context);

	if (status)
		return status;
	pthread_mutex_lock(&context->lock);
	for (link = &context->storage; *link && (*link)->key != key; link = &(*link)->next)
		;
	storage = *link;
	if (storage)
		*link = storage->next;
	pthread_mutex_unlock(&context->lock);
	free(storage);
	return storage ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult storage_get(void **value, CUcontext handle, void *key)
{
	struct storage *storage;
	struct context *context;
	CUresult status = find_context(handle, &context);

	if (status)
		return status;
	pthread_mutex_lock(&context->lock);
	for (storage = context->storage; storage && storage->key != key; storage = storage->next)
		;
	if (storage && value)
		*value = storage->value;
	pthread_mutex_unlock(&context->lock);
	return storage ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void storage_release(struct context *context)
{
	for (;;) { /* a destructor may look at or change what is left */
		struct storage *storage;

		pthread_mutex_lock(&context->lock);
		storage = context->storage;
		if (storage)
			context->storage = storage->next;
		pthread_mutex_unlock(&context->lock);
		if (!storage)
			return;
		if (storage->destructor)
			storage->destructor((CUcontext)context, storage->key, storage->value);
		free(storage);
	}
}
