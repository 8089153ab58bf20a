/* Operands against the instruction set (ISA 6.1, 6.4, chapter 9). */
#include "ptx/parser.h"

void check_instruction(struct parser *p, const struct ptx_instruction *instruction)
{
	(void)p;
	(void)instruction;
}

void check_function(struct parser *p, const struct ptx_function *function)
{
	(void)p;
	(void)function;
}
