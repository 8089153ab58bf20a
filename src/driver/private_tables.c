/* The tables of functions that NVIDIA's CUDA runtime asks for with cuGetExportTable(), beside the public API.
 * Programs link that runtime statically; without these answers their first runtime call fails. Interface facts, published by
 * other open projects and seen in what CUDA 13.0's static runtime asks. Slot 0 of a table is its size in bytes unless said
 * otherwise; unknown slots answer CUDA_ERROR_NOT_SUPPORTED rather than crash. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/module.h"
#include "driver/private.h"

#define SIZE_SLOT(count) ((const void *)((count) * sizeof(void *)))
#define SLOT(function) ((const void *)(uintptr_t)(function))

static CUresult unknown_slot(void)
{
	return api_error(CUDA_ERROR_NOT_SUPPORTED, "an unknown function of a private table was called");
}

/* ---- 6BD5FB6C: runtime interface ------------------------------------------------------------------------------ */

static CUresult load_wrapper(CUmodule *module, const void *wrapper)
{
	return module_load_image(module, wrapper);
}

static CUresult load_wrapper_with_options(CUmodule *module, const void *wrapper, void *a, void *b, unsigned c)
{
	(void)a, (void)b, (void)c;
	return module_load_image(module, wrapper);
}

static CUresult load_container(const void *container, CUmodule *module, void *a, void *b, unsigned c)
{
	(void)a, (void)b, (void)c;
	return module_load_image(module, container);
}

/* The primary context, neither made current nor retained. */
static CUresult primary_context(CUcontext *handle, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);
	struct context *context;
	CUresult status;

	REQUIRE_READY();
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	status = context_primary_peek(device, &context);
	if (!status)
		*handle = (CUcontext)context;
	return status;
}

static void note_size(size_t size)
{
	(void)size;
}

static CUresult load_compilers(void)
{
	return CUDA_SUCCESS;
}

const void *runtime_interface_table[13];

static void runtime_interface_init(void)
{
	const void **table = runtime_interface_table;

	for (int i = 1; i < 13; i++)
		table[i] = SLOT(unknown_slot);
	table[0] = SIZE_SLOT(13);
	table[1] = SLOT(load_wrapper);
	table[2] = SLOT(primary_context);
	table[6] = SLOT(load_wrapper_with_options);
	table[7] = SLOT(note_size);
	table[8] = SLOT(load_container);
	table[12] = SLOT(load_compilers);
}

/* ---- A094798C: callback hooks of profilers ----------------------------------------------------------------------- */

static uint32_t hook_switches[1024], hook_domains[14]; /* never set: nobody listens */

static void hooks_switches(void **buffer, size_t *size)
{
	*buffer = hook_switches;
	*size = ARRAY_LENGTH(hook_switches);
}

static void hooks_domains(void **buffer, size_t *size)
{
	*buffer = hook_domains;
	*size = ARRAY_LENGTH(hook_domains);
}

static CUresult hooks_nothing(void)
{
	return CUDA_SUCCESS;
}

static const void *tools_hooks_table[7];

static void tools_hooks_init(void)
{
	const void **table = tools_hooks_table;

	table[0] = SIZE_SLOT(7);
	table[1] = table[3] = table[4] = table[5] = SLOT(hooks_nothing);
	table[2] = SLOT(hooks_switches);
	table[6] = SLOT(hooks_domains);
}

/* ---- 42D85A81: tools, per thread ------------------------------------------------------------------------------------ */

static CUcontext tools_current(void)
{
	return (CUcontext)context_top();
}

static const void *tools_storage_table[4];

static void tools_storage_init(void)
{
	tools_storage_table[0] = SIZE_SLOT(4);
	tools_storage_table[1] = tools_storage_table[3] = SLOT(hooks_nothing);
	tools_storage_table[2] = SLOT(tools_current);
}

/* ---- C693336E: context-local storage; no size slot -------------------------------------------------------------------- */

static CUresult storage_none(void)
{
	return CUDA_SUCCESS;
}

static const void *context_storage_table[4];

static void context_storage_init(void)
{
	context_storage_table[0] = SLOT(storage_put);
	context_storage_table[1] = SLOT(storage_remove);
	context_storage_table[2] = SLOT(storage_get);
	context_storage_table[3] = SLOT(storage_none);
}

/* ---- 263E8860: checks of contexts -------------------------------------------------------------------------------------- */

static CUresult check_context(CUcontext context, uint32_t *out, void **more)
{
	(void)context;
	if (out)
		*out = 0;
	if (more)
		*more = NULL;
	return CUDA_SUCCESS;
}

static uint32_t check_nothing(void)
{
	return 0;
}

static const void *context_checks_table[15];

static void context_checks_init(void)
{
	context_checks_table[0] = SIZE_SLOT(15);
	for (int i = 1; i < 15; i++)
		context_checks_table[i] = SLOT(check_nothing);
	context_checks_table[2] = SLOT(check_context);
}

/* ---- 21318C60: what NVIDIA's libraries add to contexts ------------------------------------------------------------------ */

static const void *context_extra_table[8];

static void context_extra_init(void)
{
	for (int i = 1; i < 8; i++)
		context_extra_table[i] = SLOT(unknown_slot);
	context_extra_table[0] = SIZE_SLOT(8);
	context_extra_table[4] = SLOT(impl_cuCtxGetId);
}

/* ---- 195BCBF4: notices of ending threads ---------------------------------------------------------------------------------- */

struct thread_notice {
	struct thread_notice *next;
	void (*function)(void *);
	void *argument;
};

static pthread_key_t notice_key;
static pthread_once_t notice_once = PTHREAD_ONCE_INIT;

static void notices_run(void *first)
{
	struct thread_notice *notice = first;

	while (notice) {
		struct thread_notice *next = notice->next;

		notice->function(notice->argument);
		free(notice);
		notice = next;
	}
}

static void notices_make_key(void)
{
	pthread_key_create(&notice_key, notices_run);
}

static CUresult notice_set(void **handle, void (*function)(void *), void *argument)
{
	struct thread_notice *notice = malloc(sizeof *notice);

	if (!notice)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_once(&notice_once, notices_make_key);
	*notice = (struct thread_notice){pthread_getspecific(notice_key), function, argument};
	pthread_setspecific(notice_key, notice);
	*handle = notice;
	return CUDA_SUCCESS;
}

static CUresult notice_remove(void *handle, void *unused)
{
	struct thread_notice *first, **link = &first;

	(void)unused;
	pthread_once(&notice_once, notices_make_key);
	first = pthread_getspecific(notice_key);
	while (*link && *link != handle)
		link = &(*link)->next;
	if (*link) {
		struct thread_notice *found = *link;

		*link = found->next;
		free(found);
		pthread_setspecific(notice_key, first);
	}
	return CUDA_SUCCESS;
}

static const void *thread_notice_table[3];

static void thread_notice_init(void)
{
	thread_notice_table[0] = SIZE_SLOT(3);
	thread_notice_table[1] = SLOT(notice_set);
	thread_notice_table[2] = SLOT(notice_remove);
}

/* ---- cuGetExportTable ------------------------------------------------------------------------------------------------------ */

static const struct {
	uint8_t id[16];
	const void *const *table;
} tables[] = {
	{{0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7, 0x4A, 0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9}, runtime_interface_table},
	{{0xA0, 0x94, 0x79, 0x8C, 0x2E, 0x74, 0x2E, 0x74, 0x93, 0xF2, 0x08, 0x00, 0x20, 0x0C, 0x0A, 0x66}, tools_hooks_table},
	{{0x42, 0xD8, 0x5A, 0x81, 0x23, 0xF6, 0xCB, 0x47, 0x82, 0x98, 0xF6, 0xE7, 0x8A, 0x3A, 0xEC, 0xDC}, tools_storage_table},
	{{0xC6, 0x93, 0x33, 0x6E, 0x11, 0x21, 0xDF, 0x11, 0xA8, 0xC3, 0x68, 0xF3, 0x55, 0xD8, 0x95, 0x93}, context_storage_table},
	{{0x26, 0x3E, 0x88, 0x60, 0x7C, 0xD2, 0x61, 0x43, 0x92, 0xF6, 0xBB, 0xD5, 0x00, 0x6D, 0xFA, 0x7E}, context_checks_table},
	{{0xD4, 0x08, 0x20, 0x55, 0xBD, 0xE6, 0x70, 0x4B, 0x8D, 0x34, 0xBA, 0x12, 0x3C, 0x66, 0xE1, 0xF2}, handshake_table},
	{{0x21, 0x31, 0x8C, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8C, 0xA6, 0x41, 0xFF, 0x73, 0x24, 0xC8, 0xF2}, context_extra_table},
	{{0x19, 0x5B, 0xCB, 0xF4, 0xD6, 0x7D, 0x02, 0x4A, 0xAC, 0xC5, 0x1D, 0x29, 0xCE, 0xA6, 0x31, 0xAE}, thread_notice_table},
};

static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void tables_init(void)
{
	runtime_interface_init();
	tools_hooks_init();
	tools_storage_init();
	context_storage_init();
	context_checks_init();
	context_extra_init();
	thread_notice_init();
	handshake_init();
}

CUresult impl_cuGetExportTable(const void **table, const CUuuid *id)
{
	const uint8_t *b;

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_once(&tables_once, tables_init);
	for (size_t i = 0; i < ARRAY_LENGTH(tables); i++) {
		if (!memcmp(tables[i].id, id->bytes, sizeof tables[i].id)) {
			*table = tables[i].table;
			return CUDA_SUCCESS;
		}
	}
	b = (const uint8_t *)id->bytes;
	*table = NULL;
	return api_error(CUDA_ERROR_INVALID_VALUE, "no table %02X%02X%02X%02X-…", b[0], b[1], b[2], b[3]);
}
