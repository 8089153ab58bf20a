/* What together.c and rounds.c share: parts of a kernel of which copies are made. */
#ifndef DRAGOMAN_IR_TOGETHER_H
#define DRAGOMAN_IR_TOGETHER_H

#include "ir/ir.h"

struct part {
	uint32_t start, exit; /* neither is in it */
	uint32_t *blocks;
	uint32_t count;
	bool *inside;
	bool *votes;          /* by block: in the fast copy its branch is a vote */
};

/* A new block with the instructions and the end of another. */
uint32_t ir_copy_block(struct ir_func *func, uint32_t from);

/* Blocks that not all lanes of a group come to, or, of the block, not all of its threads: control depends on a branch that parts them, or
 * on a block that is such a one. */
void ir_find_apart_blocks(struct ir_func *func, bool of_block, bool *apart);

/* Is the part worth a copy in which the groups of a block take turns by rounds? Asked before any copy is made; known[] as of ir_find_known(). */
bool ir_rounds_pay(struct ir_func *func, const struct part *part, const bool *known, const bool *apart_in_block);
/* Makes it; fast[]: the fast copy's blocks, by those of the part, with their votes. */
void ir_add_rounds(struct ir_func *func, const struct part *part, const uint32_t *fast);

#endif
