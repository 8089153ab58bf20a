/* PTX text as data: what the parser makes and everything after it reads.
 *
 *     ptx_parse()  text -> struct ptx_module      (src/ptx/lexer.c, parser.c, check.c)
 *     ptx_parse_heads(), ptx_whole()              the same in two steps, where it is known to be good
 *     ptx_print()  struct ptx_module -> text      (src/ptx/printer.c)
 *     ptx_link()   several modules of one -rdc=true program -> one (src/ptx/link.c)
 *
 * Follows PTX ISA 9.0, chapters 4 to 11. One arena holds a module and all it points to; strings
 * are interned, so equal names are equal pointers within a module. Nothing in a module changes
 * after ptx_parse(): it may be read by several threads. */
#ifndef DRAGOMAN_PTX_H
#define DRAGOMAN_PTX_H

#include "base/base.h"
#include "ptx/isa.h" /* enum ptx_mod, struct isa_row: from spec/ptx.isa by tools/isa_gen.py */

/* ---- types ------------------------------------------------------------------------------- */

enum ptx_type { /* 5.2; the packed and opaque ones too */
	PTX_TYPE_NONE,
	PTX_PRED,
	PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128,
	PTX_U8, PTX_U16, PTX_U32, PTX_U64,
	PTX_S8, PTX_S16, PTX_S32, PTX_S64,
	PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_TF32, PTX_F32, PTX_F32X2, PTX_F64,
	PTX_E4M3, PTX_E5M2, PTX_E4M3X2, PTX_E5M2X2, PTX_E2M1X2, PTX_E2M3X2, PTX_E3M2X2, PTX_UE8M0X2,
	PTX_E4M3X4, PTX_E5M2X4, PTX_E2M1X4, PTX_E2M3X4, PTX_E3M2X4,
	PTX_U4, PTX_S4, PTX_B1, PTX_U16X2, PTX_S16X2, PTX_E2M1, PTX_E2M3, PTX_E3M2,
	PTX_TEXREF, PTX_SAMPLERREF, PTX_SURFREF,
	PTX_TYPE_COUNT
};
unsigned ptx_type_bits(enum ptx_type type);      /* 1 for .pred, 0 for opaque ones */
const char *ptx_type_name(enum ptx_type type);   /* without the dot */
enum ptx_type ptx_type_of_mod(enum ptx_mod mod); /* MOD_s32 -> PTX_S32; PTX_TYPE_NONE where it is no type */

enum ptx_space { /* 5.1 */
	PTX_SPACE_GENERIC, PTX_SPACE_REG, PTX_SPACE_SREG, PTX_SPACE_CONST, PTX_SPACE_GLOBAL, PTX_SPACE_LOCAL,
	PTX_SPACE_PARAM, /* of a kernel, or of a function's formal or a call's actual parameter */
	PTX_SPACE_SHARED, PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_TEX
};

struct ptx_location {
	uint32_t line, column; /* from 1; of the PTX text itself */
};

/* ---- registers and variables ------------------------------------------------------------- */

/* A register of one function. Numbered from 0 within the function: `%r<9>` makes nine. */
struct ptx_register {
	const char *name;
	enum ptx_type type;
	uint8_t vector; /* 1, 2 or 4: `.reg .v4 .f32 %v` */
	uint32_t index;
};

struct ptx_initial { /* one element of an initialiser, flattened in memory order; zeros are left out */
	uint64_t offset;            /* bytes from the variable's start */
	enum ptx_type type;         /* the element's; small numbers side by side are packed into one PTX_B64 */
	uint64_t bits;              /* value, or the addend where symbol is set */
	const struct ptx_symbol *symbol; /* address of a variable or function; NULL for a number */
	bool generic;               /* generic(symbol): for .global/.const the same here */
	uint8_t mask_shift, mask_bytes; /* 0xFF(symbol), 0xFF00(symbol)…: which byte of the address; 0,0 = whole */
};

enum ptx_linkage { PTX_INTERNAL, PTX_VISIBLE, PTX_WEAK, PTX_COMMON, PTX_EXTERN };

enum ptx_symbol_kind { PTX_SYMBOL_VARIABLE, PTX_SYMBOL_FUNCTION, PTX_SYMBOL_LABEL, PTX_SYMBOL_PROTOTYPE, PTX_SYMBOL_TARGETS };

struct ptx_symbol { /* first member of what it names */
	enum ptx_symbol_kind kind;
	const char *name;
	struct ptx_location location;
};

/* How a texture is read (5.3): what an initialiser of a .samplerref or .texref says; -1: nothing. */
enum ptx_address_mode { PTX_ADDRESS_WRAP, PTX_ADDRESS_MIRROR, PTX_ADDRESS_CLAMP_OGL, PTX_ADDRESS_CLAMP_TO_EDGE, PTX_ADDRESS_CLAMP_TO_BORDER };

struct ptx_sampling {
	int8_t address[3];             /* enum ptx_address_mode */
	int8_t linear;                 /* filter_mode */
	int8_t normalized, unnormalized;
};

struct ptx_variable {
	struct ptx_symbol symbol;
	enum ptx_space space;
	enum ptx_linkage linkage;
	enum ptx_type type;
	uint8_t vector;                /* 1, 2 or 4 */
	bool is_array, unsized;        /* unsized: `[]`, extern shared or an unsized parameter */
	bool managed;                  /* .attribute(.managed) */
	bool pointer;                  /* a kernel parameter with .ptr */
	enum ptx_space pointer_space;
	uint32_t pointer_align;
	uint32_t align;                /* bytes; the type's own where the text gives none */
	uint64_t size;                 /* bytes in all; 0 where unsized */
	VEC(uint32_t) dims;            /* arrays; an unsized first dimension is 0 */
	struct ptx_initial *initial;   /* sorted by offset; the rest is zero */
	uint32_t initial_count;
	uint32_t index;                /* among the module's variables, or the function's own ones */
	uint32_t offset;               /* kernel parameters: byte offset in the parameter buffer */
	struct ptx_function *function; /* that it is declared in (its parameters, locals, shared); NULL at module level */
	/* fields of an opaque reference (.samplerref …) as "filter_mode = linear, …"; NULL: none */
	const char *opaque;
	struct ptx_sampling *sampling; /* what of them says how to read; not NULL where `opaque` is not */
};

/* ---- instructions ------------------------------------------------------------------------- */

enum ptx_operand_kind {
	PTX_OP_NONE,
	PTX_OP_REGISTER,
	PTX_OP_IMMEDIATE,  /* integer: bits, sign as 64-bit two's complement; is_unsigned for the U suffix */
	PTX_OP_FLOAT,      /* 0d… or decimal: bits of a double; 0f…: is_f32, bits of a float */
	PTX_OP_SYMBOL,     /* address of a variable or function (+ offset): mov, call target, cvta */
	PTX_OP_SREG,       /* special register: sreg, component */
	PTX_OP_ADDRESS,    /* [base + offset]: base REGISTER, SYMBOL or IMMEDIATE in `parts[0]` */
	PTX_OP_VECTOR,     /* {a, b, …}: parts */
	PTX_OP_LIST,       /* (a, b): call parameters; parts */
	PTX_OP_TEXTURE,    /* [tex, sampler, {coordinates}], tensor and bulk operands [x, {…}]: parts in the written order */
	PTX_OP_LABEL,      /* branch target: symbol is a struct ptx_label */
	PTX_OP_SINK,       /* _ */
	PTX_OP_PAIR        /* p|q, d|p: parts[0], parts[1] */
};

struct ptx_operand {
	uint8_t kind;         /* enum ptx_operand_kind */
	uint8_t part_count;
	bool negated;         /* !p, and -a where the grammar lets it stand */
	bool is_f32 : 1, is_unsigned : 1;
	int8_t component;     /* .x .y .z .w (0…3) or .r .g .b .a of a vector register or %tid; -1: none */
	int8_t selector;      /* video: .b0….b3 = 0…3, .h0 .h1 = 4,5; 6: .h10 …, 7: .b3210 …, the digits in offset (0x10, 0x3210); -1: none */
	uint16_t sreg;        /* enum ptx_sreg */
	union {
		const struct ptx_register *reg;
		const struct ptx_symbol *symbol;
		uint64_t bits;
	};
	int64_t offset;       /* ADDRESS, SYMBOL */
	struct ptx_operand *parts;
};

/* A spelling such as `setp.lt.ftz.f32`, met once or a thousand times: its row and what its slots
 * were filled with. Instructions of one spelling share it. */
struct ptx_form {
	const struct isa_row *row;
	const char *text;                  /* "setp.lt.ftz.f32" */
	uint8_t mod_count;
	uint16_t mods[ISA_MAX_SLOTS];      /* enum ptx_mod, in the row's slot order; 0 where an optional slot is empty */
	uint64_t set[ISA_MOD_WORDS];       /* the same as a set: ptx_has() */
	uint8_t type_count;
	enum ptx_type types[4];            /* the type modifiers in order; for most instructions types[0] */
	enum ptx_space space;              /* first state-space modifier; GENERIC where none */
	uint8_t vector;                    /* .v2 .v4 .v8: 2, 4, 8; else 1 */
};
static inline bool ptx_has(const struct ptx_form *form, enum ptx_mod mod)
{
	return form->set[mod / 64] >> (mod % 64) & 1;
}

struct ptx_instruction {
	const struct ptx_form *form;
	struct ptx_location location;
	const struct ptx_register *guard;  /* @p; NULL: always */
	bool guard_negated;
	uint8_t operand_count;
	struct ptx_operand *operands;      /* in written order; which are results: row->operands[i].is_result */
};

struct ptx_label {
	struct ptx_symbol symbol;
	uint32_t at; /* index of the instruction it stands before; instruction_count at the end */
	bool defined;
};

struct ptx_targets { /* .branchtargets and .calltargets */
	struct ptx_symbol symbol;
	const struct ptx_symbol **targets;
	uint32_t count;
};

struct ptx_prototype { /* .callprototype */
	struct ptx_symbol symbol;
	VEC(struct ptx_variable *) results, parameters;
	bool noreturn;
};

struct ptx_pragma {
	const char *text;
	uint32_t at; /* instruction index; for a label-less pragma the place it stands */
};

struct ptx_function {
	struct ptx_symbol symbol;
	bool is_entry, is_declaration, noreturn;
	enum ptx_linkage linkage;
	VEC(struct ptx_variable *) results, parameters; /* .func: a .reg parameter has space REG and a register of that name */
	uint32_t parameter_bytes;                       /* of an entry's parameter buffer */
	VEC(struct ptx_register *) registers;
	VEC(struct ptx_variable *) variables;           /* .local, .shared, .param (of calls), .const/.global inside the body */
	struct ptx_instruction *instructions;
	uint32_t instruction_count;
	VEC(struct ptx_label *) labels;
	VEC(struct ptx_prototype *) prototypes;
	VEC(struct ptx_targets *) targets;
	VEC(struct ptx_pragma) pragmas;
	const struct ptx_function *alias_of;            /* .alias */
	/* performance directives; 0 where absent */
	uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg, maxclusterrank, reqnctapercluster[3];
	bool explicitcluster, blocksareclusters;
	uint32_t index;
	const struct ptx_module *module;
};

struct ptx_module {
	struct arena arena;
	uint16_t version;       /* 90 for 9.0 */
	uint16_t sm;            /* 80 for sm_80 */
	const char *target;     /* "sm_90a", with its suffix */
	bool texmode_independent, debug;
	bool traps;             /* there is a trap in it */
	uint8_t address_size;   /* 64 or 32 */
	VEC(struct ptx_variable *) variables; /* module level: .global .const .shared .tex … */
	VEC(struct ptx_function *) functions; /* bodies; a declaration only where no body follows */
	struct map symbols;     /* name -> struct ptx_symbol, module level */
	VEC(const char *) files; /* .file, index = number; NULL where a number was left out */
	VEC(const char *) pragmas; /* at module level */
	const char *name;       /* for messages: what ptx_parse() was given */
	const char *text;       /* the source, kept for error messages (copied into the arena) */
	size_t text_length;
	const uint8_t *text_hash; /* SHA-256, where somebody knows it */
	bool heads_only;        /* no body has been read */
	_Atomic(struct ptx_module *) whole; /* of one that has heads only, once they have been */
	_Atomic unsigned owners; /* but for one */
};

/* ---- errors ------------------------------------------------------------------------------- */

/* Messages have one shape, also for later stages (src/codegen):
 *     k.ptx:12:9: error: unknown instruction 'frobnicate.u32' (in kernel 'x')
 *         frobnicate.u32 1;
 *         ^
 */
struct ptx_diagnostic {
	char *message; /* whole, with caret, ends in '\n'; malloc'ed: ptx_diagnostic_fini() */
	struct ptx_location location;
	bool unsupported; /* well-formed PTX that we do not handle, as against wrong PTX */
};
void ptx_diagnostic_fini(struct ptx_diagnostic *diagnostic);
/* Fills `out` unless it holds a message already (the first error is the one that counts). */
void ptx_error(struct ptx_diagnostic *out, const struct ptx_module *module, const struct ptx_function *function,
	       struct ptx_location location, const char *format, ...) PRINTF_LIKE(5, 6);

/* ---- the way in and out --------------------------------------------------------------------- */

/* Parses and checks `length` bytes (a trailing NUL padding is allowed). `name` is for messages.
 * An instruction that no row of spec/ptx.isa matches is an error of the module where its opcode or a
 * modifier is unknown to PTX; a known one that the target or version does not allow, likewise.
 * Returns NULL and fills `diagnostic` on error. */
struct ptx_module *ptx_parse(const char *text, size_t length, const char *name, struct ptx_diagnostic *diagnostic);
/* The same for a text that has been read before without an error: bodies are passed over, so that it takes a small part of the time. */
struct ptx_module *ptx_parse_heads(const char *text, size_t length, const char *name, struct ptx_diagnostic *diagnostic);
/* The module with its functions' bodies (functions have the same numbers there): itself, or, where that has heads only, one that is read at
 * the first call and lives as long as it. NULL and a diagnostic where it cannot be. */
const struct ptx_module *ptx_whole(const struct ptx_module *module, struct ptx_diagnostic *diagnostic);
void ptx_destroy(struct ptx_module *module); /* for each owner once: the maker, and whoever has called ptx_keep() */
struct ptx_module *ptx_keep(const struct ptx_module *module);

/* Text that parses to the same module. */
void ptx_print(const struct ptx_module *module, struct text *out);
void ptx_print_instruction(const struct ptx_instruction *instruction, struct text *out);
/* Are two modules the same but for locations and spelling? On a difference says the first in `why`. */
bool ptx_equal(const struct ptx_module *a, const struct ptx_module *b, struct text *why);

/* One module from the files of a program built with -rdc=true (and cudadevrt): externs meet their
 * definitions, .weak and .common ones merge, internal names that clash are renamed. The result shares nothing with the inputs. */
struct ptx_module *ptx_link(const struct ptx_module *const *modules, size_t count, struct ptx_diagnostic *diagnostic);

const struct ptx_function *ptx_find_entry(const struct ptx_module *module, const char *name);
const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name);

#endif
