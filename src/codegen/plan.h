/* The order in which a kernel's blocks run for a whole group of lanes: partial control-flow linearization.
 *
 * Uniform branches stay branches. Where a branch diverges, control goes to whichever of its targets comes first in the function's order, and
 * the others are *pending*: they are gone to when control passes their place. A block knows which lanes are its own from a
 * mask that its predecessors add to. Moll and Hack, "Partial Control-Flow Linearization" (PLDI 2018), with one addition: each loop
 * ends in a node of its own (its latch), where control goes back while any lane is in the loop's mask, and otherwise on to what is pending;
 * that covers loops that lanes leave in different iterations, and irreducible ones.
 *
 * Nodes: a block's number, or blocks.count + l for the latch of loop l. Pure data: no LLVM in here. */
#ifndef DRAGOMAN_PLAN_H
#define DRAGOMAN_PLAN_H

#include "ir/ir.h"

struct plan_node {
	uint32_t position;         /* in sequence[] */
	uint32_t *pending;         /* positions, ascending: targets that may hold lanes when control is here */
	uint32_t pending_count, pending_capacity;
	uint32_t *next;            /* blocks: node that control goes to, by successor; one for all where `linear` */
	bool linear;               /* the branch is not taken as such: every successor only gets its mask */
	uint32_t skip;             /* node to go to when the mask is empty; IR_NONE: it cannot be, or need not be asked */
	bool deferred;             /* some edge to this node is taken later than decided: lanes gather in its mask */
	uint32_t mask_class;       /* node whose mask this one shares; itself: it has a mask of its own */
	uint32_t idom;             /* in the graph as it is executed */
	/* latches */
	bool check;                /* goes back only while lanes remain; else always */
	uint32_t after;            /* then goes here */
};

struct plan {
	struct arena *arena;
	const struct ir_func *func;
	uint32_t node_count;
	struct plan_node *nodes;
	uint32_t *sequence; /* nodes by position */
	uint32_t sequence_count;
};

void plan_build(struct plan *plan, struct arena *arena, const struct ir_func *func);
/* The node that stands for successor s of a block: the block, or the latch of a loop where the edge goes back. */
uint32_t plan_target(const struct plan *plan, uint32_t block, uint32_t successor);
bool plan_dominates(const struct plan *plan, uint32_t a, uint32_t b);
/* May a phi's value be stored along this edge without keeping the other lanes' values? */
bool plan_edge_is_whole(const struct plan *plan, uint32_t block, uint32_t successor);

#endif
