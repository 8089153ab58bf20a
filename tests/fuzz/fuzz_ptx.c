/* libFuzzer target of the PTX parser, printer and comparison:
 *     build/tests/fuzz/fuzz_ptx -dict=tests/fuzz/ptx.dict CORPUS tests/fuzz/ptx
 */
#include "ptx_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ptx_input_check((const char *)data, size);
	return 0;
}
