/* User objects: what a program wants to live as long as its graphs. CUDA Driver API 6.23, cuUserObject*. */
#define _GNU_SOURCE
#include "driver/graph.h"

#include <limits.h>
#include <stdlib.h>

#include "api/cuda_impl.h"

struct user_object {
	struct handle handle;
	_Atomic uint32_t uses;
	CUhostFn destroy;
	void *pointer;
};

static CUresult object_find(CUuserObject handle, struct user_object **object)
{
	REQUIRE_READY();
	*object = handle_check(handle, HANDLE_USER_OBJECT);
	return *object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuUserObjectCreate(CUuserObject *handle, void *pointer, CUhostFn destroy, unsigned int count, unsigned int flags)
{
	struct user_object *object;

	REQUIRE_READY();
	if (!handle || !destroy || !count || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	object = handle_create(HANDLE_USER_OBJECT);
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_init(&object->uses, count);
	object->destroy = destroy;
	object->pointer = pointer;
	*handle = (CUuserObject)object;
	return CUDA_SUCCESS;
}

CUresult user_object_hold(struct user_object *object, unsigned count)
{
	atomic_fetch_add(&object->uses, count);
	return CUDA_SUCCESS;
}

void user_object_drop(struct user_object *object, unsigned count)
{
	CUhostFn destroy = object->destroy;
	void *pointer = object->pointer;

	if (atomic_fetch_sub(&object->uses, count) != count)
		return;
	handle_destroy(object);
	destroy(pointer);
}

CUresult impl_cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
	struct user_object *object;
	CUresult status = object_find(handle, &object);

	if (status)
		return status;
	return count && count <= INT_MAX ? user_object_hold(object, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
	struct user_object *object;
	CUresult status = object_find(handle, &object);

	if (status)
		return status;
	if (!count || count > INT_MAX || count > atomic_load(&object->uses))
		return CUDA_ERROR_INVALID_VALUE;
	user_object_drop(object, count);
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count, unsigned int flags)
{
	struct user_object *object;
	struct graph *graph;
	CUresult status = graph_find(graph_handle, &graph);

	if (!status)
		status = object_find(handle, &object);
	if (status)
		return status;
	if (!count || count > INT_MAX || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->held.count; i++) {
		if (graph->held.data[i].object == object) {
			graph->held.data[i].count += count;
			return flags ? CUDA_SUCCESS : user_object_hold(object, count);
		}
	}
	if (!vec_push(&graph->held, ((struct held_object){object, count})))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return flags ? CUDA_SUCCESS : user_object_hold(object, count); /* moved: the caller's references are the graph's now */
}

CUresult impl_cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count)
{
	struct user_object *object;
	struct graph *graph;
	CUresult status = graph_find(graph_handle, &graph);

	if (!status)
		status = object_find(handle, &object);
	if (status)
		return status;
	for (size_t i = 0; i < graph->held.count; i++) {
		struct held_object *held = &graph->held.data[i];

		if (held->object != object)
			continue;
		if (!count || count > held->count)
			return CUDA_ERROR_INVALID_VALUE;
		held->count -= count;
		if (!held->count)
			*held = graph->held.data[--graph->held.count];
		user_object_drop(object, count);
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

void graph_release_objects(struct graph *graph)
{
	for (size_t i = 0; i < graph->held.count; i++)
		user_object_drop(graph->held.data[i].object, graph->held.data[i].count);
	graph->held.count = 0;
}
