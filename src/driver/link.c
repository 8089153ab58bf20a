/* The linker: several pieces of device code become one. CUDA Driver API 6.10, cuLink*.
 * What comes out is PTX text: cuModuleLoadData() takes that as well as machine code. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/module.h"

struct link {
	struct handle handle;
	VEC(struct ptx_module *) parts;
	struct text text;       /* the result; valid until the state is destroyed */
	struct jit_log log;
	bool complete;
};

HANDLE_FITS(struct link);

CUresult impl_cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values, CUlinkState *state)
{
	struct jit_log log;
	struct link *link;
	CUresult status;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	status = jit_log_open(&log, count, options, values);
	if (status)
		return status;
	link = handle_create(HANDLE_LINK);
	if (!link)
		return CUDA_ERROR_OUT_OF_MEMORY;
	link->log = log;
	*state = (CUlinkState)link;
	return CUDA_SUCCESS;
}

CUresult impl_cuLinkCreate(unsigned int count, CUjit_option *options, void **values, CUlinkState *state)
{
	return impl_cuLinkCreate_v2(count, options, values, state);
}

static CUresult link_find(CUlinkState state, struct link **link)
{
	REQUIRE_READY();
	*link = handle_check(state, HANDLE_LINK);
	return *link ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult add_ptx(struct link *link, const char *text, size_t length, const char *name)
{
	struct ptx_diagnostic diagnostic = {0};
	struct ptx_module *part = ptx_parse(text, length, name && *name ? name : "PTX", &diagnostic);
	CUresult status = CUDA_SUCCESS;

	if (!part) {
		jit_log_write(&link->log, true, diagnostic.message ? diagnostic.message : "");
		status = api_error(CUDA_ERROR_INVALID_PTX, "%s", diagnostic.message ? diagnostic.message : "the PTX cannot be read");
		ptx_diagnostic_fini(&diagnostic);
	} else if (!vec_push(&link->parts, part)) {
		ptx_destroy(part);
		status = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return status;
}

/* Machine code, objects and libraries: the PTX that is in them. */
static CUresult add_image(struct link *link, const void *data, size_t size, const char *name)
{
	const struct device_properties *p = &driver.devices[0].properties;
	struct fatbin_choice choice = {0};
	struct fatbin_error error = {0};
	struct fatbin fatbin = {0};
	enum fatbin_status opened = fatbin_open(data, size, &fatbin, &error);
	CUresult status = CUDA_SUCCESS;

	if (!opened)
		opened = fatbin_choose_ptx(&fatbin, (unsigned)(p->major * 10 + p->minor), &choice, &error);
	if (opened) {
		jit_log_write(&link->log, true, error.message);
		status = api_error(opened == FATBIN_NO_BINARY ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE, "%s", error.message);
	}
	for (uint32_t i = 0; i < choice.count && !status; i++)
		status = add_ptx(link, choice.units[i].text, choice.units[i].length, name);
	fatbin_choice_fini(&choice);
	fatbin_close(&fatbin);
	return status;
}

CUresult impl_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
			       unsigned int count, CUjit_option *options, void **values)
{
	struct jit_log unused;
	struct link *link;
	CUresult status = link_find(state, &link);

	if (status)
		return status;
	if (!data || !size || link->complete)
		return CUDA_ERROR_INVALID_VALUE;
	status = jit_log_open(&unused, count, options, values);
	if (status)
		return status;
	switch ((int)type) {
	case CU_JIT_INPUT_PTX: return add_ptx(link, data, strnlen(data, size), name);
	case CU_JIT_INPUT_CUBIN:
	case CU_JIT_INPUT_FATBINARY:
	case CU_JIT_INPUT_OBJECT:
	case CU_JIT_INPUT_LIBRARY: return add_image(link, data, size, name);
	case CU_JIT_INPUT_NVVM: return api_error(CUDA_ERROR_NOT_SUPPORTED, "NVVM code cannot be linked: pass PTX");
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult impl_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
			    unsigned int count, CUjit_option *options, void **values)
{
	return impl_cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

CUresult impl_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int count,
			       CUjit_option *options, void **values)
{
	struct link *link;
	void *bytes;
	size_t size;
	CUresult status = link_find(state, &link);

	if (status)
		return status;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	status = file_read(path, &bytes, &size);
	if (status)
		return status;
	status = impl_cuLinkAddData_v2(state, type, bytes, size, path, count, options, values);
	free(bytes);
	return status;
}

CUresult impl_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned int count, CUjit_option *options,
			    void **values)
{
	return impl_cuLinkAddFile_v2(state, type, path, count, options, values);
}

CUresult impl_cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
	struct ptx_diagnostic diagnostic = {0};
	struct ptx_module *whole;
	struct link *link;
	CUresult status = link_find(state, &link);

	if (status)
		return status;
	if (!image || !size || !link->parts.count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!link->complete) {
		whole = ptx_link((const struct ptx_module *const *)link->parts.data, link->parts.count, &diagnostic);
		if (!whole) {
			jit_log_write(&link->log, true, diagnostic.message ? diagnostic.message : "");
			status = api_error(CUDA_ERROR_INVALID_PTX, "%s", diagnostic.message ? diagnostic.message : "the PTX cannot be linked");
			ptx_diagnostic_fini(&diagnostic);
			return status;
		}
		jit_limit_registers(&link->log, whole);
		ptx_print(whole, &link->text);
		ptx_destroy(whole);
		link->complete = true;
		jit_log_close(&link->log);
	}
	*image = link->text.data;
	*size = link->text.count + 1; /* with the NUL that ends PTX text */
	return CUDA_SUCCESS;
}

CUresult impl_cuLinkDestroy(CUlinkState state)
{
	struct link *link;
	CUresult status = link_find(state, &link);

	if (status)
		return status;
	for (size_t i = 0; i < link->parts.count; i++)
		ptx_destroy(link->parts.data[i]);
	vec_fini(&link->parts);
	text_fini(&link->text);
	handle_destroy(link);
	return CUDA_SUCCESS;
}
