/* Libraries: device code that belongs to no context; each context that uses one gets its own module of it.
 * CUDA Driver API 6.12 "Library Management". This is how CUDA 12's and 13's runtimes load programs' code. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/cuda_impl.h"
#include "driver/module.h"

enum { SETTABLE_ATTRIBUTES = 16 };

struct library {
	struct handle handle;
	struct code *code;
	bool of_runtime;           /* nvcc's wrapper, as only the CUDA runtime hands one over */
	pthread_mutex_t lock;      /* modules, kernels */
	VEC(struct module *) modules;
	struct map kernels;        /* name -> struct kernel */
	struct managed *managed;   /* NULL where the code has no managed variable */
};

struct managed {
	uint8_t *base;             /* NULL until the first module is made */
	size_t size;
};

struct kernel {
	struct handle handle;
	struct library *library;
	const struct ptx_function *ptx;
	_Atomic(struct function *) recent; /* its instance in the context that asked last */
	int settings[SETTABLE_ATTRIBUTES]; /* cuKernelSetAttribute() on any device: for instances to come */
	uint32_t is_set;
};

HANDLE_FITS(struct library);
HANDLE_FITS(struct kernel);

/* ---- managed variables ------------------------------------------------------------------------------------------ */

enum { MANAGED_ALIGN = 64 };

static bool is_managed(const struct ptx_variable *variable)
{
	return variable->managed && variable->size && variable->linkage != PTX_EXTERN;
}

static CUresult managed_allocate(struct managed *managed, const struct ptx_module *ptx)
{
	void *base;

	for (size_t i = 0; i < ptx->variables.count; i++)
		if (is_managed(ptx->variables.data[i]))
			managed->size += align_up(ptx->variables.data[i]->size, MANAGED_ALIGN);
	managed->size = align_up(managed->size ? managed->size : 1, (size_t)sysconf(_SC_PAGESIZE));
	base = mmap(NULL, managed->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	managed->base = base;
	return CUDA_SUCCESS;
}

/* The first module brings the initial values; where a variable lies is the same in all modules. */
CUresult managed_bind(struct managed *managed, struct module *module)
{
	const struct ptx_module *ptx = module->code->ptx;
	const struct device_ops *ops = module->context->ops;
	bool first = !managed->base;
	uint8_t *at;
	CUresult status = first ? managed_allocate(managed, ptx) : CUDA_SUCCESS;

	at = managed->base;
	/* Once a device; it stays within its reach until the process ends. */
	if (!status && ops->register_host)
		status = (CUresult)ops->register_host(module->context->device->device, managed->base, managed->size);
	for (size_t i = 0; i < ptx->variables.count && !status; i++) {
		const struct ptx_variable *variable = ptx->variables.data[i];
		void *initial;

		if (!is_managed(variable))
			continue;
		status = (CUresult)ops->module_variable(module->device_module, variable, &initial);
		if (!status && first) {
			status = memory_copy_now(module->context, at, initial, variable->size);
			if (!status)
				status = allocation_note(NULL, at, variable->size, true);
		}
		if (!status)
			status = (CUresult)ops->module_bind(module->device_module, variable, at);
		at += align_up(variable->size, MANAGED_ALIGN);
	}
	return status;
}

static void managed_free(struct managed *managed, const struct ptx_module *ptx)
{
	uint8_t *at = managed ? managed->base : NULL;

	for (size_t i = 0; at && i < ptx->variables.count; i++) {
		if (!is_managed(ptx->variables.data[i]))
			continue;
		free(memory_map_remove((uintptr_t)at));
		at += align_up(ptx->variables.data[i]->size, MANAGED_ALIGN);
	}
	if (managed && managed->base)
		munmap(managed->base, managed->size);
	free(managed);
}

/* Devices whose back end cannot bind have them apart. */
static CUresult managed_find(struct library *library, const struct context *context)
{
	const struct ptx_module *ptx = library->code->ptx;

	if (library->managed || !context->ops->module_bind)
		return CUDA_SUCCESS;
	for (size_t i = 0; i < ptx->variables.count; i++) {
		if (!is_managed(ptx->variables.data[i]))
			continue;
		library->managed = calloc(1, sizeof *library->managed);
		return library->managed ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

/* ---- instances ------------------------------------------------------------------------------------------------- */

static CUresult instance_locked(struct library *library, struct context *context, struct module **module)
{
	CUresult status;

	for (size_t i = 0; i < library->modules.count; i++) {
		if (library->modules.data[i]->context == context) {
			*module = library->modules.data[i];
			return CUDA_SUCCESS;
		}
	}
	status = code_parse(library->code, NULL);
	if (!status)
		status = managed_find(library, context);
	if (!status)
		status = module_create(context, library->code, library->managed, NULL, module);
	if (status)
		return status;
	(*module)->library = library;
	if (!vec_push(&library->modules, *module)) {
		module_destroy(*module);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static CUresult library_instance(struct library *library, struct context *context, struct module **module)
{
	CUresult status;

	pthread_mutex_lock(&library->lock);
	status = instance_locked(library, context, module);
	pthread_mutex_unlock(&library->lock);
	return status;
}

CUresult kernel_instance(struct kernel *kernel, struct context *context, struct function **out)
{
	struct function *function = atomic_load_explicit(&kernel->recent, memory_order_acquire);
	struct module *module;
	CUresult status;

	if (function && function->module->context == context) {
		*out = function;
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&kernel->library->lock);
	status = instance_locked(kernel->library, context, &module);
	if (!status)
		status = module_function(module, kernel->ptx->symbol.name, &function);
	if (!status && !function->library_kernel) {
		function->library_kernel = kernel;
		for (int i = 0; i < SETTABLE_ATTRIBUTES; i++)
			if (kernel->is_set >> i & 1)
				function_set_attribute(function, (CUfunction_attribute)i, kernel->settings[i]);
	}
	if (!status)
		atomic_store_explicit(&kernel->recent, function, memory_order_release);
	pthread_mutex_unlock(&kernel->library->lock);
	if (!status)
		*out = function;
	return status;
}

bool kernel_is_of_runtime(const struct kernel *kernel)
{
	return kernel->library->of_runtime;
}

void library_forget_context(struct context *context)
{
	for (struct library *library = handle_next(NULL, HANDLE_LIBRARY); library; library = handle_next(library, HANDLE_LIBRARY)) {
		pthread_mutex_lock(&library->lock);
		for (size_t i = 0; i < library->kernels.capacity; i++) {
			struct kernel *kernel = library->kernels.slots[i].key ? library->kernels.slots[i].value : NULL;
			struct function *recent = kernel ? atomic_load(&kernel->recent) : NULL;

			if (recent && recent->module->context == context)
				atomic_store(&kernel->recent, NULL);
		}
		for (size_t i = 0; i < library->modules.count; i++) {
			if (library->modules.data[i]->context != context)
				continue;
			module_destroy(library->modules.data[i]);
			library->modules.data[i] = library->modules.data[--library->modules.count];
			break;
		}
		pthread_mutex_unlock(&library->lock);
	}
}

/* ---- loading ---------------------------------------------------------------------------------------------------- */

/* cudart hands over the wrappers that nvcc put into the program: they stay as long as the program. */
static bool image_stays(const void *image)
{
	uint32_t magic;

	memcpy(&magic, image, sizeof magic);
	return magic == 0x466243B1;
}

static CUresult load(CUlibrary *handle, const void *image, size_t size, unsigned count, const CUjit_option *options,
		     void **values, bool keep)
{
	struct library *library;
	struct jit_log log;
	struct code *code;
	CUresult status = jit_log_open(&log, count, options, values);

	if (status)
		return status;
	status = code_open(image, size, keep, &log, &code);
	if (!status && (driver.eager_loading || log.error || log.info || log.max_registers)) {
		status = code_parse(code, &log); /* somebody waits for messages, or limits what is made */
		if (status)
			code_drop(code);
	}
	jit_log_close(&log);
	if (status)
		return status;
	library = handle_create(HANDLE_LIBRARY);
	if (!library) {
		code_drop(code);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	library->code = code;
	library->of_runtime = keep;
	pthread_mutex_init(&library->lock, NULL);
	*handle = (CUlibrary)library;
	return CUDA_SUCCESS;
}

static CUresult check_options(const CUlibraryOption *options, void **values, unsigned count)
{
	if (count && !options)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		if ((int)options[i] < 0 || options[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
		if (options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE && (!values || !values[i]))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuLibraryLoadData(CUlibrary *handle, const void *image, CUjit_option *options, void **values, unsigned int count,
				CUlibraryOption *library_options, void **library_values, unsigned int library_count)
{
	CUresult status;

	REQUIRE_READY();
	if (!handle || !image)
		return CUDA_ERROR_INVALID_VALUE;
	status = check_options(library_options, library_values, library_count);
	return status ? status : load(handle, image, 0, count, options, values, image_stays(image));
}

CUresult impl_cuLibraryLoadFromFile(CUlibrary *handle, const char *path, CUjit_option *options, void **values, unsigned int count,
				    CUlibraryOption *library_options, void **library_values, unsigned int library_count)
{
	void *bytes;
	size_t size;
	CUresult status;

	REQUIRE_READY();
	if (!handle || !path)
		return CUDA_ERROR_INVALID_VALUE;
	status = check_options(library_options, library_values, library_count);
	if (!status)
		status = file_read(path, &bytes, &size);
	if (status)
		return status;
	status = load(handle, bytes, size, count, options, values, false);
	free(bytes);
	return status;
}

CUresult impl_cuLibraryUnload(CUlibrary handle)
{
	struct library *library = handle_check(handle, HANDLE_LIBRARY);

	REQUIRE_READY();
	if (!library)
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < library->modules.count; i++)
		context_synchronize(library->modules.data[i]->context);
	for (size_t i = 0; i < library->modules.count; i++)
		module_destroy(library->modules.data[i]);
	vec_fini(&library->modules);
	for (size_t i = 0; i < library->kernels.capacity; i++)
		if (library->kernels.slots[i].key)
			handle_destroy(library->kernels.slots[i].value);
	map_fini(&library->kernels);
	if (library->managed)
		managed_free(library->managed, library->code->ptx);
	code_drop(library->code);
	pthread_mutex_destroy(&library->lock);
	handle_destroy(library);
	return CUDA_SUCCESS;
}

static CUresult library_find(CUlibrary handle, struct library **library)
{
	REQUIRE_READY();
	*library = handle_check(handle, HANDLE_LIBRARY);
	return *library ? code_parse((*library)->code, NULL) : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

static CUresult kernel_locked(struct library *library, const struct ptx_function *ptx, struct kernel **out)
{
	struct kernel *kernel = map_get(&library->kernels, ptx->symbol.name);

	if (!kernel) {
		kernel = handle_create(HANDLE_KERNEL);
		if (!kernel)
			return CUDA_ERROR_OUT_OF_MEMORY;
		kernel->library = library;
		kernel->ptx = ptx;
		map_put(&library->kernels, ptx->symbol.name, kernel);
	}
	*out = kernel;
	return CUDA_SUCCESS;
}

static CUresult library_kernel(struct library *library, const struct ptx_function *ptx, struct kernel **kernel)
{
	CUresult status;

	pthread_mutex_lock(&library->lock);
	status = kernel_locked(library, ptx, kernel);
	pthread_mutex_unlock(&library->lock);
	return status;
}

CUresult impl_cuLibraryGetKernel(CUkernel *handle, CUlibrary library_handle, const char *name)
{
	const struct ptx_function *ptx;
	struct library *library;
	struct kernel *kernel;
	CUresult status = library_find(library_handle, &library);

	if (status)
		return status;
	if (!handle || !name)
		return CUDA_ERROR_INVALID_VALUE;
	ptx = ptx_find_entry(library->code->ptx, name);
	if (!ptx)
		return api_error(CUDA_ERROR_NOT_FOUND, "no kernel \"%s\" in the library", name);
	status = library_kernel(library, ptx, &kernel);
	if (!status)
		*handle = (CUkernel)kernel;
	return status;
}

CUresult impl_cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
	struct library *library;
	CUresult status = library_find(handle, &library);

	if (status)
		return status;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = code_kernel_count(library->code);
	return CUDA_SUCCESS;
}

CUresult impl_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int room, CUlibrary handle)
{
	struct library *library;
	unsigned at = 0;
	CUresult status = library_find(handle, &library);

	if (status)
		return status;
	if (!kernels || !room)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < library->code->ptx->functions.count && at < room && !status; i++) {
		const struct ptx_function *ptx = library->code->ptx->functions.data[i];
		struct kernel *kernel;

		if (!ptx->is_entry || ptx->is_declaration)
			continue;
		status = library_kernel(library, ptx, &kernel);
		if (!status)
			kernels[at++] = (CUkernel)kernel;
	}
	return status;
}

CUresult impl_cuLibraryGetModule(CUmodule *handle, CUlibrary library_handle)
{
	struct library *library;
	struct module *module;
	CUresult status;

	REQUIRE_CONTEXT(context);
	status = library_find(library_handle, &library);
	if (status)
		return status;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	status = library_instance(library, context, &module);
	if (!status)
		*handle = (CUmodule)module;
	return status;
}

/* The runtime asks for managed variables before the program has made a context current. */
static CUresult context_for_variable(bool managed, struct context **context)
{
	CUresult status = context_current(context);

	if (status != CUDA_ERROR_INVALID_CONTEXT || !managed)
		return status;
	return context_primary_use(&driver.devices[0], context);
}

static CUresult library_variable(CUdeviceptr *pointer, size_t *size, CUlibrary handle, const char *name, bool managed)
{
	const struct ptx_variable *variable;
	struct library *library;
	struct module *module;
	struct context *context;
	void *address;
	CUresult status = context_for_variable(managed, &context);

	if (!status)
		status = library_find(handle, &library);
	if (status)
		return status;
	if (!name || (!pointer && !size))
		return CUDA_ERROR_INVALID_VALUE;
	variable = ptx_find_variable(library->code->ptx, name);
	if (!variable || (managed && !variable->managed))
		return api_error(CUDA_ERROR_NOT_FOUND, "no %svariable \"%s\" in the library", managed ? "managed " : "", name);
	status = library_instance(library, context, &module);
	if (!status)
		status = module_global(module, name, &address, size);
	if (!status && pointer)
		*pointer = (CUdeviceptr)(uintptr_t)address;
	return status;
}

CUresult impl_cuLibraryGetGlobal(CUdeviceptr *pointer, size_t *size, CUlibrary library, const char *name)
{
	return library_variable(pointer, size, library, name, false);
}

CUresult impl_cuLibraryGetManaged(CUdeviceptr *pointer, size_t *size, CUlibrary library, const char *name)
{
	return library_variable(pointer, size, library, name, true);
}

CUresult impl_cuLibraryGetUnifiedFunction(void **pointer, CUlibrary handle, const char *symbol)
{
	struct library *library;
	CUresult status = library_find(handle, &library);

	if (status)
		return status;
	if (!pointer || !symbol)
		return CUDA_ERROR_INVALID_VALUE;
	return api_error(CUDA_ERROR_NOT_FOUND, "\"%s\": devices of ours have no unified function pointers", symbol);
}

/* ---- what CUkernel answers ------------------------------------------------------------------------------------------ */

static CUresult kernel_find(CUkernel handle, struct kernel **kernel)
{
	REQUIRE_READY();
	*kernel = handle_check(handle, HANDLE_KERNEL);
	return *kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuKernelGetFunction(CUfunction *handle, CUkernel kernel_handle)
{
	struct function *function;
	struct kernel *kernel;
	CUresult status;

	REQUIRE_CONTEXT(context);
	status = kernel_find(kernel_handle, &kernel);
	if (status)
		return status;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	status = kernel_instance(kernel, context, &function);
	if (!status)
		*handle = (CUfunction)function;
	return status;
}

CUresult impl_cuKernelGetLibrary(CUlibrary *library, CUkernel handle)
{
	struct kernel *kernel;
	CUresult status = kernel_find(handle, &kernel);

	if (status)
		return status;
	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	*library = (CUlibrary)kernel->library;
	return CUDA_SUCCESS;
}

CUresult impl_cuKernelGetName(const char **name, CUkernel handle)
{
	struct function *function = handle_check(handle, HANDLE_FUNCTION);
	struct kernel *kernel;
	CUresult status = function ? CUDA_SUCCESS : kernel_find(handle, &kernel);

	if (status)
		return status;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = function ? function->ptx->symbol.name : kernel->ptx->symbol.name;
	return CUDA_SUCCESS;
}

CUresult impl_cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
	struct kernel *kernel;
	CUresult status = kernel_find(handle, &kernel);

	if (status)
		return status;
	if (!offset || index >= kernel->ptx->parameters.count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = kernel->ptx->parameters.data[index]->offset;
	if (size)
		*size = kernel->ptx->parameters.data[index]->size;
	return CUDA_SUCCESS;
}

/* Attributes are kept by the instance in the device's primary context, or the current context where that is of the device. */
static CUresult instance_on(struct kernel *kernel, CUdevice dev, struct function **function)
{
	struct driver_device *device = driver_device(dev);
	struct context *context = NULL;
	CUresult status;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (context_current_quiet(&context) || context->device != device) {
		pthread_mutex_lock(&device->lock);
		context = device->primary && atomic_load(&device->primary->live) ? device->primary : NULL;
		pthread_mutex_unlock(&device->lock);
	}
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	status = context_error(context);
	return status ? status : kernel_instance(kernel, context, function);
}

CUresult impl_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice dev)
{
	struct function *function;
	struct kernel *kernel;
	CUresult status = kernel_find(handle, &kernel);

	if (status)
		return status;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	status = instance_on(kernel, dev, &function);
	return status ? status : function_attribute(function, attribute, value);
}

CUresult impl_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice dev)
{
	struct function *function;
	struct kernel *kernel;
	CUresult status = kernel_find(handle, &kernel);

	if (!status)
		status = instance_on(kernel, dev, &function);
	if (!status)
		status = function_set_attribute(function, attribute, value);
	if (!status && (int)attribute < SETTABLE_ATTRIBUTES) {
		pthread_mutex_lock(&kernel->library->lock);
		kernel->settings[attribute] = value;
		kernel->is_set |= 1u << attribute;
		pthread_mutex_unlock(&kernel->library->lock);
	}
	return status;
}

CUresult impl_cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice dev)
{
	struct function *function;
	struct kernel *kernel;
	CUresult status = kernel_find(handle, &kernel);

	if (!status)
		status = instance_on(kernel, dev, &function);
	if (status)
		return status;
	if ((int)config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	function->cache_config = config;
	return CUDA_SUCCESS;
}
