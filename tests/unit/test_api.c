/* The entries made from spec/: that they reach impl_ functions, say what is missing, put the thread's
 * own stream in the place of stream 0, leave trace lines and counters, and are found by name and
 * version as the driver API's "Driver Entry Point Access" says.
 *
 * The few implementations that are needed are here; versions are those of NVIDIA's manual
 * (cudaTypedefs.h names them). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/cuda_impl.h"

static CUstream seen_stream;
static bool seen_per_thread;
static char seen_name[80];

CUresult impl_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	if (!bytesize)
		return (CUresult)api_error(CUDA_ERROR_INVALID_VALUE, "no bytes");
	*dptr = 0x7f1200000000;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamSynchronize(CUstream hStream)
{
	seen_stream = hStream;
	seen_per_thread = api_per_thread_stream();
	return CUDA_SUCCESS;
}

CUresult impl_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	(void)dst, (void)src, (void)ByteCount;
	seen_per_thread = api_per_thread_stream();
	snprintf(seen_name, sizeof seen_name, "%s", api_function_name());
	cuStreamSynchronize(NULL);
	snprintf(seen_name + strlen(seen_name), sizeof seen_name - strlen(seen_name), " %s", api_function_name());
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	(void)hmod, (void)name;
	*hfunc = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

CUresult impl_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	(void)attrib, (void)dev;
	*pi = -3;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
				    CUstream hStream)
{
	(void)devPtr, (void)count, (void)location, (void)flags, (void)hStream;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
	(void)pCopy;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	(void)dev;
	snprintf(name, (size_t)len, "a \"CPU\"");
	return CUDA_SUCCESS;
}

static char trace_path[] = "/tmp/dragoman-test-api-XXXXXX";

/* The last line of the trace, without thread and time. */
static const char *last_line(void)
{
	static char text[1 << 16];
	FILE *file = fopen(getenv("DRAGOMAN_TRACE"), "r");
	assert_non_null(file);
	size_t length = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	assert_true(length > 0 && text[length - 1] == '\n');
	text[length - 1] = 0;
	char *line = strrchr(text, '\n');
	line = strstr(line ? line : text, "] ") + 2;
	char *time = strstr(line, "  ");
	assert_non_null(time);
	assert_string_equal(time + strlen(time) - 3, " us");
	*time = 0;
	return line;
}

static void assert_line(const char *format, ...)
{
	char expected[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(expected, sizeof expected, format, arguments);
	va_end(arguments);
	assert_string_equal(last_line(), expected);
}

static void trace_shows_values(void **state)
{
	(void)state;
	CUdeviceptr pointer = 0;
	assert_int_equal(cuMemAlloc_v2(&pointer, 4096), CUDA_SUCCESS);
	assert_line("cuMemAlloc_v2(dptr=%p -> 0x7f1200000000, bytesize=4096) = CUDA_SUCCESS", (void *)&pointer);
	assert_int_equal(cuMemAlloc_v2(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
	assert_line("cuMemAlloc_v2(dptr=%p, bytesize=0) = CUDA_ERROR_INVALID_VALUE", (void *)&pointer);
	int value;
	cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2);
	assert_line("cuDeviceGetAttribute(pi=%p -> -3, attrib=CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev=2) = CUDA_SUCCESS",
		    (void *)&value);
	CUfunction function;
	cuModuleGetFunction(&function, (CUmodule)0x10, "one\ntwo");
	assert_line("cuModuleGetFunction(hfunc=%p, hmod=0x10, name=\"one\\ntwo\") = CUDA_ERROR_NOT_FOUND",
		    (void *)&function);
	CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
	cuMemPrefetchAsync_v2(0x1000, 16, location, 0, NULL);
	assert_line("cuMemPrefetchAsync_v2(devPtr=0x1000, count=16, location={type=CU_MEM_LOCATION_TYPE_DEVICE, id=1}, "
		    "flags=0, hStream=NULL) = CUDA_SUCCESS");
	char name[32];
	cuDeviceGetName(name, sizeof name, 0);
	assert_line("cuDeviceGetName(name=\"a \\\"CPU\\\"\", len=32, dev=0) = CUDA_SUCCESS");
}

static void trace_survives_wild_pointers(void **state)
{
	(void)state;
	cuMemcpy2D_v2((const CUDA_MEMCPY2D *)0x1234);
	assert_line("cuMemcpy2D_v2(pCopy=0x1234) = CUDA_SUCCESS");
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST };
	cuMemcpy2D_v2(&copy);
	assert_non_null(strstr(last_line(), "{srcXInBytes=0, srcY=0, srcMemoryType=CU_MEMORYTYPE_HOST, srcHost=NULL, "));
	CUfunction function;
	cuModuleGetFunction(&function, NULL, (const char *)16);
	assert_line("cuModuleGetFunction(hfunc=%p, hmod=NULL, name=0x10) = CUDA_ERROR_NOT_FOUND", (void *)&function);
}

static void streams_of_the_thread(void **state)
{
	(void)state;
	cuStreamSynchronize(NULL);
	assert_null(seen_stream);
	assert_false(seen_per_thread);
	cuStreamSynchronize_ptsz(NULL);
	assert_ptr_equal(seen_stream, CU_STREAM_PER_THREAD);
	assert_true(seen_per_thread);
	cuStreamSynchronize_ptsz(CU_STREAM_LEGACY);
	assert_ptr_equal(seen_stream, CU_STREAM_LEGACY);
	seen_per_thread = false;
	cuMemcpy_ptds(1, 2, 3);
	/* The call within was of the variant with the legacy stream; what was current came back after it. */
	assert_false(seen_per_thread);
	assert_string_equal(seen_name, "cuMemcpy_ptds cuMemcpy_ptds");
	assert_string_equal(api_function_name(), "");
}

/* What a child process writes to stderr. */
static void output_of(void (*act)(void), char *text, size_t size)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		act();
		_exit(0);
	}
	close(ends[1]);
	size_t length = 0;
	ssize_t count;
	while ((count = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)count;
	text[length] = 0;
	close(ends[0]);
	waitpid(child, NULL, 0);
}

static void call_missing(void)
{
	for (int i = 0; i < 3; i++)
		if (cuCtxDetach(NULL) != CUDA_ERROR_NOT_SUPPORTED)
			_exit(1);
}

static void missing_is_named_once(void **state)
{
	(void)state;
	char text[4096];
	output_of(call_missing, text, sizeof text);
	const char *line = strstr(text, "cuCtxDetach is not supported (called by ");
	assert_non_null(line);
	assert_non_null(strstr(line, "test_api"));
	assert_null(strstr(line + 1, "cuCtxDetach"));
}

static void assert_proc(const char *name, int version, bool per_thread, void (*function)(void))
{
	enum api_proc_result result;
	const struct api_proc *proc = api_find_proc(name, version, per_thread, &result);
	assert_non_null(proc);
	assert_int_equal(result, API_PROC_FOUND);
	assert_true(proc->function == function);
}

static void procs_by_version(void **state)
{
	(void)state;
#define FUNCTION(name) ((void (*)(void))(name))
	assert_proc("cuMemAlloc", 13000, false, FUNCTION(cuMemAlloc_v2));
	assert_proc("cuMemAlloc", 3010, false, FUNCTION(cuMemAlloc));
	assert_proc("cuMemAlloc", 13000, true, FUNCTION(cuMemAlloc_v2));
	assert_proc("cuMemcpyHtoD", 6050, true, FUNCTION(cuMemcpyHtoD_v2)); /* _ptds came with 7.0 */
	assert_proc("cuMemcpyHtoD", 7000, true, FUNCTION(cuMemcpyHtoD_v2_ptds));
	assert_proc("cuMemcpyHtoD", 7000, false, FUNCTION(cuMemcpyHtoD_v2));
	assert_proc("cuStreamBeginCapture", 10000, false, FUNCTION(cuStreamBeginCapture));
	assert_proc("cuStreamBeginCapture", 10010, false, FUNCTION(cuStreamBeginCapture_v2));
	assert_proc("cuStreamGetCaptureInfo", 12020, true, FUNCTION(cuStreamGetCaptureInfo_v2_ptsz));
	assert_proc("cuStreamGetCaptureInfo", 12030, true, FUNCTION(cuStreamGetCaptureInfo_v3_ptsz));
	assert_proc("cuCtxCreate", 11030, false, FUNCTION(cuCtxCreate_v2));
	assert_proc("cuCtxCreate", 11040, false, FUNCTION(cuCtxCreate_v3));
	assert_proc("cuCtxCreate", 12050, false, FUNCTION(cuCtxCreate_v4));
	assert_proc("cuGraphInstantiate", 11040, false, FUNCTION(cuGraphInstantiate_v2));
	assert_proc("cuGraphInstantiate", 12000, false, FUNCTION(cuGraphInstantiateWithFlags));
	assert_proc("cuGetProcAddress", 12000, false, FUNCTION(cuGetProcAddress_v2));
	assert_proc("cuMemAlloc_v2", 13000, false, FUNCTION(cuMemAlloc_v2));

	enum api_proc_result result;
	assert_null(api_find_proc("cuLibraryLoadData", 11080, false, &result));
	assert_int_equal(result, API_PROC_VERSION_TOO_OLD);
	assert_null(api_find_proc("cuNoSuchFunction", 13000, false, &result));
	assert_int_equal(result, API_PROC_NOT_FOUND);
	assert_null(api_find_proc("", 13000, false, NULL));
}

/* A program of its own: counters are written when it ends. */
static void counters_at_exit(void **state)
{
	(void)state;
	char text[4096] = "";
	char path[] = "/tmp/dragoman-test-counters-XXXXXX";
	close(mkstemp(path));
	pid_t child = fork();
	if (!child) {
		setenv("DRAGOMAN_COUNTERS", path, 1);
		execl("/proc/self/exe", "test_api", "count", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof text - 1, file) > 0);
	fclose(file);
	unlink(path);
	assert_string_equal(text, "         3  cuStreamSynchronize\n"
				  "         1  cuCtxDetach\n" /* as often: in the order of spec/ */
				  "         1  cuMemcpy2D_v2\n");
}

static int make_calls(void)
{
	CUDA_MEMCPY2D copy = { 0 };
	for (int i = 0; i < 3; i++)
		cuStreamSynchronize(NULL);
	cuCtxDetach(NULL);
	return (int)cuMemcpy2D_v2(&copy);
}

static void statuses(void **state)
{
	(void)state;
	assert_string_equal(api_status_find(0)->runtime_name, "cudaSuccess");
	assert_string_equal(api_status_find(700)->text, "an illegal memory access was encountered");
	assert_string_equal(api_status_find(999)->driver_name, "CUDA_ERROR_UNKNOWN");
	assert_null(api_status_find(9)->driver_name);
	assert_null(api_status_find(10));
	assert_null(api_status_find(-1));
	assert_null(api_status_find(10001));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return make_calls();
	if (!getenv("DRAGOMAN_TRACE")) { /* read before main() begins: once more, from the start */
		close(mkstemp(trace_path));
		setenv("DRAGOMAN_TRACE", trace_path, 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace_shows_values),    cmocka_unit_test(trace_survives_wild_pointers),
		cmocka_unit_test(streams_of_the_thread), cmocka_unit_test(missing_is_named_once),
		cmocka_unit_test(procs_by_version),      cmocka_unit_test(statuses),
		cmocka_unit_test(counters_at_exit),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(getenv("DRAGOMAN_TRACE"));
	return failed;
}
