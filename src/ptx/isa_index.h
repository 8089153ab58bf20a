/* Tables of the generated isa_table.c that only src/ptx and tools/isa_status.c use. */
#ifndef DRAGOMAN_PTX_ISA_INDEX_H
#define DRAGOMAN_PTX_ISA_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "ptx/isa.h"

extern const char *const isa_mod_names[]; /* by enum ptx_mod: sorted */
extern const uint8_t isa_mod_types[];     /* by enum ptx_mod: enum ptx_type, 0 for what is no type */
struct isa_need {
	uint16_t version, sm;
};
extern const struct isa_need isa_mod_needs[]; /* by enum ptx_mod: what it needs wherever it stands */
extern const char *const isa_opcode_names[];  /* by enum isa_opcode: sorted */
extern const uint16_t isa_opcode_first[];     /* by enum isa_opcode: its first row; one more at the end */
extern const uint16_t isa_sregs_by_name[];    /* enum ptx_sreg, sorted by name */
extern const char *const isa_emitters[];      /* by row: "emit_add", what LLVM has for it: "FAdd", or "control" */

/* The row of a spelling such as "setp.lt.f32", whatever version and target it needs, and its slots filled; NULL: none. */
const struct isa_row *isa_find_row(const char *spelling, size_t length, uint16_t filled[ISA_MAX_SLOTS]);

#endif
