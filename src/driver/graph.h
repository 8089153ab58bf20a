/* Graphs: nodes and edges as a program builds them, and executable graphs made from them.
 *
 *     graph.c         graphs, edges, clones       graph_work.c   what a node does, and doing it
 *     graph_node.c    adding nodes, parameters    graph_exec.c   instantiation, launch
 *     graph_dot.c     the picture of a graph      graph_update.c changes to an executable graph
 *     user_object.c   objects that graphs keep alive
 *
 * CUDA Driver API 6.23 "Graph Management". Graphs are not thread-safe there, and not here. */
#ifndef DRAGOMAN_DRIVER_GRAPH_H
#define DRAGOMAN_DRIVER_GRAPH_H

#include <stddef.h>

#include "driver/driver.h"

enum { NODE_ATTRIBUTES = 17 };

struct graph_memory { /* of an allocation node: mapped as long as a graph or an executable graph knows it */
	_Atomic uint32_t uses;
	struct driver_device *device;
	struct context *context;
	void *base;
	size_t size;
	_Atomic bool allocated; /* by the last launch, and not freed since */
};

struct work_kernel {
	struct function *function;
	CUfunction handle;            /* as the program gave it: a CUfunction, or NULL where `kernel` is set */
	CUkernel kernel;
	CUcontext context;
	struct launch_config config;  /* config.parameters = buffer */
	void *buffer;                 /* malloc'ed: packed parameters */
	void **pointers;              /* malloc'ed: to each of them */
};

struct work_conditional {
	CUgraphConditionalHandle handle;
	CUgraphConditionalNodeType type;
	unsigned size;
	CUgraph *bodies;              /* malloc'ed */
	CUcontext context;
};

struct work { /* what a node does */
	CUgraphNodeType type;
	union {
		struct work_kernel kernel;
		struct { CUDA_MEMCPY3D parameters; CUcontext context; struct copy copy; } copy;
		struct { CUDA_MEMSET_NODE_PARAMS_v2 parameters; struct fill fill; } fill;
		struct { CUhostFn function; void *argument; } host;
		struct { struct graph *graph; CUgraphChildGraphNodeOwnership ownership; } child;
		CUevent event;        /* record and wait */
		struct { CUDA_MEM_ALLOC_NODE_PARAMS_v1 parameters; struct graph_memory *memory; } allocate;
		struct { CUdeviceptr pointer; struct graph_memory *memory; } release;
		struct { CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 parameters; } batch; /* paramArray malloc'ed */
		struct work_conditional conditional;
	};
};

CUresult work_copy(struct work *to, const struct work *from); /* deep */
void work_fini(struct work *work);
/* From the API's parameters, checked; for a fresh `work`. */
CUresult work_of_parameters(struct work *work, const CUgraphNodeParams *parameters);
CUresult work_of_kernel(struct work *work, struct function *function, CUkernel kernel, const struct launch_config *config);
CUresult work_set(struct work *work, const CUgraphNodeParams *parameters); /* the same type; unchanged on an error */
void work_parameters(const struct work *work, CUgraphNodeParams *parameters);
/* Where a structure for one type of node is in the parameters for all of them. */
struct part {
	CUgraphNodeType type;
	size_t offset, size;
};
#define PART(name, member, structure)                                                                                  \
	((struct part){CU_GRAPH_NODE_TYPE_##name, offsetof(CUgraphNodeParams, member), sizeof(structure)})
CUresult part_parameters(CUgraphNodeParams *parameters, struct part part, const void *in); /* `in` NULL: CUDA_ERROR_INVALID_VALUE */
/* Hands it to the queue; `stream` is that of the launch. */
CUresult work_put(const struct work *work, struct queue *queue);

struct edge {
	struct node *from, *to;
	CUgraphEdgeData data;
};

struct node {
	struct handle handle;
	struct graph *graph;
	unsigned id;                   /* within its graph, from 0 */
	struct work work;
	VEC(struct edge) in;           /* edge.to is this node */
	VEC(struct node *) out;        /* one for each edge */
	CUlaunchAttributeValue *attributes; /* NODE_ATTRIBUTES of them, once one was set */
	uint32_t attributes_set;
	const struct node *original;   /* in a clone: the node it was made from (its handle, for look-up only) */
};

struct held_object {
	struct user_object *object;
	unsigned count;
};

struct graph {
	struct handle handle;
	uint64_t id;
	struct context *context;
	VEC(struct node *) nodes;      /* in the order of their making */
	unsigned next_id;
	struct node *owner;            /* it is a child or a conditional's body: destroyed with that node */
	VEC(struct held_object) held;
	VEC(CUgraphConditionalHandle) conditionals; /* made for it */
	const struct graph *original;
	bool instantiated_once;        /* with allocation nodes: not again */
	_Atomic uint32_t captures;     /* a capture writes to it */
};

HANDLE_FITS(struct graph);
HANDLE_FITS(struct node);

struct graph *graph_create(struct context *context);
void graph_destroy(struct graph *graph);
struct graph *graph_check(CUgraph handle);
struct node *node_check(CUgraphNode handle);
CUresult graph_find(CUgraph handle, struct graph **graph);
CUresult node_find(CUgraphNode handle, struct node **node);
/* A node with these dependencies; `work` is taken over on success. `data` may be NULL. */
CUresult graph_add(struct graph *graph, struct work *work, struct node *const *after, const CUgraphEdgeData *data, size_t count,
		   struct node **node);
CUresult graph_clone(const struct graph *graph, struct graph **clone);
bool graph_has_memory_nodes(const struct graph *graph);
void graph_release_objects(struct graph *graph);
/* The nodes in an order that respects the edges; count is graph->nodes.count. NULL where memory is gone. */
struct node **graph_order(const struct graph *graph);

void memory_hold(struct graph_memory *memory);
void memory_drop(struct graph_memory *memory);
/* Does a graph own that memory? Then it is marked free, as cuMemFree() of it does. */
bool graph_memory_free(CUdeviceptr pointer);

/* The value that a kernel sets and a conditional node reads: the handle is its address. */
uint32_t conditional_value(CUgraphConditionalHandle handle);
bool conditional_is_live(CUgraphConditionalHandle handle);
void conditional_reset(CUgraphConditionalHandle handle);
void conditional_hold(CUgraphConditionalHandle handle);
void conditional_drop(CUgraphConditionalHandle handle);
void conditionals_release(struct graph *graph);

CUresult user_object_hold(struct user_object *object, unsigned count);
void user_object_drop(struct user_object *object, unsigned count);

CUresult memops_check(const CUstreamBatchMemOpParams *operations, unsigned count, unsigned flags);
CUresult memops_put(struct queue *queue, const CUstreamBatchMemOpParams *operations, unsigned count);

#endif
