/* What a compilation leaves, for both sides of the interface. */
#include "codegen/codegen.h"

#include <stdlib.h>

void compile_result_fini(struct compile_result *result)
{
	free(result->object);
	free(result->symbols);
	*result = (struct compile_result){ 0 };
}
