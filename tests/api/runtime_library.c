/* Device code that the program loads itself, driver functions by name, the error log, profiling, managed variables, and what
 * programs of CUDA 11 and before call: launches in three steps, texture and surface references. Expectations: CUDA Runtime API
 * reference manual, "Library Management", "Driver Entry Point Access", "Error Log Management"; of release 8.0 and 11.8 for the rest.
 * For libcudart.so.13 and libcudart.so.12. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <unistd.h>

#include "check.h"
#include "device_code.h"

/* What headers of today do not have. */
struct old_texture {
	int normalized;
	enum cudaTextureFilterMode filter;
	enum cudaTextureAddressMode address[3];
	struct cudaChannelFormatDesc desc;
	int rest[22];
};
struct old_surface {
	struct cudaChannelFormatDesc desc;
};
void __cudaRegisterTexture(void **code, const void *host, const void **device, const char *name, int dimensions, int normalized,
			   int external);
void __cudaRegisterSurface(void **code, const void *host, const void **device, const char *name, int dimensions, int external);
cudaError_t cudaBindTexture(size_t *offset, const void *texture, const void *memory, const struct cudaChannelFormatDesc *desc,
			    size_t size);
cudaError_t cudaBindTexture2D(size_t *offset, const void *texture, const void *memory, const struct cudaChannelFormatDesc *desc,
			      size_t width, size_t height, size_t pitch);
cudaError_t cudaBindTextureToArray(const void *texture, cudaArray_const_t array, const struct cudaChannelFormatDesc *desc);
cudaError_t cudaBindTextureToMipmappedArray(const void *texture, cudaMipmappedArray_const_t array,
					    const struct cudaChannelFormatDesc *desc);
cudaError_t cudaUnbindTexture(const void *texture);
cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const void *texture);
cudaError_t cudaGetTextureReference(const void **texture, const void *symbol);
cudaError_t cudaBindSurfaceToArray(const void *surface, cudaArray_const_t array, const struct cudaChannelFormatDesc *desc);
cudaError_t cudaGetSurfaceReference(const void **surface, const void *symbol);
cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t cudaSetupArgument(const void *argument, size_t size, size_t offset);
cudaError_t cudaLaunch(const void *function);
cudaError_t cudaLaunch_ptsz(const void *function);
cudaError_t cudaCreateTextureObject_v2(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
				       const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view);
cudaError_t cudaGetTextureObjectTextureDesc_v2(struct cudaTextureDesc *texture, cudaTextureObject_t object);
cudaError_t cudaProfilerInitialize(const char *configuration, const char *output, int mode);
cudaError_t cudaLaunchCooperativeKernelMultiDevice(void *launches, unsigned count, unsigned flags);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".visible .global .attribute(.managed) .align 4 .u32 shared_counter;\n"
	".visible .global .texref picture;\n"
	".visible .global .surfref canvas;\n"
	/* *p = a + 2 * b */
	".visible .entry store(.param .u64 p, .param .u32 a, .param .u32 b)\n{\n"
	"  .reg .b32 %r<3>; .reg .b64 %d;\n"
	"  ld.param.u64 %d, [p]; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; cvta.to.global.u64 %d, %d;\n"
	"  mad.lo.u32 %r1, %r2, 2, %r1; st.global.u32 [%d], %r1; ret;\n}\n"
	".visible .entry count()\n{\n  .reg .b32 %r; atom.global.add.u32 %r, [counter], 1; ret;\n}\n"
	/* out[i] = picture(i), for 1D memory; out[i] = picture(i, 1) as floats */
	".visible .entry read_line(.param .u64 out)\n{\n"
	"  .reg .b32 %r<6>; .reg .b64 %d<3>;\n"
	"  mov.u32 %r1, %tid.x; tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [picture, {%r1}];\n"
	"  ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
	"  st.global.u32 [%d1], %r2; ret;\n}\n"
	".visible .entry read_row(.param .u64 out)\n{\n"
	"  .reg .b32 %r<3>; .reg .f32 %f<7>; .reg .b64 %d<3>;\n"
	"  mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f5, %r1; add.f32 %f5, %f5, 0f3F000000; mov.f32 %f6, 0f3FC00000;\n"
	"  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [picture, {%f5, %f6}];\n"
	"  ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
	"  st.global.f32 [%d1], %f1; ret;\n}\n"
	/* canvas(i) = 100 + i */
	".visible .entry draw()\n{\n"
	"  .reg .b32 %r<4>; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; add.u32 %r3, %r1, 100;\n"
	"  sust.b.1d.b32.trap [canvas, {%r2}], {%r3}; ret;\n}\n";

static char store[1], count[1], read_line[1], read_row[1], draw[1];
static unsigned counter, *shared_counter;
static struct old_texture picture;
static struct old_surface canvas;
static void **code;
static const dim3 one = { 1, 1, 1 };

static void register_code(void)
{
	code = __cudaRegisterFatBinary(device_code_wrap(ptx));
	__cudaRegisterFunction(code, store, (char *)"store", "store", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, count, (char *)"count", "count", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, read_line, (char *)"read_line", "read_line", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, read_row, (char *)"read_row", "read_row", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, draw, (char *)"draw", "draw", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(code, (char *)&counter, (char *)"counter", "counter", 0, 4, 0, 0);
	__cudaRegisterManagedVar(code, (void **)&shared_counter, (char *)"shared_counter", "shared_counter", 0, 4, 0, 0);
	__cudaRegisterTexture(code, &picture, NULL, "picture", 1, 0, 0);
	__cudaRegisterSurface(code, &canvas, NULL, "canvas", 1, 0);
	__cudaRegisterUnifiedTable(code, NULL, 0, NULL, 0);
	__cudaRegisterFatBinaryEnd(code);
}

static unsigned counted(void)
{
	unsigned value = 0;
	CHECK_OK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
	return value;
}

/* ---- libraries --------------------------------------------------------------------------------------------------------------- */

static void test_library(void)
{
	char path[] = "/tmp/dragoman-ptx-XXXXXX";
	cudaLibrary_t library, second;
	cudaKernel_t kernel, kernels[8] = { NULL };
	unsigned n = 0, value = 0;
	void *address = NULL;
	size_t bytes = 0;
	CHECK_OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cudaLibraryGetKernelCount(&n, library));
	CHECK_INT(n, 5);
	CHECK_OK(cudaLibraryEnumerateKernels(kernels, 8, library));
	CHECK(kernels[4] != NULL && kernels[5] == NULL);
	CHECK_OK(cudaLibraryGetKernel(&kernel, library, "count"));
	CHECK_OK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000, 0));
	struct cudaFuncAttributes attributes;
	CHECK_OK(cudaFuncGetAttributes(&attributes, (const void *)kernel));
	CHECK_INT(attributes.maxDynamicSharedSizeBytes, 50000);
	CHECK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000, 99) != cudaSuccess);
	CHECK_OK(cudaLaunchKernel((const void *)kernel, one, (dim3){ 7, 1, 1 }, NULL, 0, NULL));
	CHECK_OK(cudaLibraryGetGlobal(&address, &bytes, library, "counter"));
	CHECK_INT(bytes, 4);
	CHECK_OK(cudaMemcpy(&value, address, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(value, 12); /* 5 and 7 */
	CHECK(cudaLibraryGetGlobal(&address, &bytes, library, "nothing") != cudaSuccess);
	CHECK(cudaLibraryGetKernel(&kernel, library, "nothing") != cudaSuccess);
	CHECK(cudaLibraryGetManaged(&address, &bytes, library, "counter") != cudaSuccess); /* not a managed one */
	void *function = NULL;
	CHECK(cudaLibraryGetUnifiedFunction(&function, library, "store") != cudaSuccess); /* the device has none */

	int file = mkstemp(path);
	CHECK(file >= 0 && write(file, ptx, sizeof ptx - 1) == sizeof ptx - 1);
	close(file);
	CHECK_OK(cudaLibraryLoadFromFile(&second, path, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cudaLibraryGetGlobal(&address, &bytes, second, "counter"));
	CHECK_OK(cudaMemcpy(&value, address, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(value, 5); /* its own */
	CHECK_OK(cudaLibraryUnload(second));
	unlink(path);
	CHECK_INT(cudaLibraryLoadFromFile(&second, path, NULL, NULL, 0, NULL, NULL, 0), cudaErrorFileNotFound);
	CHECK_INT(cudaLibraryGetKernelCount(NULL, library), cudaErrorInvalidValue);
	CHECK_INT(cudaLibraryEnumerateKernels(NULL, 3, library), cudaErrorInvalidValue);
	CHECK_OK(cudaLibraryUnload(library));
	CHECK_INT(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
}

static void test_functions(void)
{
	cudaFunction_t function = NULL;
	const char *name = NULL;
	CHECK_OK(cudaGetFuncBySymbol(&function, count));
	CHECK(function != NULL);
	CHECK_OK(cudaFuncGetName(&name, (const void *)function));
	CHECK_TEXT(name, "count");
	unsigned before = counted();
	CHECK_OK(cudaLaunchKernel((const void *)function, one, one, NULL, 0, NULL));
	CHECK_INT(counted(), before + 1);
	CHECK_INT(cudaGetFuncBySymbol(&function, &before), cudaErrorInvalidDeviceFunction);
	CHECK_INT(cudaGetFuncBySymbol(NULL, count), cudaErrorInvalidValue);
	CHECK_OK(cudaFuncSetSharedMemConfig(count, cudaSharedMemBankSizeEightByte));
	CHECK_INT(cudaFuncSetSharedMemConfig(count, (enum cudaSharedMemConfig)9), cudaErrorInvalidValue);
	int blocks = 0, clusters = -1, size = -1;
	CHECK_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, count, 256, 0, cudaOccupancyDisableCachingOverride));
	CHECK_INT(blocks, 2048 / 256);
	CHECK_INT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, count, 256, 0, 0x10), cudaErrorInvalidValue);
	cudaLaunchConfig_t config = { .gridDim = { 4, 1, 1 }, .blockDim = { 64, 1, 1 } };
	int capable = 0;
	CHECK_OK(cudaDeviceGetAttribute(&capable, cudaDevAttrClusterLaunch, 0));
	cudaError_t error = cudaOccupancyMaxPotentialClusterSize(&size, count, &config), second;
	second = cudaOccupancyMaxActiveClusters(&clusters, count, &config);
	CHECK(capable ? !error && size >= 8 : error || size >= 1);
	CHECK(capable ? !second && clusters >= 1 : second || clusters >= 0);
	cudaGetLastError();
}

/* The table of a name that no one has. */
static void test_entry_points(void)
{
	typedef int (*version_function)(int *);
	enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
	version_function get = NULL;
	int driver = 0, version = 0;
	CHECK_OK(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", (void **)&get, 12000, cudaEnableDefault, &status));
	CHECK_INT(status, cudaDriverEntryPointSuccess);
	CHECK(get && get(&version) == 0);
	CHECK_OK(cudaDriverGetVersion(&driver));
	CHECK_INT(version, driver);
	CHECK_OK(cudaGetDriverEntryPoint("cuNothingOfTheKind", (void **)&get, cudaEnableDefault, &status));
	CHECK_INT(status, cudaDriverEntryPointSymbolNotFound);
	CHECK_OK(cudaGetDriverEntryPointByVersion("cuGraphAddNode", (void **)&get, 11000, cudaEnableDefault, &status));
	CHECK_INT(status, cudaDriverEntryPointVersionNotSufficent); /* as CUDA spells it */
	/* Both forms with a stream of the thread's own. */
	void *plain = NULL, *own = NULL, *own_too = NULL;
	CHECK_OK(cudaGetDriverEntryPointByVersion("cuStreamQuery", &plain, 12000, cudaEnableLegacyStream, &status));
	CHECK_OK(cudaGetDriverEntryPointByVersion("cuStreamQuery", &own, 12000, cudaEnablePerThreadDefaultStream, &status));
	CHECK_OK(cudaGetDriverEntryPointByVersion_ptsz("cuStreamQuery", &own_too, 12000, cudaEnableDefault, &status));
	CHECK(plain && own && plain != own && own == own_too);
	CHECK_OK(cudaGetDriverEntryPoint_ptsz("cuStreamQuery", &own_too, cudaEnableDefault, &status));
	CHECK(own == own_too);
	CHECK_INT(cudaGetDriverEntryPointByVersion(NULL, &plain, 12000, 0, &status), cudaErrorInvalidValue);
	const void *table = NULL;
	cudaUUID_t id;
	memset(&id, 7, sizeof id);
	CHECK_INT(cudaGetExportTable(&table, &id), cudaErrorInvalidValue);
	CHECK_INT(cudaGetExportTable(NULL, NULL), cudaErrorInvalidValue);
	CHECK(__cudaGetProcAddress() == NULL); /* for Windows alone */
	cudaGetLastError();
}

/* ---- the log ------------------------------------------------------------------------------------------------------------------- */

static int heard;

static void CUDART_CB hear(void *place, cudaLogLevel level, char *message, size_t length)
{
	(void)level, (void)message;
	*(int *)place += length > 0;
}

static void test_logs(void)
{
	cudaLogsCallbackHandle handle;
	cudaLogIterator here, later;
	char text[4096] = "x", path[] = "/tmp/dragoman-log-XXXXXX";
	size_t size = sizeof text;
	CHECK_OK(cudaLogsRegisterCallback(hear, &heard, &handle));
	CHECK_OK(cudaLogsCurrent(&here, 0));
	CHECK_INT(cudaFree((void *)0x1234), cudaErrorInvalidValue); /* which calls leave a line is the driver's affair */
	CHECK_OK(cudaLogsCurrent(&later, 0));
	CHECK(later - here >= (unsigned)heard);
	CHECK_OK(cudaLogsDumpToMemory(&here, text, &size, 0));
	CHECK_INT(size, strlen(text));
	CHECK_INT(here, later);
	int file = mkstemp(path), before = heard;
	CHECK(file >= 0);
	close(file);
	unlink(path);
	CHECK_OK(cudaLogsDumpToFile(NULL, path, 0));
	CHECK(access(path, R_OK) == 0);
	unlink(path);
	CHECK_OK(cudaLogsUnregisterCallback(handle));
	CHECK_INT(cudaFree((void *)0x1234), cudaErrorInvalidValue);
	CHECK_INT(heard, before);
	CHECK(cudaLogsUnregisterCallback(handle) != cudaSuccess);
	CHECK_INT(cudaLogsRegisterCallback(NULL, NULL, &handle), cudaErrorInvalidValue);
	CHECK_INT(cudaLogsCurrent(NULL, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaLogsDumpToMemory(&here, NULL, &size, 0), cudaErrorInvalidValue);
	CHECK(cudaLogsDumpToFile(NULL, "/nowhere/at/all", 0) != cudaSuccess);
	cudaGetLastError();
}

static void test_profiler(void)
{
	CHECK_OK(cudaProfilerStart());
	CHECK_OK(cudaProfilerStop());
	CHECK(cudaProfilerInitialize("configuration", "output", 0) != (cudaError_t)-1);
	cudaGetLastError();
	CHECK_OK(cudaDeviceSynchronize());
}

/* ---- managed variables ------------------------------------------------------------------------------------------------------------ */

static void test_managed_variable(void)
{
	struct cudaPointerAttributes attributes;
	void *address = NULL;
	unsigned value = 0;
	size_t size = 0;
	CHECK(__cudaInitModule(code) != 0);
	CHECK(shared_counter != NULL);
	*shared_counter = 41;
	CHECK_OK(cudaGetSymbolAddress(&address, shared_counter)); /* found by where it lies */
	CHECK(address == shared_counter);
	CHECK_OK(cudaGetSymbolSize(&size, shared_counter));
	CHECK_INT(size, 4);
	CHECK_OK(cudaPointerGetAttributes(&attributes, shared_counter));
	CHECK_INT(attributes.type, cudaMemoryTypeManaged);
	CHECK_OK(cudaMemcpy(&value, shared_counter, 4, cudaMemcpyDefault));
	CHECK_INT(value, 41);
	CHECK_INT(__cudaInitModule(NULL), 0);
}

/* ---- launches in three steps ----------------------------------------------------------------------------------------------------------- */

static void test_old_launch(void)
{
	unsigned *memory, value, two = 2, three = 3;
	CHECK_OK(cudaMalloc((void **)&memory, 64));
	CHECK_OK(cudaConfigureCall(one, one, 0, NULL));
	CHECK_OK(cudaSetupArgument(&memory, 8, 0));
	CHECK_OK(cudaSetupArgument(&two, 4, 8));
	CHECK_OK(cudaSetupArgument(&three, 4, 12));
	CHECK_OK(cudaLaunch(store));
	CHECK_OK(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(value, 2 + 2 * 3);
	unsigned before = counted();
	CHECK_OK(cudaConfigureCall(one, (dim3){ 5, 1, 1 }, 0, NULL));
	CHECK_OK(cudaLaunch_ptsz(count)); /* no arguments */
	CHECK_OK(cudaDeviceSynchronize());
	CHECK_INT(counted(), before + 5);
	CHECK_INT(cudaLaunch(count), cudaErrorMissingConfiguration);
	CHECK_INT(cudaSetupArgument(&two, 4, 0), cudaErrorMissingConfiguration);
	CHECK_OK(cudaConfigureCall(one, one, 0, NULL));
	CHECK_INT(cudaSetupArgument(&two, 4, 4094), cudaErrorInvalidValue);
	CHECK_INT(cudaSetupArgument(NULL, 4, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaLaunch(&before), cudaErrorInvalidDeviceFunction);
	CHECK_OK(cudaConfigureCall(one, (dim3){ 2000, 1, 1 }, 0, NULL));
	CHECK_INT(cudaLaunch(count), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidConfiguration);
	CHECK_OK(cudaFree(memory));
}

/* One launch on each of a list of devices: here, on the one. */
static void test_many_devices(void)
{
	struct {
		void *function;
		dim3 grid, block;
		void **arguments;
		size_t shared;
		cudaStream_t stream;
	} launch = { count, one, { 3, 1, 1 }, NULL, 0, NULL };
	unsigned before = counted();
	CHECK_OK(cudaStreamCreate(&launch.stream));
	CHECK_OK(cudaLaunchCooperativeKernelMultiDevice(&launch, 1, 0));
	CHECK_OK(cudaStreamSynchronize(launch.stream));
	CHECK_INT(counted(), before + 3);
	CHECK_INT(cudaLaunchCooperativeKernelMultiDevice(NULL, 1, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaLaunchCooperativeKernelMultiDevice(&launch, 0, 0), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaStreamDestroy(launch.stream));
}

/* ---- references ---------------------------------------------------------------------------------------------------------------------------- */

static void test_texture_reference(void)
{
	struct cudaChannelFormatDesc ints = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned),
				     floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	int in[256], out[8];
	float rows[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }, row[4];
	char *memory, *result;
	const void *found = NULL;
	size_t offset = 99, pitch;
	for (int i = 0; i < 256; i++)
		in[i] = 1000 + i;
	CHECK_OK(cudaMalloc((void **)&memory, sizeof in));
	CHECK_OK(cudaMalloc((void **)&result, 64));
	CHECK_OK(cudaMemcpy(memory, in, sizeof in, cudaMemcpyHostToDevice));
	void *arguments[] = { &result };
	CHECK_OK(cudaGetTextureReference(&found, &picture));
	CHECK(found == &picture);
	CHECK_INT(cudaGetTextureAlignmentOffset(&offset, &picture), cudaErrorInvalidTextureBinding);
	CHECK_OK(cudaBindTexture(&offset, &picture, memory, &ints, 0xffffffffu));
	CHECK_INT(offset, 0);
	CHECK_OK(cudaLaunchKernel(read_line, one, (dim3){ 8, 1, 1 }, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 8; i++)
		CHECK_INT(out[i], 1000 + i);
	/* Memory in the middle: the texture begins before it, and says by how much. */
	CHECK_OK(cudaBindTexture(&offset, &picture, memory + 520, &ints, 64));
	CHECK_INT(offset, 8);
	CHECK_OK(cudaGetTextureAlignmentOffset(&offset, &picture));
	CHECK_INT(offset, 8);
	CHECK_OK(cudaLaunchKernel(read_line, one, (dim3){ 8, 1, 1 }, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost));
	CHECK_INT(out[2], 1000 + 520 / 4);
	CHECK_INT(cudaBindTexture(NULL, &picture, memory + 520, &ints, 64), cudaErrorInvalidValue);
	CHECK_INT(cudaBindTexture(&offset, &picture, &offset, &ints, 64), cudaErrorInvalidValue); /* no device memory */
	CHECK_INT(cudaBindTexture(&offset, &in, memory, &ints, 64), cudaErrorInvalidTexture);
	CHECK_INT(cudaBindTexture(&offset, &picture, memory, NULL, 64), cudaErrorInvalidValue);

	CHECK_OK(cudaMallocPitch((void **)&memory, &pitch, sizeof rows[0], 2));
	CHECK_OK(cudaMemcpy2D(memory, pitch, rows, sizeof rows[0], sizeof rows[0], 2, cudaMemcpyHostToDevice));
	picture.address[0] = picture.address[1] = cudaAddressModeClamp;
	CHECK_OK(cudaBindTexture2D(&offset, &picture, memory, &floats, 4, 2, pitch));
	CHECK_INT(offset, 0);
	CHECK_OK(cudaLaunchKernel(read_row, one, (dim3){ 4, 1, 1 }, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(row, result, sizeof row, cudaMemcpyDeviceToHost));
	CHECK(row[0] == 5.0f && row[3] == 8.0f);

	cudaArray_t array, level;
	cudaMipmappedArray_t mipmap;
	CHECK_OK(cudaMallocArray(&array, &floats, 4, 2, 0));
	CHECK_OK(cudaMemcpy2DToArray(array, 0, 0, rows, sizeof rows[0], sizeof rows[0], 2, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemset2D(memory, pitch, 0, sizeof rows[0], 2));
	CHECK_OK(cudaBindTextureToArray(&picture, array, &floats));
	CHECK_OK(cudaLaunchKernel(read_row, one, (dim3){ 4, 1, 1 }, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(row, result, sizeof row, cudaMemcpyDeviceToHost));
	CHECK(row[1] == 6.0f && row[2] == 7.0f);
	CHECK_OK(cudaGetTextureAlignmentOffset(&offset, &picture));
	CHECK_INT(offset, 0);
	CHECK_OK(cudaMallocMipmappedArray(&mipmap, &floats, (struct cudaExtent){ 4, 2, 0 }, 1, 0));
	CHECK_OK(cudaGetMipmappedArrayLevel(&level, mipmap, 0));
	rows[1][2] = 50;
	picture.normalized = 1; /* as mipmapped arrays ask for: coordinates 0.5, then beyond 1 */
	CHECK_OK(cudaMemcpy2DToArray(level, 0, 0, rows, sizeof rows[0], sizeof rows[0], 2, cudaMemcpyHostToDevice));
	CHECK_OK(cudaBindTextureToMipmappedArray(&picture, mipmap, &floats));
	CHECK_OK(cudaLaunchKernel(read_row, one, (dim3){ 4, 1, 1 }, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(row, result, sizeof row, cudaMemcpyDeviceToHost));
	CHECK(row[0] == 50.0f && row[1] == 8.0f);
	CHECK_OK(cudaUnbindTexture(&picture));
	CHECK_INT(cudaUnbindTexture(&in), cudaErrorInvalidTexture);
	CHECK_INT(cudaBindTextureToArray(&picture, NULL, &floats), cudaErrorInvalidValue);
	CHECK_INT(cudaBindTextureToMipmappedArray(&picture, NULL, &floats), cudaErrorInvalidValue);
	CHECK_INT(cudaGetTextureReference(&found, &in), cudaErrorInvalidTexture);
	cudaGetLastError();
	CHECK_OK(cudaFreeMipmappedArray(mipmap));
	CHECK_OK(cudaFreeArray(array));
	CHECK_OK(cudaFree(memory));
	CHECK_OK(cudaFree(result));
}

static void test_surface_reference(void)
{
	struct cudaChannelFormatDesc ints = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
	cudaArray_t array;
	const void *found = NULL;
	int out[8] = { 0 };
	CHECK_OK(cudaMallocArray(&array, &ints, 8, 0, cudaArraySurfaceLoadStore));
	CHECK_OK(cudaBindSurfaceToArray(&canvas, array, &ints));
	CHECK_OK(cudaLaunchKernel(draw, one, (dim3){ 8, 1, 1 }, NULL, 0, NULL));
	CHECK_OK(cudaMemcpy2DFromArray(out, 32, array, 0, 0, 32, 1, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 8; i++)
		CHECK_INT(out[i], 100 + i);
	CHECK_OK(cudaGetSurfaceReference(&found, &canvas));
	CHECK(found == &canvas);
	CHECK_INT(cudaGetSurfaceReference(&found, &picture), cudaErrorInvalidSurface);
	CHECK_INT(cudaBindSurfaceToArray(&canvas, NULL, &ints), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFreeArray(array));
}

/* Texture objects by the names that CUDA 11.8 had for them. */
static void test_texture_object(void)
{
	struct cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	struct cudaResourceDesc resource = { .resType = cudaResourceTypeArray };
	struct cudaTextureDesc texture = { .addressMode = { cudaAddressModeWrap }, .normalizedCoords = 1 }, found;
	struct cudaResourceViewDesc view = { .format = cudaResViewFormatFloat1, .width = 4, .height = 4 }, found_view;
	cudaTextureObject_t object;
	CHECK_OK(cudaMallocArray(&resource.res.array.array, &floats, 4, 4, 0));
	CHECK_OK(cudaCreateTextureObject_v2(&object, &resource, &texture, &view));
	CHECK_OK(cudaGetTextureObjectTextureDesc_v2(&found, object));
	CHECK_INT(found.addressMode[0], cudaAddressModeWrap);
	CHECK_INT(found.normalizedCoords, 1);
	CHECK_OK(cudaGetTextureObjectResourceViewDesc(&found_view, object));
	CHECK_INT(found_view.format, cudaResViewFormatFloat1);
	CHECK_INT(found_view.width, 4);
	CHECK_INT(cudaGetTextureObjectResourceViewDesc(NULL, object), cudaErrorInvalidValue);
	CHECK_OK(cudaDestroyTextureObject(object));
	CHECK_OK(cudaCreateTextureObject(&object, &resource, &texture, NULL));
	CHECK(cudaGetTextureObjectResourceViewDesc(&found_view, object) != cudaSuccess); /* it has none */
	CHECK_OK(cudaDestroyTextureObject(object));
	cudaGetLastError();
	CHECK_OK(cudaFreeArray(resource.res.array.array));
}

int main(void)
{
	register_code();
	test_library();
	test_functions();
	test_entry_points();
	test_logs();
	test_profiler();
	test_managed_variable();
	test_old_launch();
	test_many_devices();
	test_texture_reference();
	test_surface_reference();
	test_texture_object();
	__cudaUnregisterFatBinary(code);
	return check_end();
}
