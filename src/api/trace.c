#include "api/trace.h"
#include "api/api.h"
bool trace_enabled(void) { return env_flag("DRAGOMAN_TRACE"); }
void trace_call(const struct api_function *f, uint64_t ns, const void *result, const void *const *arguments) { (void)f; (void)ns; (void)result; (void)arguments; }
void trace_write(const char *where, const char *lines, size_t length) { (void)where; (void)lines; (void)length; }
