/* What a node does: from the API's parameters to something that can be queued, and back. CUDA Driver API 6.23. */
#define _GNU_SOURCE
#include "driver/graph.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/copy.h"
#include "driver/launch.h"

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

static CUresult kernel_buffers(struct work_kernel *kernel, const void *packed)
{
	const struct function *function = kernel->function;
	size_t bytes = function->parameter_bytes;

	kernel->buffer = calloc(1, bytes ? bytes : 1);
	kernel->pointers = calloc(function->parameter_count + 1, sizeof *kernel->pointers);
	if (!kernel->buffer || !kernel->pointers)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (bytes)
		memcpy(kernel->buffer, packed, bytes);
	for (uint32_t i = 0; i < function->parameter_count; i++)
		kernel->pointers[i] = (char *)kernel->buffer + function->parameters[i].offset;
	kernel->config.parameters = kernel->buffer;
	kernel->config.parameter_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult work_of_kernel(struct work *work, struct function *function, CUkernel kernel, const struct launch_config *config)
{
	CUresult status;

	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_KERNEL};
	work->kernel.function = function;
	work->kernel.handle = kernel ? NULL : (CUfunction)function;
	work->kernel.kernel = kernel;
	work->kernel.context = (CUcontext)function->module->context;
	work->kernel.config = *config;
	status = kernel_buffers(&work->kernel, config->parameters);
	if (status)
		work_fini(work);
	return status;
}

static CUresult context_of(CUcontext handle, struct context **context)
{
	if (!handle)
		return context_current_quiet(context);
	*context = context_check(handle);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult kernel_of_parameters(struct work *work, const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
	struct launch_config config = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
				       .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
				       .dynamic_shared = p->sharedMemBytes};
	_Alignas(64) uint8_t buffer[MAX_PARAMETER_BYTES];
	struct function *function;
	struct context *context = NULL;
	CUkernel kernel = p->kern;
	CUresult status;

	if (!p->func && !p->kern)
		return CUDA_ERROR_INVALID_VALUE;
	/* The runtime names both, the function being the kernel's. */
	if (!p->kern && !handle_check(p->func, HANDLE_FUNCTION)) /* a CUkernel in the place of a CUfunction */
		kernel = (CUkernel)p->func;
	if (kernel) {
		status = context_of(p->ctx, &context);
		if (status)
			return status;
	}
	status = function_find(kernel ? (CUfunction)kernel : p->func, context, &function);
	if (!status)
		status = launch_check(function, &config);
	if (!status)
		status = launch_pack(function, p->kernelParams, p->extra, buffer, &config);
	return status ? status : work_of_kernel(work, function, kernel, &config);
}

static void kernel_parameters(const struct work_kernel *kernel, CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
	const struct launch_config *config = &kernel->config;

	*p = (CUDA_KERNEL_NODE_PARAMS_v3){
		.func = kernel->kernel ? (CUfunction)kernel->kernel : kernel->handle,
		.gridDimX = config->grid[0], .gridDimY = config->grid[1], .gridDimZ = config->grid[2],
		.blockDimX = config->block[0], .blockDimY = config->block[1], .blockDimZ = config->block[2],
		.sharedMemBytes = config->dynamic_shared,
		.kernelParams = kernel->function->parameter_count ? kernel->pointers : NULL,
		.ctx = kernel->context,
	};
}

/* ---- copies and fills --------------------------------------------------------------------------------------------- */

static CUresult copy_of_parameters(struct work *work, const CUDA_MEMCPY3D *p, CUcontext context)
{
	struct copy_side to, from;
	struct copy copy = {.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth};
	CUresult status;

	if (!copy.width || !copy.height || !copy.depth)
		return CUDA_ERROR_INVALID_VALUE;
	copy_sides_of_3d(p, &to, &from);
	status = copy_place(&to, &from, &copy);
	if (status)
		return status;
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	work->copy.parameters = *p;
	work->copy.context = context;
	work->copy.copy = copy;
	return CUDA_SUCCESS;
}

static CUresult fill_of_parameters(struct work *work, const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
	struct fill fill = {(void *)(uintptr_t)p->dst, p->pitch, p->width, p->height, p->value, p->elementSize};
	struct allocation found;
	CUresult status;

	if (!fill.width || !fill.height)
		return CUDA_ERROR_INVALID_VALUE;
	status = fill_check(&fill, &found);
	if (status)
		return status;
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEMSET};
	work->fill.parameters = *p;
	work->fill.fill = fill;
	return CUDA_SUCCESS;
}

/* ---- memory of graphs ------------------------------------------------------------------------------------------------ */

static void count_memory(struct driver_device *device, unsigned current, int64_t bytes)
{
	pthread_mutex_lock(&device->lock);
	device->graph_memory[current] += (uint64_t)bytes;
	if (device->graph_memory[current] > device->graph_memory[current + 1])
		device->graph_memory[current + 1] = device->graph_memory[current];
	pthread_mutex_unlock(&device->lock);
}

enum { USED = CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, RESERVED = CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT };

static void memory_mark(struct graph_memory *memory, bool allocated)
{
	if (memory && atomic_exchange(&memory->allocated, allocated) != allocated)
		count_memory(memory->device, USED, allocated ? (int64_t)memory->size : -(int64_t)memory->size);
}

void memory_hold(struct graph_memory *memory)
{
	atomic_fetch_add(&memory->uses, 1);
}

void memory_drop(struct graph_memory *memory)
{
	struct allocation *allocation;

	if (atomic_fetch_sub(&memory->uses, 1) != 1)
		return;
	memory_mark(memory, false);
	count_memory(memory->device, RESERVED, -(int64_t)memory->size);
	allocation = memory_map_remove((uintptr_t)memory->base);
	if (allocation) {
		memory->device->ops->release(memory->device->device, memory->base);
		free(allocation);
	}
	free(memory);
}

bool graph_memory_free(CUdeviceptr pointer)
{
	struct allocation found;

	if (!memory_map_find(pointer, &found) || found.kind != MEMORY_GRAPH || found.base != pointer)
		return false;
	memory_mark(found.owner, false);
	return true;
}

static CUresult memory_create(struct driver_device *device, size_t size, struct graph_memory **out)
{
	struct graph_memory *memory = calloc(1, sizeof *memory);
	struct allocation *allocation = calloc(1, sizeof *allocation);
	CUresult status = CUDA_ERROR_OUT_OF_MEMORY;

	if (memory && allocation)
		status = (CUresult)device->ops->allocate(device->device, size, &memory->base);
	if (status) {
		free(memory);
		free(allocation);
		return status;
	}
	atomic_init(&memory->uses, 1);
	memory->device = device;
	memory->size = size;
	allocation->kind = MEMORY_GRAPH;
	allocation->base = (uintptr_t)memory->base;
	allocation->size = size;
	allocation->device = device;
	allocation->owner = memory;
	status = memory_map_add(allocation);
	if (status) {
		device->ops->release(device->device, memory->base);
		free(memory);
		free(allocation);
		return status;
	}
	count_memory(device, RESERVED, (int64_t)size);
	*out = memory;
	return CUDA_SUCCESS;
}

static CUresult allocate_of_parameters(struct work *work, const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *p)
{
	struct driver_device *device = driver_device(p->poolProps.location.id);
	struct graph_memory *memory;
	CUresult status;

	if (p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !p->bytesize || (p->accessDescCount && !p->accessDescs))
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	status = memory_create(device, p->bytesize, &memory);
	if (status)
		return status;
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	work->allocate.parameters = *p;
	work->allocate.parameters.accessDescs = NULL; /* the caller's memory; every device of ours reaches it */
	work->allocate.parameters.accessDescCount = 0;
	work->allocate.parameters.dptr = (CUdeviceptr)(uintptr_t)memory->base;
	work->allocate.memory = memory;
	return CUDA_SUCCESS;
}

static CUresult release_of_parameters(struct work *work, CUdeviceptr pointer)
{
	struct allocation found;

	if (!pointer || !memory_map_find(pointer, &found) || found.kind != MEMORY_GRAPH || found.base != pointer)
		return api_error(CUDA_ERROR_INVALID_VALUE, "0x%llx was not allocated by a graph", pointer);
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
	work->release.pointer = pointer;
	work->release.memory = found.owner;
	memory_hold(found.owner);
	return CUDA_SUCCESS;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------------- */

static CUresult child_of_parameters(struct work *work, const CUDA_CHILD_GRAPH_NODE_PARAMS *p)
{
	struct graph *child = graph_check(p->graph), *copy = child;
	CUresult status = CUDA_SUCCESS;

	if (!child)
		return CUDA_ERROR_INVALID_VALUE;
	if (child->owner)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "the graph belongs to another node already");
	if (p->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
		if (graph_has_memory_nodes(child))
			return api_error(CUDA_ERROR_NOT_SUPPORTED, "graphs with allocation or free nodes cannot be cloned into a node");
		status = graph_clone(child, &copy);
	} else if (p->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (status)
		return status;
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_GRAPH};
	work->child.graph = copy;
	work->child.ownership = p->ownership;
	return CUDA_SUCCESS;
}

static CUresult event_of_parameters(struct work *work, CUgraphNodeType type, CUevent event)
{
	if (!handle_check(event, HANDLE_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	*work = (struct work){.type = type};
	work->event = event;
	return CUDA_SUCCESS;
}

static CUresult batch_of_parameters(struct work *work, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *p)
{
	CUresult status = memops_check(p->paramArray, p->count, p->flags);
	CUstreamBatchMemOpParams *copy;

	if (status)
		return status;
	copy = malloc(p->count * sizeof *copy);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy, p->paramArray, p->count * sizeof *copy);
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
	work->batch.parameters = *p;
	work->batch.parameters.paramArray = copy;
	return CUDA_SUCCESS;
}

static CUresult conditional_of_parameters(struct work *work, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	unsigned most = p->type == CU_GRAPH_COND_TYPE_IF ? 2 : p->type == CU_GRAPH_COND_TYPE_WHILE ? 1 : 256;
	CUresult status = CUDA_SUCCESS;

	if ((int)p->type < 0 || p->type > CU_GRAPH_COND_TYPE_SWITCH || !p->size || p->size > most)
		return CUDA_ERROR_INVALID_VALUE;
	if (!conditional_is_live(p->handle))
		return api_error(CUDA_ERROR_INVALID_VALUE, "the conditional handle is not one");
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	work->conditional = (struct work_conditional){p->handle, p->type, p->size, NULL, p->ctx};
	work->conditional.bodies = calloc(p->size, sizeof *work->conditional.bodies);
	if (!work->conditional.bodies)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < p->size && !status; i++) {
		work->conditional.bodies[i] = (CUgraph)graph_create(context_check(p->ctx));
		if (!work->conditional.bodies[i])
			status = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (status)
		work_fini(work);
	return status;
}

CUresult work_of_parameters(struct work *work, const CUgraphNodeParams *p)
{
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return kernel_of_parameters(work, &p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY: return copy_of_parameters(work, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET: return fill_of_parameters(work, &p->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		if (!p->host.fn)
			return CUDA_ERROR_INVALID_VALUE;
		*work = (struct work){.type = CU_GRAPH_NODE_TYPE_HOST};
		work->host.function = p->host.fn;
		work->host.argument = p->host.userData;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_GRAPH: return child_of_parameters(work, &p->graph);
	case CU_GRAPH_NODE_TYPE_EMPTY: *work = (struct work){.type = CU_GRAPH_NODE_TYPE_EMPTY}; return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return event_of_parameters(work, p->type, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return event_of_parameters(work, p->type, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return api_error(CUDA_ERROR_NOT_SUPPORTED, "external semaphores are not supported");
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
		CUDA_MEM_ALLOC_NODE_PARAMS_v1 v1;

		memcpy(&v1, &p->alloc, sizeof v1);
		return allocate_of_parameters(work, &v1);
	}
	case CU_GRAPH_NODE_TYPE_MEM_FREE: return release_of_parameters(work, p->free.dptr);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
		CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 v1 = {p->memOp.ctx, p->memOp.count, p->memOp.paramArray, p->memOp.flags};

		return batch_of_parameters(work, &v1);
	}
	case CU_GRAPH_NODE_TYPE_CONDITIONAL: return conditional_of_parameters(work, &p->conditional);
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult work_set(struct work *work, const CUgraphNodeParams *parameters)
{
	struct work fresh;
	CUresult status;

	if (parameters->type != work->type)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)work->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_ERROR_INVALID_VALUE; /* fixed once added */
	default: break;
	}
	status = work_of_parameters(&fresh, parameters);
	if (status)
		return status;
	if (work->type == CU_GRAPH_NODE_TYPE_KERNEL) { /* set by attributes, not by parameters */
		fresh.kernel.config.cooperative = work->kernel.config.cooperative;
		memcpy(fresh.kernel.config.cluster, work->kernel.config.cluster, sizeof fresh.kernel.config.cluster);
	}
	work_fini(work);
	*work = fresh;
	return CUDA_SUCCESS;
}

void work_parameters(const struct work *work, CUgraphNodeParams *p)
{
	memset(p, 0, sizeof *p);
	p->type = work->type;
	switch ((int)work->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: kernel_parameters(&work->kernel, &p->kernel); break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		p->memcpy.copyCtx = work->copy.context;
		p->memcpy.copyParams = work->copy.parameters;
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET: p->memset = work->fill.parameters; break;
	case CU_GRAPH_NODE_TYPE_HOST:
		p->host.fn = work->host.function;
		p->host.userData = work->host.argument;
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH: p->graph.graph = (CUgraph)work->child.graph; break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: p->eventWait.event = work->event; break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: memcpy(&p->alloc, &work->allocate.parameters, sizeof p->alloc); break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE: p->free.dptr = work->release.pointer; break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		p->memOp.ctx = work->batch.parameters.ctx;
		p->memOp.count = work->batch.parameters.count;
		p->memOp.paramArray = work->batch.parameters.paramArray;
		p->memOp.flags = work->batch.parameters.flags;
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		p->conditional = (CUDA_CONDITIONAL_NODE_PARAMS){work->conditional.handle, work->conditional.type, work->conditional.size,
								work->conditional.bodies, work->conditional.context};
		break;
	default: break;
	}
}

CUresult work_copy(struct work *to, const struct work *from)
{
	CUresult status = CUDA_SUCCESS;

	*to = *from;
	switch ((int)from->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return work_of_kernel(to, from->kernel.function, from->kernel.kernel, &from->kernel.config);
	case CU_GRAPH_NODE_TYPE_GRAPH: return graph_clone(from->child.graph, &to->child.graph);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: memory_hold(from->allocate.memory); break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE: memory_hold(from->release.memory); break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return batch_of_parameters(to, &from->batch.parameters);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		to->conditional.bodies = calloc(from->conditional.size, sizeof *to->conditional.bodies);
		if (!to->conditional.bodies)
			return CUDA_ERROR_OUT_OF_MEMORY;
		for (unsigned i = 0; i < from->conditional.size && !status; i++)
			status = graph_clone(graph_check(from->conditional.bodies[i]), (struct graph **)&to->conditional.bodies[i]);
		if (status)
			work_fini(to);
		return status;
	default: break;
	}
	return CUDA_SUCCESS;
}

void work_fini(struct work *work)
{
	switch ((int)work->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		free(work->kernel.buffer);
		free(work->kernel.pointers);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (work->child.graph)
			graph_destroy(work->child.graph);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: memory_drop(work->allocate.memory); break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE: memory_drop(work->release.memory); break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: free(work->batch.parameters.paramArray); break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		for (unsigned i = 0; work->conditional.bodies && i < work->conditional.size; i++)
			if (work->conditional.bodies[i])
				graph_destroy(graph_check(work->conditional.bodies[i]));
		free(work->conditional.bodies);
		break;
	default: break;
	}
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_EMPTY};
}

/* ---- doing it ------------------------------------------------------------------------------------------------------------ */

static CUresult event_put(const struct work *work, struct queue *queue)
{
	struct event *event = handle_check(work->event, HANDLE_EVENT);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	return work->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? event_record_in(event, queue) : event_wait_in(event, queue);
}

CUresult work_put(const struct work *work, struct queue *queue)
{
	switch ((int)work->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return launch_put(queue, work->kernel.function, &work->kernel.config);
	case CU_GRAPH_NODE_TYPE_MEMCPY: return queue_put_copy(queue, &work->copy.copy);
	case CU_GRAPH_NODE_TYPE_MEMSET: return queue_put_fill(queue, &work->fill.fill);
	case CU_GRAPH_NODE_TYPE_HOST:
		return (CUresult)queue->context->ops->queue_host_function(queue->device_queue, work->host.function, work->host.argument);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return event_put(work, queue);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: memory_mark(work->allocate.memory, true); return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_MEM_FREE: memory_mark(work->release.memory, false); return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return memops_put(queue, work->batch.parameters.paramArray, work->batch.parameters.count);
	default: return CUDA_SUCCESS;
	}
}

/* ---- attributes of the memory that graphs hold ------------------------------------------------------------------------------ */

CUresult impl_cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attribute, void *value)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || (int)attribute < 0 || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&device->lock);
	*(cuuint64_t *)value = device->graph_memory[attribute];
	pthread_mutex_unlock(&device->lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attribute, void *value)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || *(cuuint64_t *)value ||
	    (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE; /* only the high marks, and only back */
	pthread_mutex_lock(&device->lock);
	device->graph_memory[attribute] = device->graph_memory[attribute - 1];
	pthread_mutex_unlock(&device->lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGraphMemTrim(CUdevice dev)
{
	REQUIRE_READY();
	return driver_device(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; /* nothing is kept beyond the graphs */
}
