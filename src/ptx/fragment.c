/* How many registers the list operands have whose length no .v2 or .v4 gives: matrix fragments (ISA 9.7.14),
 * texture results and coordinates (9.7.10, 9.7.11). */
#include "ptx/parser.h"

struct shape {
	unsigned m, n, k;
};

/* .m16n8k16, or .m8n8 with k = 0 */
static bool read_shape(const char *name, struct shape *shape)
{
	const char *at = name;
	unsigned *const parts[] = { &shape->m, &shape->n, &shape->k };
	*shape = (struct shape){ 0 };
	for (unsigned i = 0; i < 3; i++) {
		if (*at != "mnk"[i])
			return i == 2 && !*at;
		for (at++; lexer_is(*at, CHAR_DIGIT); at++)
			*parts[i] = *parts[i] * 10 + (unsigned)(*at - '0');
	}
	return !*at;
}

static bool find_shape(const struct ptx_form *form, struct shape *shape)
{
	for (unsigned i = 0; i < form->mod_count; i++)
		if (form->mods[i] && read_shape(isa_mod_name((enum ptx_mod)form->mods[i]), shape))
			return true;
	return false;
}

/* A warp's 32 lanes share the elements, packed in registers of 32 bits; a double has one of its own. */
static struct fragment spread(unsigned elements, enum ptx_type type)
{
	unsigned bits = ptx_type_bits(type);
	if (type == PTX_F64)
		return (struct fragment){ elements / 32, elements / 32, 64 };
	return (struct fragment){ elements * bits / 1024, elements * bits / 1024, 32 };
}

/* Formats of 8, 6 and 4 bits that mix lie in bytes. */
static enum ptx_type stored_type(const struct ptx_form *form, enum ptx_type type)
{
	bool bytes = ptx_has(form, MOD_kind__f8f6f4) || ptx_has(form, MOD_kind__mxf8f6f4);
	return bytes && ptx_type_bits(type) < 8 ? PTX_B8 : type;
}

static struct fragment mma_fragment(const struct ptx_form *form, const struct shape *s, unsigned operand)
{
	bool sparse = ptx_has(form, MOD_sp) || ptx_has(form, MOD_sp__ordered_metadata);
	enum ptx_type type = operand < 4 ? stored_type(form, form->types[operand]) : PTX_TYPE_NONE;
	/* Four such products at once, one a quarter of the warp (9.7.14.5.1). */
	unsigned quarters = s->m == 8 && s->k == 4 && form->types[1] == PTX_F16 ? 4 : 1;
	switch (operand) {
	case 0:
	case 3:
		return spread(s->m * s->n * quarters, type);
	case 1:
		return spread(s->m * s->k * quarters / (sparse ? 2 : 1), type);
	case 2:
		return spread(s->k * s->n * quarters, type);
	default: /* {byte id, thread id} of a scale */
		return (struct fragment){ 2, 2, 16 };
	}
}

/* wmma's halves are held twice (9.7.14.3). */
static struct fragment wmma_fragment(const struct shape *s, char matrix, enum ptx_type type)
{
	if (type == PTX_F16 && (matrix == 'a' || matrix == 'b'))
		return (struct fragment){ 8, 8, 32 };
	return spread(matrix == 'a' ? s->m * s->k : matrix == 'b' ? s->k * s->n : s->m * s->n, type);
}

static struct fragment wmma(const struct ptx_form *form, const struct shape *s, unsigned operand)
{
	if (ptx_has(form, MOD_load))
		return wmma_fragment(s, ptx_has(form, MOD_a) ? 'a' : ptx_has(form, MOD_b) ? 'b' : 'c', form->types[0]);
	if (ptx_has(form, MOD_store))
		return wmma_fragment(s, 'd', form->types[0]);
	bool halves = form->type_count == 2; /* .f32.f16: of d and c */
	enum ptx_type type = !halves                        ? form->types[operand]
			     : operand == 1 || operand == 2 ? PTX_F16
							    : form->types[operand == 3];
	return wmma_fragment(s, "dabc"[operand], type);
}

static unsigned number_of_matrices(const struct ptx_form *form)
{
	return ptx_has(form, MOD_x4) ? 4 : ptx_has(form, MOD_x2) ? 2 : 1;
}

struct fragment fragment_of(const struct ptx_form *form, unsigned operand)
{
	struct shape shape;
	unsigned count;
	switch (form->row->opcode_id) {
	case OP_mma:
		return find_shape(form, &shape) ? mma_fragment(form, &shape, operand) : (struct fragment){ 0 };
	case OP_wmma:
		return find_shape(form, &shape) ? wmma(form, &shape, operand) : (struct fragment){ 0 };
	case OP_ldmatrix:
	case OP_stmatrix:
		/* 8 x 8 halves, or 16 x 16 bytes, which are two of them */
		count = number_of_matrices(form) * (find_shape(form, &shape) && shape.m == 16 && shape.n == 16 ? 2 : 1);
		return (struct fragment){ count, count, 32 };
	case OP_tex:
	case OP_tld4:
		return operand == 0
			       ? (struct fragment){ form->vector, form->vector, form->types[0] == PTX_F16 ? 16 : 32 }
			       : (struct fragment){ 0 };
	case OP_cvt:
		return (struct fragment){ 4, 4, 32 };
	case OP_clusterlaunchcontrol:
		return (struct fragment){ 4, 4, 32 };
	default:
		return (struct fragment){ 0 };
	}
}

/* The fewest and the most: old compilers padded every list to four. */
struct fragment fragment_coordinates(const struct ptx_form *form)
{
	static const struct {
		uint16_t mod;
		struct fragment coordinates;
	} geometries[] = {
		{ MOD_1d, { 1, 4, 32 } },    { MOD_2d, { 2, 4, 32 } },   { MOD_3d, { 3, 4, 32 } },
		{ MOD_a1d, { 2, 4, 32 } },   { MOD_a2d, { 3, 4, 32 } },  { MOD_cube, { 3, 4, 32 } },
		{ MOD_acube, { 4, 4, 32 } }, { MOD_2dms, { 3, 4, 32 } }, { MOD_a2dms, { 4, 4, 32 } },
	};
	if (form->row->opcode_id == OP_cp) /* tensors: as many as .1d to .5d says, but for gathers and scatters */
		return (struct fragment){ 1, 5, 32 };
	for (size_t i = 0; i < ARRAY_LENGTH(geometries); i++)
		if (ptx_has(form, (enum ptx_mod)geometries[i].mod))
			return geometries[i].coordinates;
	return (struct fragment){ 0 };
}
