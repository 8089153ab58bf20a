/* The emulator's insides: a wave's registers, a decoded instruction, a row of the tables of instructions.
 *
 * Registers are kept a row a register, a lane a column, so that an instruction is one loop over lanes that the host's
 * compiler can vectorise. An instruction is decoded once (decode.c) into its table row and its operands. */
#ifndef AMD_MACHINE_H
#define AMD_MACHINE_H
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "emulator.h"

enum { MAX_LANES = 64, MAX_OPERANDS = 7 };

/* Scalar registers by the number that operands have here. */
enum {
	SGPR_FLAT_SCRATCH = 102, SGPR_XNACK = 104, SGPR_VCC = 106, SGPR_TTMP = 108,
	SGPR_M0 = 124, SGPR_NULL = 125, SGPR_EXEC = 126, SGPRS = 128,
};

enum { ACCUMULATION = 256 };	/* a0 is vector register 256 */

/* Apertures of generic addresses: high halves that no host address has. */
enum { SHARED_APERTURE = 0x00010000, PRIVATE_APERTURE = 0x00020000 };
/* The base that the private segment's buffer resource has. */
#define PRIVATE_RESOURCE_BASE 0x7a0000000000ull

union row {
	uint32_t u[MAX_LANES];
	int32_t i[MAX_LANES];
	uint64_t q[MAX_LANES];
	float f[MAX_LANES];
	double d[MAX_LANES];
};

enum operand_kind {
	OPERAND_NONE, OPERAND_VECTOR, OPERAND_SCALAR, OPERAND_CONSTANT, OPERAND_OFF, OPERAND_SPECIAL, OPERAND_HWREG,
	OPERAND_TEXT,
};
enum special { SPECIAL_SCC, SPECIAL_VCCZ, SPECIAL_EXECZ, SPECIAL_SHARED_BASE, SPECIAL_SHARED_LIMIT,
	SPECIAL_PRIVATE_BASE, SPECIAL_PRIVATE_LIMIT };

struct operand {
	uint8_t kind;
	uint8_t count;		/* registers */
	bool negate, absolute, sign_extend;
	bool high;		/* v0.h */
	bool low;		/* v0.l */
	bool floating, hex;	/* how a constant was written */
	uint8_t select;		/* SDWA */
	uint16_t reg;		/* register, special or hwreg */
	uint8_t hwreg_offset, hwreg_width;
	int64_t integer;
	double number;
	uint32_t bits;		/* the constant as 32 bits */
	uint64_t wide;		/* as 64 bits */
	union row *row;		/* the constant in all lanes, as a source of the row's type */
};

enum sdwa_select { SDWA_DWORD, SDWA_BYTE_0, SDWA_BYTE_1, SDWA_BYTE_2, SDWA_BYTE_3, SDWA_WORD_0, SDWA_WORD_1 };

struct dpp {
	uint8_t source[MAX_LANES];	/* the lane read; 255: outside */
	uint64_t write;			/* row_mask and bank_mask as lanes */
	bool zero_outside, fetch_inactive;
};

struct instruction;
struct wave;
struct access;
typedef void execute_function(struct wave *wave, const struct instruction *in);
typedef void lanes_function(void *d, const void *a, const void *b, const void *c, unsigned lanes);

/* A row of the tables: an instruction by its mnemonic without encoding suffix. */
struct opcode {
	const char *stem;
	execute_function *execute;
	lanes_function *lanes;
	char types[6];		/* of the destination and sources, see valu.def; "" where nothing depends on them */
	uint8_t sources;
	bool accumulate;	/* the destination is the last source */
	int detail;		/* what `execute` makes of it */
	int first;		/* the operand that is src0, where it is not 1 */
};

struct instruction {
	execute_function *execute;
	const struct opcode *op;
	uint8_t size;
	uint8_t operand_count;
	struct operand o[MAX_OPERANDS];
	uint32_t words[2];
	/* modifiers */
	int32_t offset, offset0, offset1;
	uint8_t op_sel, op_sel_hi, neg_lo, neg_hi;
	bool has_op_sel_hi;
	bool clamp, returns, offen, idxen, to_lds;
	int8_t omod;
	uint8_t cbsz, abid, blgp;
	bool sdwa;
	uint8_t dst_sel, dst_unused;
	struct dpp *dpp;
	char space;		/* of a memory instruction: g f s d b */
	uint32_t detail;
	const struct access *access;	/* of a memory instruction */
	struct instruction *dual;	/* VOPD's second half */
	uint64_t pc;
	char *text;
};

enum wave_state { WAVE_RUNNING, WAVE_BARRIER, WAVE_DONE };

struct wave {
	uint32_t s[SGPRS];
	uint32_t *v;		/* rows of `lanes` */
	uint64_t pc;
	uint32_t scc;
	uint32_t mode;
	unsigned lanes;
	unsigned registers;	/* vector registers that there are; accumulation registers start at ACCUMULATION */
	enum wave_state state;
	bool yield;		/* let other waves run */
	uint32_t barriers;	/* passed */
	uint32_t lane_mask[MAX_LANES];	/* of lane_mask_of, a word a lane */
	uint64_t lane_mask_of;
	bool index_mode;	/* s_set_gpr_idx_on (gfx9) */
	uint8_t index_bits;
	uint8_t *private_memory;	/* private_bytes a lane */
	uint32_t private_bytes;
	uint32_t flat_scratch[2];	/* as written through s_setreg */
	/* the allocation that was touched last */
	uint64_t memory_start, memory_length, memory_generation;
	struct block *block;
	const struct gpu_model *gpu;
	struct code_object *object;
	uint64_t instructions, lane_instructions;
	unsigned index;		/* in the block */
};

struct block {
	struct run *run;
	uint32_t id[3];
	uint8_t *lds;
	uint32_t lds_bytes;
	struct wave *waves;
	unsigned wave_count, live;
	uint32_t signals, barriers;	/* of the barrier: signalled so far, and times it opened */
};

/* One dispatch on its way. */
struct run {
	const struct dispatch *dispatch;
	enum dispatch_status status;
	char *error;
	size_t error_size;
	pthread_mutex_t lock;
	atomic_bool failed;
	atomic_uint next_block;
	uint8_t packet[64];	/* the dispatch packet that kernels can ask for */
	uint64_t started;	/* ns, of the clocks */
};

/* decode.c */
const struct instruction *decode(struct code_object *object, uint64_t pc, char *error, size_t error_size);
void instruction_destroy(struct instruction *in);
const struct opcode *opcode_find(const char *stem);
const char *unalias(const char *stem);	/* the tables' name for an instruction */
/* The bits of a constant for a source of this type (valu.def's letters). */
uint64_t constant_bits(const struct operand *o, char type);

/* code_object.c, for decode.c */
struct code {
	uint64_t start, end;		/* addresses of executable memory */
	struct instruction *_Atomic *cache;	/* one a word */
	void *disassembler;
	void *lock;
};
struct code *code_object_code(struct code_object *object);

/* wave.c */
__attribute__((format(printf, 4, 5)))
void wave_fail(struct wave *w, const struct instruction *in, enum dispatch_status status, const char *format, ...);
uint64_t scalar_read(const struct wave *w, const struct operand *o, bool wide);
void scalar_write(struct wave *w, const struct operand *o, uint64_t value, bool wide);
void wave_run(struct wave *w, unsigned budget);
/* Sets the host's rounding (MODE's numbers: 0 nearest, 1 up, 2 down, 3 to zero) until the wave's turn ends. */
void rounding_set(unsigned round);
/* Hardware registers, for s_getreg and s_setreg; false where they are not modelled. */
bool hwreg_read(struct wave *w, const struct operand *o, uint32_t *value);
bool hwreg_write(struct wave *w, const struct operand *o, uint32_t value);
const char *hwreg_name(unsigned reg);
/* Opens the block's barrier if all live waves have come; asked when one comes or ends. */
void barrier_check(struct block *block);
const uint32_t *wave_lane_mask(struct wave *w);

static inline uint64_t wave_exec(const struct wave *w)
{
	return w->lanes == 64 ? w->s[SGPR_EXEC] | (uint64_t)w->s[SGPR_EXEC + 1] << 32 : w->s[SGPR_EXEC];
}
static inline void wave_set_exec(struct wave *w, uint64_t mask)
{
	w->s[SGPR_EXEC] = (uint32_t)mask;
	if (w->lanes == 64) w->s[SGPR_EXEC + 1] = (uint32_t)(mask >> 32);
}
static inline uint64_t wave_all(const struct wave *w) { return w->lanes == 64 ? ~0ull : 0xffffffffull; }
static inline uint32_t *wave_row(struct wave *w, unsigned reg) { return w->v + (size_t)reg * w->lanes; }
/* A lane mask in a scalar register, as wide as the wave. */
static inline uint64_t mask_read(const struct wave *w, const struct operand *o) { return scalar_read(w, o, w->lanes == 64); }
static inline void mask_write(struct wave *w, const struct operand *o, uint64_t mask) { scalar_write(w, o, mask, w->lanes == 64); }
static inline uint64_t vcc_read(const struct wave *w)
{
	return w->lanes == 64 ? w->s[SGPR_VCC] | (uint64_t)w->s[SGPR_VCC + 1] << 32 : w->s[SGPR_VCC];
}

#define EACH_LANE(w, lane) for (uint64_t left_ = wave_exec(w); left_; left_ &= left_ - 1) \
	for (unsigned lane = (unsigned)__builtin_ctzll(left_), once_ = 1; once_; once_ = 0)

/* isa_*.c: the tables, each ended by a row without a stem, and what decode binds by rule rather than by row. */
extern const struct opcode salu_opcodes[], valu_opcodes[], lane_opcodes[], mfma_opcodes[], control_opcodes[];
/* The memory instructions: true if `stem` (without the space's prefix) is one and `in` was bound. */
bool memory_bind(struct instruction *in, const char *stem, const struct gpu_model *gpu);
bool lds_bind(struct instruction *in, const char *stem);
bool scalar_memory_bind(struct instruction *in, const char *stem);
bool compare_bind(struct instruction *in, const char *stem);
execute_function valu_execute, valu_dual, valu_packed, valu_packed_f32;

/* isa_valu.c, for the others: a source in all lanes, 32 or 64 bits; and the writing of a result. */
const void *vector_source(struct wave *w, const struct instruction *in, unsigned operand, char type, union row *buffer,
	uint64_t *enabled);
void vector_write(struct wave *w, const struct instruction *in, const struct operand *d, char type, const union row *result,
	uint64_t enabled);
static inline const uint32_t *lane_source(struct wave *w, const struct instruction *in, unsigned operand, union row *buffer)
{
	return vector_source(w, in, operand, 'u', buffer, NULL);
}
void vector_write_u32(struct wave *w, const struct operand *d, const uint32_t *result, uint64_t enabled);
void vector_write_u64(struct wave *w, const struct operand *d, const uint64_t *result, uint64_t enabled);

/* isa_memory.c; the functions that find memory fail the wave and give NULL where there is none */
/* What a memory instruction does: the rest of its name without the space ("load_b32"), in either generation's spelling. */
struct access {
	const char *name, *old_name;
	enum access_kind { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC } kind;
	uint8_t bytes;
	bool sign, d16, high;	/* sign-extended; into or of 16 bits of a register; the upper ones */
	int operation;		/* of an atomic, enum atomic */
};
enum atomic { ATOMIC_ADD, ATOMIC_SUB, ATOMIC_RSUB, ATOMIC_SWAP, ATOMIC_COMPARE, ATOMIC_MIN_I, ATOMIC_MIN_U, ATOMIC_MAX_I, ATOMIC_MAX_U, ATOMIC_AND,
	ATOMIC_OR, ATOMIC_XOR, ATOMIC_INC, ATOMIC_DEC, ATOMIC_ADD_F, ATOMIC_MIN_F, ATOMIC_MAX_F, ATOMIC_PK_ADD_F16, ATOMIC_PK_ADD_BF16,
	ATOMIC_CSUB, ATOMIC_COND_SUB, ATOMIC_MSKOR };
void load_narrow(struct wave *w, const struct access *access, const struct operand *d, const uint8_t *memory, unsigned lane);
void store_narrow(struct wave *w, const struct access *access, const struct operand *data, uint8_t *memory, unsigned lane);
static inline void load_lane(struct wave *w, const struct access *access, const struct operand *d, const uint8_t *memory, unsigned lane)
{
	uint32_t *row = wave_row(w, d->reg) + lane;

	if (access->bytes < 4) load_narrow(w, access, d, memory, lane);
	else
		for (unsigned i = 0; i < access->bytes; i += 4, row += w->lanes) memcpy(row, memory + i, 4);
}
static inline void store_lane(struct wave *w, const struct access *access, const struct operand *data, uint8_t *memory, unsigned lane)
{
	const uint32_t *row = wave_row(w, data->reg) + lane;

	if (access->bytes < 4) store_narrow(w, access, data, memory, lane);
	else
		for (unsigned i = 0; i < access->bytes; i += 4, row += w->lanes) memcpy(memory + i, row, 4);
}
/* Returns the old value; `operand2` is what is compared with. */
uint64_t atomic_apply(uint8_t *memory, unsigned bytes, enum atomic operation, uint64_t operand, uint64_t operand2);
uint8_t *memory_address(struct wave *w, const struct instruction *in, uint64_t address, unsigned size, unsigned lane);
uint8_t *lds_fail(struct wave *w, const struct instruction *in, uint64_t address, unsigned size);
static inline uint8_t *lds_address(struct wave *w, const struct instruction *in, uint64_t address, unsigned size)
{
	return address + size <= w->block->lds_bytes ? w->block->lds + address : lds_fail(w, in, address, size);
}

/* half.c: f16 and bf16 */
float half_to_float(uint16_t half);
uint16_t half_from_float(float value, unsigned round);
uint16_t half_from_double(double value, unsigned round);

#endif
