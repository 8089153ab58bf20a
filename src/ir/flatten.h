/* What flattening leaves for later: instances of inlined functions and the table of their objects. */
#ifndef DRAGOMAN_IR_FLATTEN_H
#define DRAGOMAN_IR_FLATTEN_H

#include "ir/ir.h"

/* Operands of their own, compared by address: the carry flag CC, a promoted parameter's variable, and how many bytes of its stack a
 * thread has taken (9.7.17). */
extern const struct ptx_operand ir_carry_operand, ir_slot_operand, ir_stack_operand;

struct instance {
	const struct ptx_function *function;
	uint32_t parent;
	uint32_t *first; /* variable of each register's first component */
	uint32_t stack;  /* variable of the stack's height: what is taken in a function is given back where it ends */
};

struct param_slot {
	uint32_t object;
	int64_t offset;
	unsigned bits;
	uint32_t variable;
};

struct result_copy {
	uint32_t variable;
	const struct ptx_operand *actual;
	enum ptx_type type;
};

struct object_key {
	uint32_t instance;
	const struct ptx_variable *variable;
	uint32_t object;
};

struct flatten {
	struct ir_func *func;
	struct ptx_diagnostic *diagnostic;
	VEC(enum ptx_type) types; /* of the variables */
	VEC(struct instance *) instances;
	VEC(struct param_slot) slots;
	VEC(struct result_copy) result_copies;
	VEC(struct object_key) object_keys;
	uint32_t *object_table; /* open addressing, into object_keys */
	uint32_t object_table_size;
	uint32_t carry;         /* variable of the carry flag */
	bool uses_stack;
	uint32_t exit;          /* block that `exit` goes to */
};

bool ir_flatten(struct flatten *f, struct ir_func *func, struct ptx_diagnostic *diagnostic);
void ir_flatten_fini(struct flatten *f);

#endif
