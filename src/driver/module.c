/* Modules: device code loaded into a context. CUDA Driver API 6.10 "Module Management".
 * Kernels are compiled when they are first launched; a module that parses is loaded. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"
#include "driver/compare.h"
#include "driver/module.h"
#include "driver/texture.h"

/* Addresses of variables reach the host in many ways: all that have one are in the memory map. */
static CUresult note_variables(struct module *module, const struct managed *managed)
{
	const struct ptx_module *ptx = module->code->ptx;

	module->noted = calloc(ptx->variables.count ? ptx->variables.count : 1, sizeof *module->noted);
	if (!module->noted)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < ptx->variables.count; i++) {
		const struct ptx_variable *variable = ptx->variables.data[i];
		void *pointer;

		if ((variable->space != PTX_SPACE_GLOBAL && variable->space != PTX_SPACE_CONST) || !variable->size ||
		    variable->linkage == PTX_EXTERN)
			continue;
		if (variable->managed && managed)
			continue; /* noted by the library, for all its modules */
		if (module->context->ops->module_variable(module->device_module, variable, &pointer))
			continue;
		if (!allocation_note(module->context, pointer, variable->size, variable->managed))
			module->noted[module->noted_count++] = (uintptr_t)pointer;
	}
	return CUDA_SUCCESS;
}

CUresult module_create(struct context *context, struct code *code, struct managed *managed, struct jit_log *log,
		       struct module **out)
{
	struct ptx_diagnostic diagnostic = {0};
	struct module *module;
	CUresult status = code_parse(code, log);

	if (status)
		return status;
	module = handle_create(HANDLE_MODULE);
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->context = context;
	module->code = code;
	code_hold(code);
	pthread_mutex_init(&module->lock, NULL);
	status = (CUresult)context->ops->module_load(context->device->device, code->ptx, &module->device_module, &diagnostic);
	if (status) {
		jit_log_write(log, true, diagnostic.message ? diagnostic.message : "");
		api_error(status, "the module cannot be loaded: %s", diagnostic.message ? diagnostic.message : "no reason given");
		ptx_diagnostic_fini(&diagnostic);
	} else {
		status = managed ? managed_bind(managed, module) : CUDA_SUCCESS;
		if (!status)
			status = note_variables(module, managed);
	}
	pthread_mutex_lock(&context->lock);
	module->next = context->modules;
	context->modules = module;
	pthread_mutex_unlock(&context->lock);
	if (status) {
		module_destroy(module);
		return status;
	}
	*out = module;
	return CUDA_SUCCESS;
}

void module_destroy(struct module *module)
{
	struct context *context = module->context;

	pthread_mutex_lock(&context->lock);
	for (struct module **link = &context->modules; *link; link = &(*link)->next) {
		if (*link == module) {
			*link = module->next;
			break;
		}
	}
	pthread_mutex_unlock(&context->lock);
	for (size_t i = 0; i < module->noted_count; i++)
		free(memory_map_remove(module->noted[i]));
	free(module->noted);
	for (size_t i = 0; i < module->functions.capacity; i++)
		if (module->functions.slots[i].key && module->functions.slots[i].value)
			function_destroy(module->functions.slots[i].value);
	map_fini(&module->functions);
	references_release(module);
	if (driver.compares)
		compare_forget(module);
	if (module->device_module)
		context->ops->module_unload(module->device_module);
	code_drop(module->code);
	pthread_mutex_destroy(&module->lock);
	handle_destroy(module);
}

CUresult module_function(struct module *module, const char *name, struct function **out)
{
	const struct ptx_function *ptx;
	struct function *function;
	CUresult status = CUDA_SUCCESS;

	pthread_mutex_lock(&module->lock);
	function = map_get(&module->functions, name);
	if (!function) {
		ptx = ptx_find_entry(module->code->ptx, name);
		if (!ptx)
			status = CUDA_ERROR_NOT_FOUND;
		else
			status = function_create(module, ptx, &function);
		if (!status)
			map_put(&module->functions, ptx->symbol.name, function);
	}
	pthread_mutex_unlock(&module->lock);
	if (!status)
		*out = function;
	return status;
}

CUresult module_global(struct module *module, const char *name, void **pointer, size_t *size)
{
	const struct ptx_variable *variable = ptx_find_variable(module->code->ptx, name);
	void *address;
	CUresult status;

	if (!variable || (variable->space != PTX_SPACE_GLOBAL && variable->space != PTX_SPACE_CONST))
		return CUDA_ERROR_NOT_FOUND;
	status = (CUresult)module->context->ops->module_variable(module->device_module, variable, &address);
	if (status)
		return status;
	if (pointer)
		*pointer = address;
	if (size)
		*size = variable->size;
	return CUDA_SUCCESS;
}

/* ---- entries -------------------------------------------------------------------------------------------------- */

static CUresult load(CUmodule *handle, const void *image, size_t size, unsigned count, const CUjit_option *options,
		     void **values)
{
	struct jit_log log;
	struct code *code;
	struct module *module;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!handle || !image)
		return CUDA_ERROR_INVALID_VALUE;
	status = capture_forbid_unsafe();
	if (!status)
		status = jit_log_open(&log, count, options, values);
	if (status)
		return status;
	status = code_open(image, size, false, &log, &code);
	if (!status) {
		status = module_create(context, code, NULL, &log, &module);
		code_drop(code);
	}
	jit_log_close(&log);
	if (!status)
		*handle = (CUmodule)module;
	return status;
}

CUresult module_load_image(CUmodule *handle, const void *image)
{
	return load(handle, image, 0, 0, NULL, NULL);
}

CUresult impl_cuModuleLoadData(CUmodule *handle, const void *image)
{
	return load(handle, image, 0, 0, NULL, NULL);
}

CUresult impl_cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned int count, CUjit_option *options, void **values)
{
	return load(handle, image, 0, count, options, values);
}

CUresult impl_cuModuleLoadFatBinary(CUmodule *handle, const void *image)
{
	return load(handle, image, 0, 0, NULL, NULL);
}

CUresult file_read(const char *path, void **bytes, size_t *size)
{
	struct stat info;
	uint8_t *data = NULL;
	size_t used = 0;
	int file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return api_error(CUDA_ERROR_FILE_NOT_FOUND, "%s: %s", path, strerror(errno));
	if (!fstat(file, &info) && S_ISREG(info.st_mode) && info.st_size > 0)
		data = malloc((size_t)info.st_size + 1);
	while (data && used < (size_t)info.st_size) {
		ssize_t n = read(file, data + used, (size_t)info.st_size - used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	close(file);
	if (!data || used < (size_t)info.st_size) {
		free(data);
		return api_error(CUDA_ERROR_INVALID_IMAGE, "%s cannot be read", path);
	}
	data[used] = 0;
	*bytes = data;
	*size = used;
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleLoad(CUmodule *handle, const char *path)
{
	void *bytes;
	size_t size;
	CUresult status;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!handle || !path)
		return CUDA_ERROR_INVALID_VALUE;
	status = file_read(path, &bytes, &size);
	if (status)
		return status;
	status = load(handle, bytes, size, 0, NULL, NULL);
	free(bytes);
	return status;
}

static CUresult module_find(CUmodule handle, struct module **module)
{
	struct context *context;
	CUresult status = context_current(&context);

	if (status)
		return status;
	*module = handle_check(handle, HANDLE_MODULE);
	return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuModuleUnload(CUmodule handle)
{
	struct module *module;
	CUresult status = module_find(handle, &module);

	if (status)
		return status;
	if (module->library)
		return api_error(CUDA_ERROR_NOT_PERMITTED, "the module is a library's: cuLibraryUnload ends it");
	status = capture_forbid_unsafe();
	if (!status)
		status = context_synchronize(module->context);
	module_destroy(module);
	return status;
}

CUresult impl_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	REQUIRE_READY();
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = driver.eager_loading ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetFunction(CUfunction *handle, CUmodule module_handle, const char *name)
{
	struct function *function;
	struct module *module;
	CUresult status = module_find(module_handle, &module);

	if (status)
		return status;
	if (!handle || !name)
		return CUDA_ERROR_INVALID_VALUE;
	status = module_function(module, name, &function);
	if (status == CUDA_ERROR_NOT_FOUND)
		return api_error(status, "no kernel \"%s\" in the module", name);
	if (!status)
		*handle = (CUfunction)function;
	return status;
}

unsigned code_kernel_count(const struct code *code)
{
	unsigned count = 0;

	for (size_t i = 0; i < code->ptx->functions.count; i++)
		count += code->ptx->functions.data[i]->is_entry && !code->ptx->functions.data[i]->is_declaration;
	return count;
}

CUresult impl_cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
	struct module *module;
	CUresult status = module_find(handle, &module);

	if (status)
		return status;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = code_kernel_count(module->code);
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int room, CUmodule handle)
{
	struct module *module;
	unsigned at = 0;
	CUresult status = module_find(handle, &module);

	if (status)
		return status;
	if (!functions || !room)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < module->code->ptx->functions.count && at < room && !status; i++) {
		const struct ptx_function *ptx = module->code->ptx->functions.data[i];
		struct function *function;

		if (!ptx->is_entry || ptx->is_declaration)
			continue;
		status = module_function(module, ptx->symbol.name, &function);
		if (!status)
			functions[at++] = (CUfunction)function;
	}
	return status;
}

CUresult impl_cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *size, CUmodule handle, const char *name)
{
	struct module *module;
	void *address;
	CUresult status = module_find(handle, &module);

	if (status)
		return status;
	if (!name || (!pointer && !size))
		return CUDA_ERROR_INVALID_VALUE;
	status = module_global(module, name, &address, size);
	if (status == CUDA_ERROR_NOT_FOUND)
		return api_error(status, "no variable \"%s\" in the module", name);
	if (!status && pointer)
		*pointer = (CUdeviceptr)(uintptr_t)address;
	return status;
}
