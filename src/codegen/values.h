/* What types.c, values.c, operands.c and instruction.c share. Instruction emitters see emit.h alone. */
#ifndef DRAGOMAN_CODEGEN_VALUES_H
#define DRAGOMAN_CODEGEN_VALUES_H

#include "codegen/state.h"

/* types.c */
bool is_vector(LLVMValueRef v);
LLVMTypeRef element_type(LLVMTypeRef type);
unsigned type_lane_bits(LLVMTypeRef type);
LLVMValueRef recast(struct emitter *e, LLVMValueRef v, LLVMTypeRef lane);

/* values.c. The LLVM type that a value has between blocks is its stored type. */
const struct ir_value *ir_value(struct emitter *e, uint32_t value);
LLVMTypeRef stored_type(struct emitter *e, uint32_t value, bool vector);
LLVMValueRef fit_stored(struct emitter *e, uint32_t value, LLVMValueRef v);
bool first_tells(struct emitter *e, uint32_t value);
LLVMValueRef base_from_first(struct emitter *e, uint32_t value, LLVMValueRef first, unsigned chunk);
LLVMValueRef known_base(struct emitter *e, uint32_t value, unsigned chunk);
LLVMValueRef spread(struct emitter *e, uint32_t value, LLVMValueRef base);
LLVMValueRef known_number(struct emitter *e, uint32_t value);
void make_code_arrays(struct emitter *e, uint32_t value);
void store_copies(struct emitter *e, uint32_t value);
LLVMValueRef canonical(struct emitter *e, LLVMValueRef v);
bool is_raw(struct emitter *e, uint32_t value);
LLVMValueRef read_piece(struct emitter *e, uint32_t value);

/* operands.c */
uint32_t used_value(struct emitter *e, const struct ptx_operand *op); /* of a register operand of the instruction at hand */
LLVMValueRef read_old(struct emitter *e, const struct ir_def *def, bool vector);
LLVMValueRef read_guard(struct emitter *e);
bool has_guard(const struct ir_inst *inst);
void keep(struct emitter *e, uint32_t value, LLVMValueRef v);

#endif
