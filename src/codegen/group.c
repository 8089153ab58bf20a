/* All lanes of a group at once: what barriers, votes and system calls share. */
#include "codegen/group.h"

#include "codegen/arith.h"
#include "codegen/state.h"

struct group_place group_enter(struct emitter *e, unsigned chunk)
{
	struct group_place place = { e->piece, e->chunk, e->w, e->mask };
	LLVMValueRef mask = mask_chunk(e, chunk);
	e->piece = PIECE_CHUNK;
	e->chunk = chunk;
	e->w = e->width;
	e->mask = mask == LLVMConstAllOnes(LLVMTypeOf(mask)) ? NULL : mask;
	return place;
}

void group_leave(struct emitter *e, struct group_place place)
{
	e->piece = place.piece;
	e->chunk = place.chunk;
	e->w = place.w;
	e->mask = place.mask;
}

LLVMValueRef i32_constant(struct emitter *e, uint32_t value)
{
	return LLVMConstInt(LLVMInt32TypeInContext(e->context), value, false);
}

LLVMValueRef group_scalar(struct emitter *e, const struct ptx_operand *op, enum ptx_type type)
{
	if (e->lanes == 1 || operand_is_uniform(e, op))
		return arg_uniform(e, op, type);
	LLVMValueRef value = NULL;
	for (unsigned i = e->lanes; i-- > 0;) {
		LLVMValueRef lane = i32_constant(e, i % e->width);
		LLVMValueRef v = LLVMBuildExtractElement(e->b, arg_chunk(e, op, type, i / e->width), lane, "");
		LLVMValueRef active = LLVMBuildExtractElement(e->b, mask_chunk(e, i / e->width), lane, "");
		value = value ? LLVMBuildSelect(e->b, active, v, value, "") : v;
	}
	return value;
}

LLVMValueRef group_bits(struct emitter *e, const struct ptx_operand *op)
{
	LLVMValueRef chunks[MAX_CHUNKS];
	for (unsigned c = 0; c < e->chunks; c++)
		chunks[c] = and_(e, arg_chunk(e, op, PTX_PRED, c), mask_chunk(e, c));
	return bits_of_mask(e, chunks);
}

LLVMValueRef lane_words(struct emitter *e)
{
	LLVMTypeRef type = LLVMArrayType2(LLVMInt64TypeInContext(e->context), 32);
	return e->lanes == 1 ? room_alloca(e, type, "words") : entry_alloca(e, type, "words");
}
