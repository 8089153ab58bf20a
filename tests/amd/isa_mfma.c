/* Matrix instructions: WMMA (gfx11, gfx12) and MFMA (gfx90a, gfx942). */
#include "machine.h"

const struct opcode mfma_opcodes[] = {
	{ NULL, NULL, NULL, "", 0, false, 0, 0 },
};
