/* The program's device code. Before main(), code that the CUDA compilers generate hands over each translation unit's fat
 * binary and says which host address stands for which kernel or variable; the fat binary itself is opened when one of
 * them is first used. The functions are those of no manual: facts from the code that nvcc and clang emit. */
#include "runtime.h"

#include <stdlib.h>

struct registered_module {
	const void *wrapper;
	pthread_mutex_t lock; /* loading */
	_Atomic bool loaded;
	cudaError_t failure;  /* of loading; final */
	CUlibrary library;
	struct registered_kernel *kernels;
	struct registered_variable *variables;
	struct registered_reference *references;
};

/* Both maps go from the eight bytes of a host address, which lie in the entries. */
static pthread_rwlock_t maps_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct map kernel_map, variable_map;
static struct map managed_map; /* by the place of the managed variable, once it has one */
static struct map reference_map;
static struct map handle_map; /* CUkernel -> struct registered_kernel, for cudaGraphKernelNodeGetParams() */

static void *map_find_address(const struct map *map, const void *address)
{
	pthread_rwlock_rdlock(&maps_lock);
	void *value = map_get_n(map, (const char *)&address, sizeof address);
	pthread_rwlock_unlock(&maps_lock);
	return value;
}

/* `address` must lie in the entry, and the lock be held for writing. */
static void map_add_address_locked(struct map *map, const void *const *address, void *entry)
{
	map_remove_n(map, (const char *)address, sizeof *address);
	map_put_n(map, (const char *)address, sizeof *address, entry);
}

static void map_remove_address_locked(struct map *map, const void *const *address, const void *entry)
{
	if (map_get_n(map, (const char *)address, sizeof *address) == entry)
		map_remove_n(map, (const char *)address, sizeof *address);
}

/* ---- loading ------------------------------------------------------------------------------------------------------------- */

static void module_place_managed(struct registered_module *module)
{
	for (struct registered_variable *variable = module->variables; variable; variable = variable->next) {
		CUdeviceptr address;
		size_t size;
		if (!variable->managed)
			continue;
		if (cuLibraryGetManaged(&address, &size, module->library, variable->name)) {
			log_error("the managed variable %s is not in its device code", variable->name);
			continue;
		}
		variable->place = host_pointer(address);
		*variable->managed_pointer = host_pointer(address);
		pthread_rwlock_wrlock(&maps_lock);
		map_add_address_locked(&managed_map, &variable->place, variable);
		pthread_rwlock_unlock(&maps_lock);
	}
}

static cudaError_t module_load(struct registered_module *module)
{
	if (atomic_load_explicit(&module->loaded, memory_order_acquire))
		return module->failure;
	pthread_mutex_lock(&module->lock);
	if (!atomic_load_explicit(&module->loaded, memory_order_relaxed)) {
		CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED; /* it is part of the program */
		void *value = (void *)1;
		module->failure = (cudaError_t)cuLibraryLoadData(&module->library, module->wrapper, NULL, NULL, 0, &option,
								 &value, 1);
		if (!module->failure)
			module_place_managed(module);
		atomic_store_explicit(&module->loaded, true, memory_order_release);
	}
	pthread_mutex_unlock(&module->lock);
	return module->failure;
}

cudaError_t register_kernel_handle(struct registered_kernel *kernel, CUkernel *handle)
{
	*handle = atomic_load_explicit(&kernel->kernel, memory_order_acquire);
	if (*handle)
		return cudaSuccess;
	cudaError_t error = module_load(kernel->module);
	if (error)
		return error;
	CUresult result = cuLibraryGetKernel(handle, kernel->module->library, kernel->name);
	if (result == CUDA_ERROR_NOT_FOUND)
		return cudaErrorInvalidDeviceFunction;
	if (result)
		return (cudaError_t)result;
	pthread_rwlock_wrlock(&maps_lock);
	if (!atomic_load(&kernel->kernel)) {
		atomic_store_explicit(&kernel->kernel, *handle, memory_order_release);
		map_add_address_locked(&handle_map, (const void *const *)(const void *)&kernel->kernel, kernel);
	}
	pthread_rwlock_unlock(&maps_lock);
	return cudaSuccess;
}

cudaError_t register_find_function(const void *function, CUfunction *handle)
{
	struct registered_kernel *kernel = map_find_address(&kernel_map, function);
	if (kernel)
		return register_kernel_handle(kernel, (CUkernel *)handle);
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	/* Not a host address: a kernel or function handle, which the driver accepts in one another's place. */
	const char *name;
	*handle = (CUfunction)(uintptr_t)function;
	if (cuKernelGetName(&name, (CUkernel)*handle) && cuFuncGetName(&name, *handle))
		return cudaErrorInvalidDeviceFunction;
	return cudaSuccess;
}

const void *register_host_address(CUkernel handle)
{
	struct registered_kernel *kernel = map_find_address(&handle_map, handle);
	return kernel ? kernel->host : (const void *)handle;
}

/* Managed variables are also found by where they lie: that is the address that a program's expression has. */
static struct registered_variable *variable_find(const void *symbol)
{
	struct registered_variable *variable = map_find_address(&variable_map, symbol);
	return variable ? variable : map_find_address(&managed_map, symbol);
}

cudaError_t register_find_variable(const void *symbol, CUdeviceptr *address, size_t *size)
{
	struct registered_variable *variable = variable_find(symbol);
	if (!variable) {
		api_error(cudaErrorInvalidSymbol, "%p is not the address of a device variable", symbol);
		return cudaErrorInvalidSymbol;
	}
	cudaError_t error = module_load(variable->module);
	if (error)
		return error;
	if (variable->managed) {
		*address = device_pointer(variable->place);
		*size = variable->size;
		return *address ? cudaSuccess : cudaErrorInvalidSymbol;
	}
	CUresult result = cuLibraryGetGlobal(address, size, variable->module->library, variable->name);
	return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)result;
}

cudaError_t register_find_reference(const void *host, bool surface, struct registered_reference **found, CUmodule *module)
{
	cudaError_t none = surface ? cudaErrorInvalidSurface : cudaErrorInvalidTexture;
	struct registered_reference *reference = map_find_address(&reference_map, host);
	if (!reference || reference->surface != surface)
		return (cudaError_t)api_error(none, "%p is no reference that the program registered", host);
	cudaError_t error = module_load(reference->module);
	*found = reference;
	return error ? error : (cudaError_t)cuLibraryGetModule(module, reference->module->library);
}

/* ---- what compiled programs call ------------------------------------------------------------------------------------------- */

void **impl___cudaRegisterFatBinary(void *wrapper)
{
	struct registered_module *module = calloc(1, sizeof *module);
	if (!module)
		return NULL;
	module->wrapper = wrapper;
	pthread_mutex_init(&module->lock, NULL);
	return (void **)module;
}

void impl___cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle; /* everything has been registered: nothing to do, as the code is opened on first use */
}

void impl___cudaRegisterUnifiedTable(void **handle, void *functions, size_t function_bytes, void *data, size_t data_bytes)
{
	/* A table for calls from the device to host functions, which no device here makes. */
	(void)handle, (void)functions, (void)function_bytes, (void)data, (void)data_bytes;
}
API_ACCEPTED(__cudaRegisterUnifiedTable);

/* Of a form of the runtime that only Windows has; elsewhere there is nothing to be had. */
void *impl___cudaGetProcAddress(void)
{
	return NULL;
}
API_ACCEPTED(__cudaGetProcAddress);

static void kernel_release(struct registered_kernel *kernel)
{
	map_remove_address_locked(&kernel_map, &kernel->host, kernel);
	if (atomic_load(&kernel->kernel))
		map_remove_address_locked(&handle_map, (const void *const *)(const void *)&kernel->kernel, kernel);
	free(kernel);
}

void impl___cudaUnregisterFatBinary(void **handle)
{
	struct registered_module *module = (struct registered_module *)handle;
	if (!module)
		return;
	pthread_rwlock_wrlock(&maps_lock);
	for (struct registered_kernel *kernel = module->kernels, *next; kernel; kernel = next) {
		next = kernel->next;
		kernel_release(kernel);
	}
	for (struct registered_variable *variable = module->variables, *next; variable; variable = next) {
		next = variable->next;
		map_remove_address_locked(&variable_map, &variable->host, variable);
		map_remove_address_locked(&managed_map, &variable->place, variable);
		free(variable);
	}
	for (struct registered_reference *reference = module->references, *next; reference; reference = next) {
		next = reference->next;
		map_remove_address_locked(&reference_map, &reference->host, reference);
		free(reference);
	}
	pthread_rwlock_unlock(&maps_lock);
	if (module->library)
		cuLibraryUnload(module->library); /* at exit the driver may be gone first: nothing is lost then */
	pthread_mutex_destroy(&module->lock);
	free(module);
}

void impl___cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
				 uint3 *thread, uint3 *block, dim3 *block_size, dim3 *grid_size, int *warp_size)
{
	/* The rest was for device emulation, and has been empty since. */
	(void)device, (void)thread_limit, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp_size;
	struct registered_module *module = (struct registered_module *)handle;
	struct registered_kernel *kernel = module ? calloc(1, sizeof *kernel) : NULL;
	if (!kernel)
		return;
	kernel->host = host;
	kernel->name = name;
	kernel->module = module;
	pthread_rwlock_wrlock(&maps_lock);
	kernel->next = module->kernels;
	module->kernels = kernel;
	map_add_address_locked(&kernel_map, &kernel->host, kernel);
	pthread_rwlock_unlock(&maps_lock);
}

static struct registered_variable *variable_add(void **handle, const void *host, const char *name, size_t size, bool constant,
						void **managed)
{
	struct registered_module *module = (struct registered_module *)handle;
	struct registered_variable *variable = module ? calloc(1, sizeof *variable) : NULL;
	if (!variable)
		return NULL;
	variable->host = host;
	variable->name = name;
	variable->size = size;
	variable->constant = constant;
	variable->managed = managed != NULL;
	variable->managed_pointer = managed;
	variable->module = module;
	pthread_rwlock_wrlock(&maps_lock);
	variable->next = module->variables;
	module->variables = variable;
	map_add_address_locked(&variable_map, &variable->host, variable);
	pthread_rwlock_unlock(&maps_lock);
	return variable;
}

void impl___cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size, int constant,
			    int global)
{
	(void)device, (void)external, (void)global;
	variable_add(handle, host, name, size, constant, NULL);
}

void impl___cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int external, size_t size,
				   int constant, int global)
{
	(void)device, (void)external, (void)global;
	variable_add(handle, pointer, name, size, constant, pointer);
}

static void reference_add(void **handle, const void *host, const char *name, bool surface, bool normalized_read)
{
	struct registered_module *module = (struct registered_module *)handle;
	struct registered_reference *reference = module ? calloc(1, sizeof *reference) : NULL;
	if (!reference)
		return;
	reference->host = host;
	reference->name = name;
	reference->surface = surface;
	reference->normalized_read = normalized_read;
	reference->module = module;
	pthread_rwlock_wrlock(&maps_lock);
	reference->next = module->references;
	module->references = reference;
	map_add_address_locked(&reference_map, &reference->host, reference);
	pthread_rwlock_unlock(&maps_lock);
}

void impl___cudaRegisterTexture(void **handle, const struct textureReference *host, const void **device, const char *name,
				int dimensions, int normalized_read, int external)
{
	(void)device, (void)dimensions, (void)external;
	reference_add(handle, host, name, false, normalized_read);
}

void impl___cudaRegisterSurface(void **handle, const struct surfaceReference *host, const void **device, const char *name,
				int dimensions, int external)
{
	(void)device, (void)dimensions, (void)external;
	reference_add(handle, host, name, true, false);
}

/* Called before a program's first access to its managed variables. */
char impl___cudaInitModule(void **handle)
{
	struct registered_module *module = (struct registered_module *)handle;
	if (!module || !runtime_enter())
		return 0;
	return runtime_result(module_load(module)) == cudaSuccess;
}

/* ---- handles of kernels ---------------------------------------------------------------------------------------------------- */

/* nvcc 13's host stubs ask once for a handle, keep it, and pass it to __cudaLaunchKernel() alone. It is the registration
 * itself, so that a kernel that cannot be loaded reports why at each of its launches. */
cudaError_t impl___cudaGetKernel(cudaKernel_t *handle, const void *host)
{
	if (!handle)
		return runtime_result(cudaErrorInvalidValue);
	*handle = map_find_address(&kernel_map, host);
	return *handle ? cudaSuccess : runtime_result(cudaErrorInvalidDeviceFunction);
}

cudaError_t impl_cudaGetKernel(cudaKernel_t *handle, const void *host)
{
	RUNTIME_REQUIRE();
	if (!handle)
		return runtime_result(cudaErrorInvalidValue);
	struct registered_kernel *kernel = map_find_address(&kernel_map, host);
	if (!kernel)
		return runtime_fail(cudaErrorInvalidDeviceFunction, "%p is not a kernel", host);
	return runtime_result(register_kernel_handle(kernel, (CUkernel *)handle));
}

cudaError_t impl_cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
	RUNTIME_REQUIRE();
	struct registered_kernel *kernel = map_find_address(&kernel_map, symbol);
	CUkernel handle;
	if (!function)
		return runtime_result(cudaErrorInvalidValue);
	if (!kernel)
		return runtime_fail(cudaErrorInvalidDeviceFunction, "%p is not a kernel", symbol);
	cudaError_t error = register_kernel_handle(kernel, &handle);
	return runtime_result(error ? (int)error : (int)cuKernelGetFunction(function, handle));
}
