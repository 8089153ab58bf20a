/* The instruction set as data: struct isa_row is one row of spec/ptx.isa.
 *
 * tools/isa_gen.py reads the rows and writes into the build folder
 *     isa_mods.h    enum ptx_mod (every modifier), enum isa_opcode, enum isa_shape, enum isa_row_index
 *     isa_table.c   isa_rows[], the opcode index, modifier names
 *     isa_emit.h    for src/codegen: one entry a row, `llvm=` rows filled in, `emit_NAME` declared
 * Passes read properties (ISA_PURE …) and shapes, never lists of opcodes. */
#ifndef DRAGOMAN_PTX_ISA_H
#define DRAGOMAN_PTX_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa_mods.h"

enum { ISA_MAX_SLOTS = 20, ISA_MAX_OPERANDS = 12, ISA_MOD_WORDS = (ISA_MOD_COUNT + 63) / 64 };

enum isa_flags {
	ISA_PURE = 1 << 0,        /* result depends on the operands alone; may be moved, repeated, dropped, run for dead lanes */
	ISA_READS = 1 << 1,       /* memory */
	ISA_WRITES = 1 << 2,
	ISA_ATOMIC = 1 << 3,      /* atom, red, mbarrier: read-modify-write */
	ISA_CONVERGENT = 1 << 4,  /* warp-wide: lanes exchange values or meet (shfl, vote, match, redux, bar.warp, mma, ldmatrix …) */
	ISA_BARRIER = 1 << 5,     /* block-wide or cluster-wide meeting */
	ISA_BRANCH = 1 << 6,      /* bra, brx.idx, ret, exit, trap: ends a basic block */
	ISA_CALL = 1 << 7,
	ISA_EFFECT = 1 << 8,      /* anything else that must stay where it is (nanosleep, fence, clock reads, pragma) */
	ISA_UNIFORM = 1 << 9,     /* result is the same in all lanes of a warp whatever the operands (vote, redux, elect's mask …) */
	ISA_VARYING = 1 << 10,    /* result differs by lane whatever the operands (shfl, atom …) */
	ISA_TRAPS = 1 << 11,      /* pure, but must not run for dead lanes as it is (integer div, rem by zero): guard the operand */
	ISA_BITS = 1 << 14,       /* NaNs of a float result are as the emitter leaves them, not the GPU's one NaN */
	ISA_WIDE = 1 << 12,       /* a register may be wider than the type it is used with (ld, st, cvt) */
	ISA_SELECT = 1 << 13,     /* operands may select bytes or halves (%r1.b0, %r1.h10) and be negated: video */
};

enum isa_operand_role {
	ISA_VALUE,    /* register or immediate */
	ISA_REGISTER, /* register only (results; sink `_` where `optional`) */
	ISA_ADDRESS,  /* [a] */
	ISA_VECTOR,   /* {a, b, …} of form->vector elements, or one register when that is 1 */
	ISA_FRAGMENT, /* {…} whose length the form fixes elsewhere (mma, wmma, ldmatrix, tex) */
	ISA_LABEL, ISA_SYMBOL, ISA_TEXTURE, ISA_LIST, ISA_ANY,
	ISA_IMMEDIATE /* integer constant only */
};

struct isa_operand {
	uint8_t role;       /* enum isa_operand_role */
	bool is_result;
	bool optional;      /* may be absent (trailing), or `_` */
	bool pair;          /* d|p: the second result, a .pred unless pair_type says otherwise */
	uint8_t type;       /* enum ptx_type; 0: types[type_slot] of the form */
	uint8_t type_slot;
	uint8_t pair_type;
};

struct isa_slot { /* one `.modifier` position */
	bool optional;
	uint8_t first_choice_count; /* number of choices */
	uint16_t first_choice;      /* into isa_choices[] */
};

struct isa_row {
	const char *opcode;  /* "add" */
	const char *text;    /* spelling and operands as in spec/ptx.isa, its sets written out: for messages and status pages */
	uint16_t index;      /* enum isa_row_index: ROW_add_sat_s32 … ; also into the emitters' table */
	uint16_t opcode_id;  /* enum isa_opcode */
	uint32_t flags;      /* enum isa_flags */
	uint8_t shape;       /* enum isa_shape: how lane-affine operands make the result: SHAPE_none, SHAPE_add, _sub, _mul, _mad, _shl, _mov, _cvt, _and, _or … */
	uint8_t slot_count, operand_count;
	uint16_t version;    /* 10 × the PTX ISA version that brought it: 78 */
	uint16_t sm;         /* lowest target; arch-specific ones (sm_90a) have arch_specific set */
	bool arch_specific;
	struct isa_slot slots[ISA_MAX_SLOTS];
	struct isa_operand operands[ISA_MAX_OPERANDS];
};

extern const struct isa_row isa_rows[];
extern const size_t isa_row_count;
extern const uint16_t isa_choices[];
const char *isa_mod_name(enum ptx_mod mod);                      /* "shared::cta" */
enum ptx_mod isa_find_mod(const char *name, size_t length);      /* MOD_NONE where unknown */
/* First and last row + 1 of an opcode; false where PTX has no such opcode. */
bool isa_find_opcode(const char *name, size_t length, uint16_t *first, uint16_t *end);

/* Special registers, from the `sreg` lines of spec/ptx.isa: SREG_tid, SREG_ntid, SREG_laneid, SREG_envreg (numbered), … */
struct isa_sreg {
	const char *name;  /* "%tid" */
	uint8_t type;      /* enum ptx_type of one component */
	uint8_t components; /* 1, or 4 for %tid.x … */
	uint16_t version, sm;
};
extern const struct isa_sreg isa_sregs[];
int isa_find_sreg(const char *name, size_t length); /* enum ptx_sreg, or -1 */

#endif
