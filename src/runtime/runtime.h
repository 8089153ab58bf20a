/* What the parts of libcudart share. The runtime is thin: it keeps what the driver API has no notion of (a current
 * device and a last error a thread, kernels and variables named by host addresses, launches in two steps) and turns
 * everything else into driver calls. CUDA Runtime API reference manual; CUDA C++ Programming Guide, "CUDA Runtime".
 *
 *     thread.c    the calling thread: its device, its context, its last error      error.c      names of errors
 *     register.c  the program's device code: kernels and variables                 launch.c     launches
 *     device.c    devices                properties.c   cudaDeviceProp             function.c   kernels' attributes
 *     memory.c    allocations            copy.c         copies                     array.c      arrays
 *     copy_peer.c copies between devices and in batches, sets
 *     symbol.c    variables              pool.c         stream-ordered memory      managed.c    managed memory
 *     stream.c    streams                event.c        events                     capture.c    stream capture
 *     graph.c     graphs                 graph_node.c   their nodes                graph_exec.c executable graphs
 *     texture.c   textures, surfaces     reference.c    references to them         ipc.c        other processes
 *     library.c   libraries
 *     v12.c       what CUDA 12 had otherwise
 *
 * The sources are compiled once for each DRAGOMAN_CUDART_MAJOR, 13 and 12. Where a function takes a stream, the entry has
 * already put the thread's own in the place of stream 0 for the _ptsz variants (src/api/api.h). */
#ifndef DRAGOMAN_RUNTIME_H
#define DRAGOMAN_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL /* every version of a driver function under its own name */
#endif
#include "cuda.h"

#include "api/api.h"
#include "api/cudart_impl.h"
#include "base/base.h"

#if DRAGOMAN_CUDART_MAJOR == 13
#define RUNTIME_VERSION 13000
#elif DRAGOMAN_CUDART_MAJOR == 12
#define RUNTIME_VERSION 12090
#else
#error "DRAGOMAN_CUDART_MAJOR must be 12 or 13"
#endif

/* ---- the calling thread ------------------------------------------------------------------------------------------- */

enum { CALL_CONFIGURATIONS = 16 }; /* pushed and not yet popped: launches in the arguments of launches */

struct call_configuration {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
};

struct runtime_thread {
	cudaError_t last_error;
	int device;           /* as chosen by cudaSetDevice(); counts while no context is current */
	unsigned epoch;       /* runtime_epoch when a context was last made current here */
	cudaError_t entry;    /* what runtime_enter() came to */
	int configuration_count;
	struct call_configuration configuration; /* the first one; launch.c has the others */
};
extern _Thread_local struct runtime_thread runtime_thread STATIC_TLS;

/* Makes a context current, initialising the driver first if need be. False: runtime_thread.entry says why. */
bool runtime_enter(void);
/* Initialises the driver, without a context. */
cudaError_t runtime_initialize(void);
/* Result codes of the two APIs have the same numbers. Failures become the thread's last error. */
cudaError_t runtime_result(int result);
/* The primary context of a device, which stays retained until cudaDeviceReset(). */
CUresult runtime_primary(int device, CUcontext *context);
/* The number of the calling thread's device. */
int runtime_device(void);

/* The usual body of a runtime function: a driver call with a context, its result remembered. */
#define RUNTIME(call) runtime_result(runtime_enter() ? (int)(call) : (int)runtime_thread.entry)
#define RUNTIME_REQUIRE()                                                                                              \
	do {                                                                                                           \
		if (!runtime_enter())                                                                                  \
			return runtime_result(runtime_thread.entry);                                                   \
	} while (0)

/* A failure of the runtime's own: logged, remembered, returned. */
cudaError_t runtime_fail(cudaError_t error, const char *format, ...) PRINTF_LIKE(2, 3);

/* The stream that functions without a stream parameter use: the _ptds variants mean the thread's own. */
static inline cudaStream_t runtime_default_stream(void)
{
	return api_per_thread_stream() ? cudaStreamPerThread : NULL;
}

static inline CUdeviceptr device_pointer(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

static inline void *host_pointer(CUdeviceptr pointer)
{
	return (void *)(uintptr_t)pointer;
}

/* ---- the program's device code -------------------------------------------------------------------------------------- */

struct registered_module;

struct registered_kernel {
	const void *host; /* address of the host stub */
	const char *name;
	struct registered_module *module;
	struct registered_kernel *next;
	_Atomic(CUkernel) kernel; /* once asked for */
};

struct registered_variable {
	const void *host;
	const char *name;
	size_t size;
	bool constant, managed;
	void **managed_pointer; /* the program's pointer to a managed variable, filled in on loading */
	const void *place;      /* and what it then says */
	struct registered_module *module;
	struct registered_variable *next;
};

struct registered_reference { /* to a texture or a surface */
	const void *host; /* the program's textureReference or surfaceReference */
	const char *name;
	bool surface, normalized_read;
	size_t offset; /* of the memory that it is bound to, after the texture's beginning */
	struct registered_module *module;
	struct registered_reference *next;
};

/* The kernel behind a host address; cudaErrorInvalidDeviceFunction where it is none. Not remembered as last error. */
cudaError_t register_kernel_handle(struct registered_kernel *kernel, CUkernel *handle);
/* What a program passes for `func`: a host stub, or a handle that the driver knows (cudaKernel_t, cudaFunction_t). */
cudaError_t register_find_function(const void *function, CUfunction *handle);
/* The host address that names a kernel, or the handle itself where the program did not register it. */
const void *register_host_address(CUkernel kernel);
/* The variable behind a host address in the current context; cudaErrorInvalidSymbol where it is none. */
cudaError_t register_find_variable(const void *symbol, CUdeviceptr *address, size_t *size);
/* The reference behind a host address, and the module that has it in the current context; cudaErrorInvalidTexture or
 * cudaErrorInvalidSurface where it is none. */
cudaError_t register_find_reference(const void *host, bool surface, struct registered_reference **reference, CUmodule *module);

/* ---- shared conversions ------------------------------------------------------------------------------------------------ */

/* A copy in the driver's terms, and back; extents of arrays are in elements in the runtime's. */
cudaError_t copy_to_driver(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *copy);
cudaError_t copy_from_driver(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *parameters);
/* A copy of bytes from address to address, in the driver's terms. */
cudaError_t copy_linear(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy);
/* Issues the copy on a stream. `wait`: the call returns when a program may rely on it being done. */
CUresult copy_issue(const CUDA_MEMCPY3D *copy, cudaStream_t stream, bool wait);
/* A copy of bytes: cudaMemcpy() and its like. Not remembered as last error. */
cudaError_t copy_bytes(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream, bool wait);

cudaError_t array_format_to_driver(const struct cudaChannelFormatDesc *desc, CUarray_format *format, unsigned *channels);
struct cudaChannelFormatDesc array_format_from_driver(CUarray_format format, unsigned channels);
/* Bytes of one element (block, for compressed formats) of an array. */
cudaError_t array_element_size(CUarray array, size_t *size);

/* The bytes [offset, offset + count) of a variable. */
cudaError_t symbol_range(const void *symbol, size_t offset, size_t count, void **address);
CUlaunchConfig launch_config_to_driver(const cudaLaunchConfig_t *config);

#endif
