/* LLVM types and constants as the emitters ask for them (emit.h): of one lane, or of the piece at hand. */
#include "codegen/values.h"

LLVMTypeRef int_type(struct emitter *e, unsigned bits)
{
	return LLVMIntTypeInContext(e->context, bits);
}

LLVMTypeRef ptr_type(struct emitter *e)
{
	return LLVMPointerTypeInContext(e->context, 0);
}

LLVMTypeRef lane_type(struct emitter *e, enum ptx_type type)
{
	switch (type) {
	case PTX_F16:
		return LLVMHalfTypeInContext(e->context);
	case PTX_F32:
		return LLVMFloatTypeInContext(e->context);
	case PTX_F64:
		return LLVMDoubleTypeInContext(e->context);
	default: {
		unsigned bits = ptx_type_bits(type);
		return int_type(e, bits ? bits : 64);
	}
	}
}

LLVMTypeRef piece_of(struct emitter *e, LLVMTypeRef lane)
{
	return e->w == 1 ? lane : LLVMVectorType(lane, e->w);
}

LLVMTypeRef piece_type(struct emitter *e, enum ptx_type type)
{
	return piece_of(e, lane_type(e, type));
}

LLVMTypeRef piece_int(struct emitter *e, unsigned bits)
{
	return piece_of(e, int_type(e, bits));
}

bool is_vector(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

LLVMTypeRef element_type(LLVMTypeRef type)
{
	return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

LLVMValueRef splat(struct emitter *e, LLVMValueRef scalar)
{
	if (e->w == 1 || is_vector(scalar))
		return scalar;
	if (LLVMIsConstant(scalar)) {
		LLVMValueRef lanes[MAX_WIDTH];
		for (unsigned i = 0; i < e->w; i++)
			lanes[i] = scalar;
		return LLVMConstVector(lanes, e->w);
	}
	LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), e->w);
	LLVMValueRef one = LLVMBuildInsertElement(e->b, LLVMGetPoison(type), scalar, LLVMConstInt(int_type(e, 32), 0, 0), "");
	return LLVMBuildShuffleVector(e->b, one, LLVMGetPoison(type), LLVMConstNull(LLVMVectorType(int_type(e, 32), e->w)), "splat");
}

LLVMValueRef kbits(struct emitter *e, unsigned bits, uint64_t value)
{
	return splat(e, LLVMConstInt(int_type(e, bits), value, 0));
}

LLVMValueRef k(struct emitter *e, enum ptx_type type, uint64_t value)
{
	return kbits(e, ptx_type_bits(type), value);
}

LLVMValueRef kf(struct emitter *e, enum ptx_type type, double value)
{
	return splat(e, LLVMConstReal(lane_type(e, type), value));
}

unsigned type_lane_bits(LLVMTypeRef type)
{
	type = element_type(type);
	switch (LLVMGetTypeKind(type)) {
	case LLVMHalfTypeKind:
		return 16;
	case LLVMFloatTypeKind:
		return 32;
	case LLVMDoubleTypeKind:
	case LLVMPointerTypeKind:
		return 64;
	default:
		return LLVMGetIntTypeWidth(type);
	}
}

unsigned type_bytes(LLVMTypeRef type)
{
	bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
	return (vector ? LLVMGetVectorSize(type) : 1) * ((type_lane_bits(type) + 7) / 8);
}

LLVMValueRef recast(struct emitter *e, LLVMValueRef v, LLVMTypeRef lane)
{
	LLVMTypeRef to = is_vector(v) ? LLVMVectorType(lane, LLVMGetVectorSize(LLVMTypeOf(v))) : lane;
	if (LLVMTypeOf(v) == to)
		return v;
	return LLVMBuildBitCast(e->b, v, to, "");
}

LLVMValueRef as_int(struct emitter *e, LLVMValueRef v)
{
	return recast(e, v, int_type(e, type_lane_bits(LLVMTypeOf(v))));
}

LLVMValueRef as_type(struct emitter *e, LLVMValueRef v, enum ptx_type type)
{
	return recast(e, v, lane_type(e, type));
}

LLVMValueRef resize(struct emitter *e, LLVMValueRef v, unsigned bits, bool is_signed)
{
	unsigned from = type_lane_bits(LLVMTypeOf(v));
	LLVMTypeRef lane = int_type(e, bits);
	LLVMTypeRef to = is_vector(v) ? LLVMVectorType(lane, LLVMGetVectorSize(LLVMTypeOf(v))) : lane;
	if (from == bits)
		return v;
	if (from > bits)
		return LLVMBuildTrunc(e->b, v, to, "");
	return is_signed ? LLVMBuildSExt(e->b, v, to, "") : LLVMBuildZExt(e->b, v, to, "");
}
