/* Looking things up in the tables that tools/isa_gen.py makes of spec/ptx.isa: modifiers, opcodes
 * and special registers by name. Only called when a spelling is met for the first time (form.c),
 * so binary search is quick enough. */
#include "ptx/isa.h"

#include <string.h>

#include "ptx/isa_index.h"

static int compare_name(const char *name, size_t length, const char *entry)
{
	int order = strncmp(name, entry, length);
	return order ? order : -(entry[length] != '\0');
}

const char *isa_mod_name(enum ptx_mod mod)
{
	return mod < ISA_MOD_COUNT ? isa_mod_names[mod] : "";
}

enum ptx_mod isa_find_mod(const char *name, size_t length)
{
	size_t low = 1, high = ISA_MOD_COUNT;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare_name(name, length, isa_mod_names[middle]);
		if (order == 0)
			return (enum ptx_mod)middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return MOD_NONE;
}

bool isa_find_opcode(const char *name, size_t length, uint16_t *first, uint16_t *end)
{
	size_t low = 0, high = ISA_OPCODE_COUNT;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare_name(name, length, isa_opcode_names[middle]);
		if (order == 0) {
			*first = isa_opcode_first[middle];
			*end = isa_opcode_first[middle + 1];
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

int isa_find_sreg(const char *name, size_t length)
{
	size_t low = 0, high = ISA_SREG_COUNT;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int sreg = isa_sregs_by_name[middle];
		int order = compare_name(name, length, isa_sregs[sreg].name);
		if (order == 0)
			return sreg;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}
