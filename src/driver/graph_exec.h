/* An executable graph: what graph_exec.c makes and launches, and graph_update.c changes. */
#ifndef DRAGOMAN_DRIVER_GRAPH_EXEC_H
#define DRAGOMAN_DRIVER_GRAPH_EXEC_H

#include "driver/graph.h"

enum { LANES_MOST = 16 };

struct exec_node {
	struct work work;          /* its own copy; of a child graph nothing: its nodes are in the list themselves */
	const struct node *source; /* the handle that the program knows it by */
	unsigned lane;
	bool disabled;
	bool watched;              /* an entry of another lane waits for it: its ticket counts */
	bool in_list;              /* a launch that an earlier entry's list does */
	struct device_list *list;  /* of this launch and others that follow it in its lane with nothing between them */
	uint64_t ticket;
	uint32_t *waits;           /* entries of other lanes */
	uint32_t wait_count;
	struct exec **bodies;      /* of a conditional node */
};

struct exec {
	struct handle handle;
	struct context *context;
	uint64_t flags;
	const struct graph *graph; /* that it was made from; may be gone: compared, never read */
	VEC(struct exec_node) nodes;
	bool prepared;             /* the lists are made */
	unsigned lane_count;
	struct queue *lanes[LANES_MOST]; /* [0] unused */
	pthread_mutex_t lock;      /* a launch, an update */
	struct queue *last_queue;  /* of the last launch */
	uint64_t last_ticket;
	VEC(struct held_object) held;
	VEC(CUgraphConditionalHandle) conditionals;
};

HANDLE_FITS(struct exec);

CUresult exec_create(const struct graph *graph, struct context *context, uint64_t flags, struct exec **exec);
void exec_free(struct exec *exec);
CUresult exec_find(CUgraphExec handle, struct exec **exec);
/* Before a change of what entries do: the lists are made anew for the next launch. */
void exec_unprepare(struct exec *exec);

#endif
