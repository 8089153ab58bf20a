/* libFuzzer's way into src/fatbin: any bytes as an image of known size.
 *
 *     meson setup build -Dfuzz=true (with CC=clang) && build/tests/fuzz/fuzz_fatbin CORPUS_FOLDER */
#include "fatbin/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool touch_name(void *argument, const char *name)
{
	*(size_t *)argument += strlen(name);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fatbin fatbin;
	struct fatbin_choice choice;
	struct fatbin_error error;
	size_t letters = 0;
	if (!size || fatbin_open(data, size, &fatbin, &error))
		return 0;
	for (size_t i = 0; i < fatbin.entries.count; i++)
		program_kernels(&fatbin.entries.data[i], touch_name, &letters);
	if (!fatbin_choose_ptx(&fatbin, 80, &choice, &error))
		fatbin_choice_fini(&choice);
	fatbin_close(&fatbin);
	return 0;
}
