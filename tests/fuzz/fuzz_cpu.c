/* The loader of relocatable objects, which reads what lies in the disk cache: whatever the bytes, it refuses or relocates, inside of
 * the image it was given. Seeds: the objects that tests/unit/kernels builds. */
#include "backend/cpu/cpu.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { LARGEST = 1 << 20 };
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
	char why[CODE_WHY];
	/* Each on the heap and of its exact size, so that a byte too far is seen; aligned as cache entries are. */
	uint8_t *object = malloc(size ? size : 1), *image = malloc(LARGEST);
	memcpy(object, data, size);
	for (size_t i = 0; i < ARRAY_LENGTH(machines); i++)
		cpu_code_relocate_at(object, size, machines[i], image, LARGEST, 0x7f0012345000, why);
	free(object);
	free(image);
	return 0;
}
