/* Each launch twice, over the same memory: all that kernels may write is kept before the launch and after it, put back as it was, written
 * by the other device, compared, and left as the first device had it. Addresses are the same on both: the GPU is given the host's memory at
 * its place (register_host), its modules' variables are those of the CPU's.
 *
 * The program sees the CPU alone, or with DRAGOMAN_COMPARE=amd what the GPU left. What cannot be done twice is told once a kernel, and counted at the end. */
#include "driver/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct region { /* memory that kernels may write */
	uintptr_t base;
	size_t size;
	const char *name; /* of a variable; NULL: an allocation */
	size_t offset;    /* of its bytes in what is kept */
};

struct other_module {
	const struct module *module;
	struct device_module *device_module;
	struct other_module *next;
};

static struct {
	const struct device_ops *ops;
	struct device *device;
	struct device_queue *queue;
	pthread_mutex_t lock; /* launches are done one at a time */
	struct other_module *modules;
	VEC(struct region) regions;
	VEC(struct region) pages; /* what the GPU reaches during a launch */
	struct map said;          /* kernels of which something was told */
	uint64_t launches, differing, skipped;
	bool keep_amd; /* the program goes on with the GPU's results */
} compare = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void summary(void)
{
	log_line(compare.differing ? LOG_ERROR : LOG_WARN,
		 "compare: %" PRIu64 " launches were done on both devices, %" PRIu64 " of them with different results; %" PRIu64 " on the CPU alone",
		 compare.launches, compare.differing, compare.skipped);
}

void compare_init(const struct device_ops *ops, struct device *device)
{
	compare.ops = ops;
	compare.device = device;
	compare.keep_amd = !strcmp(env_get("DRAGOMAN_COMPARE"), "amd");
	atexit(summary);
}

/* True the first time for this kernel. */
static bool say_once(const struct function *function)
{
	return !map_put(&compare.said, function->ptx->symbol.name, &compare);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static void see_allocation(const struct allocation *allocation, void *unused)
{
	(void)unused;
	if (!allocation->read_only)
		vec_push(&compare.regions, ((struct region){allocation->base, allocation->size, NULL, 0}));
}

static void see_variables(const struct module *module)
{
	const struct ptx_module *ptx = module->code->ptx;
	void *at;

	for (size_t i = 0; i < ptx->variables.count; i++)
		if (!module->context->ops->module_variable(module->device_module, ptx->variables.data[i], &at))
			vec_push(&compare.regions, ((struct region){(uintptr_t)at, ptx->variables.data[i]->size,
								    ptx->variables.data[i]->symbol.name, 0}));
	for (size_t f = 0; f < ptx->functions.count; f++)
		for (size_t i = 0; i < ptx->functions.data[f]->variables.count; i++) {
			const struct ptx_variable *v = ptx->functions.data[f]->variables.data[i];

			if (!module->context->ops->module_variable(module->device_module, v, &at))
				vec_push(&compare.regions, ((struct region){(uintptr_t)at, v->size, v->symbol.name, 0}));
		}
}

static int by_base(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return !x->name - !y->name; /* a variable's name tells more than the allocation that notes it */
}

/* Everything that is there, by address, each byte once. Returns the bytes to keep. */
static size_t find_regions(const struct module *module)
{
	size_t kept = 0, bytes = 0;

	compare.regions.count = 0;
	memory_map_each(see_allocation, NULL);
	see_variables(module);
	if (compare.regions.count)
		qsort(compare.regions.data, compare.regions.count, sizeof *compare.regions.data, by_base);
	for (size_t i = 0; i < compare.regions.count; i++) {
		struct region r = compare.regions.data[i];
		const struct region *last = kept ? &compare.regions.data[kept - 1] : NULL;

		if (!r.size || (last && r.base < last->base + last->size))
			continue;
		r.offset = bytes;
		bytes += r.size;
		compare.regions.data[kept++] = r;
	}
	compare.regions.count = kept;
	return bytes;
}

/* The pages that the regions lie in, in one piece where they touch. */
static CUresult reach_pages(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	CUresult status = CUDA_SUCCESS;

	compare.pages.count = 0;
	for (size_t i = 0; i < compare.regions.count; i++) {
		uintptr_t first = compare.regions.data[i].base & ~(page - 1);
		uintptr_t end = align_up(compare.regions.data[i].base + compare.regions.data[i].size, page);
		struct region *last = compare.pages.count ? &compare.pages.data[compare.pages.count - 1] : NULL;

		if (last && first <= last->base + last->size)
			last->size = end > last->base + last->size ? end - last->base : last->size;
		else if (!vec_push(&compare.pages, ((struct region){first, end - first, NULL, 0})))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (size_t i = 0; i < compare.pages.count && !status; i++) {
		status = (CUresult)compare.ops->register_host(compare.device, (void *)compare.pages.data[i].base, compare.pages.data[i].size);
		if (status)
			compare.pages.count = i;
	}
	return status;
}

static void leave_pages(void)
{
	for (size_t i = 0; i < compare.pages.count; i++)
		compare.ops->unregister_host(compare.device, (void *)compare.pages.data[i].base);
}

static void keep(uint8_t *bytes)
{
	for (size_t i = 0; i < compare.regions.count; i++)
		memcpy(bytes + compare.regions.data[i].offset, (void *)compare.regions.data[i].base, compare.regions.data[i].size);
}

static void put_back(const uint8_t *bytes)
{
	for (size_t i = 0; i < compare.regions.count; i++) {
		const struct region *r = &compare.regions.data[i];

		if (memcmp((void *)r->base, bytes + r->offset, r->size))
			memcpy((void *)r->base, bytes + r->offset, r->size);
	}
}

/* ---- the comparison -------------------------------------------------------------------------------------------- */

struct difference { /* the first region that is not the same */
	const struct region *region;
	const uint8_t *cpu;
	size_t first, words; /* the byte, and how many words of the region */
	size_t others;       /* regions */
};

static void report(const struct function *function, const struct launch_config *c, const struct difference *d)
{
	const struct region *r = d->region;
	const uint8_t *amd = (const uint8_t *)r->base;
	size_t at = d->first & ~(size_t)3, size = r->size - at < 4 ? r->size - at : 4;
	uint32_t one = 0, two = 0;
	float one_float, two_float;
	char where[300], others[64] = "";

	memcpy(&one, d->cpu + at, size);
	memcpy(&two, amd + at, size);
	memcpy(&one_float, &one, 4);
	memcpy(&two_float, &two, 4);
	if (r->name)
		snprintf(where, sizeof where, "variable %s", r->name);
	else
		snprintf(where, sizeof where, "the allocation of %zu bytes at %p", r->size, (void *)r->base);
	if (d->others)
		snprintf(others, sizeof others, ", and so do words in %zu other places", d->others);
	log_error("compare: kernel %s, grid (%u,%u,%u), block (%u,%u,%u): %s differs first at byte %zu: cpu 0x%08x (%.9g), amd 0x%08x (%.9g); "
		  "%zu of %zu words differ%s",
		  function->ptx->symbol.name, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], where, at, one,
		  (double)one_float, two, (double)two_float, d->words, (r->size + 3) / 4, others);
}

/* Against what the CPU left; true where all is the same. Only the first difference of a kernel is told. */
static bool is_same(const struct function *function, const struct launch_config *config, const uint8_t *after)
{
	struct difference found = {0};

	for (size_t i = 0; i < compare.regions.count; i++) {
		const struct region *r = &compare.regions.data[i];
		const uint8_t *cpu = after + r->offset, *amd = (const uint8_t *)r->base;
		size_t first = r->size, words = 0;

		if (!memcmp(cpu, amd, r->size))
			continue;
		for (size_t at = 0; at < r->size; at += 4) {
			size_t size = r->size - at < 4 ? r->size - at : 4;

			if (!memcmp(cpu + at, amd + at, size))
				continue;
			first = at < first ? at : first;
			words++;
		}
		if (found.region)
			found.others++;
		else
			found = (struct difference){r, cpu, first, words, 0};
	}
	if (found.region && say_once(function))
		report(function, config, &found);
	return !found.region;
}

/* ---- the other device ---------------------------------------------------------------------------------------------- */

/* The module there, with the variables of the one here. */
static CUresult other_module(const struct module *module, struct device_module **out)
{
	const struct ptx_module *ptx = module->code->ptx;
	struct ptx_diagnostic diagnostic = {0};
	struct other_module *other = compare.modules;
	CUresult status;

	while (other && other->module != module)
		other = other->next;
	if (other) {
		*out = other->device_module;
		return CUDA_SUCCESS;
	}
	status = (CUresult)compare.ops->module_load(compare.device, ptx, out, &diagnostic);
	ptx_diagnostic_fini(&diagnostic);
	for (size_t i = 0; i < compare.regions.count && !status; i++)
		if (compare.regions.data[i].name)
			status = (CUresult)compare.ops->module_bind_name(*out, compare.regions.data[i].name, (void *)compare.regions.data[i].base);
	other = status ? NULL : malloc(sizeof *other);
	if (!other)
		return status ? status : CUDA_ERROR_OUT_OF_MEMORY;
	*other = (struct other_module){module, *out, compare.modules};
	compare.modules = other;
	return CUDA_SUCCESS;
}

void compare_forget(const struct module *module)
{
	pthread_mutex_lock(&compare.lock);
	for (struct other_module **at = &compare.modules; *at; at = &(*at)->next) {
		struct other_module *other = *at;

		if (other->module != module)
			continue;
		*at = other->next;
		compare.ops->module_unload(other->device_module);
		free(other);
		break;
	}
	pthread_mutex_unlock(&compare.lock);
}

static CUresult launch_there(const struct function *function, const struct launch_config *config)
{
	struct device_module *module;
	struct device_kernel *kernel;
	uint64_t ticket;
	CUresult status = compare.queue ? CUDA_SUCCESS : (CUresult)compare.ops->queue_create(compare.device, 0, &compare.queue);

	if (!status)
		status = other_module(function->module, &module);
	if (!status)
		status = (CUresult)compare.ops->textures_adopt(compare.device);
	if (!status)
		status = (CUresult)compare.ops->module_kernel(module, function->ptx, &kernel);
	if (!status)
		status = (CUresult)compare.ops->queue_launch(compare.queue, kernel, config);
	if (status)
		return status;
	compare.ops->queue_ticket(compare.queue, &ticket);
	return (CUresult)compare.ops->queue_synchronize(compare.queue, ticket);
}

/* With the CPU's results in memory, and left there. */
static void launch_again(const struct function *function, const struct launch_config *config, const uint8_t *before, uint8_t *after)
{
	CUresult status;

	keep(after);
	status = reach_pages();
	put_back(before);
	if (!status)
		status = launch_there(function, config);
	if (status) {
		compare.skipped++;
		if (say_once(function))
			log_error("compare: kernel %s is not compared: on amd it fails with CUDA error %d", function->ptx->symbol.name, (int)status);
		if (compare.ops->error(compare.device)) {
			if (compare.queue)
				compare.ops->queue_destroy(compare.queue);
			compare.queue = NULL;
			compare.ops->reset(compare.device);
		}
	} else {
		compare.launches++;
		compare.differing += !is_same(function, config, after);
	}
	if (status || !compare.keep_amd)
		put_back(after);
	leave_pages();
}

CUresult compare_launch(struct queue *queue, struct function *function, const struct launch_config *config)
{
	const struct device_ops *ops = queue->context->ops;
	CUresult status = context_synchronize(queue->context);
	uint8_t *before, *after;
	size_t bytes;

	if (status)
		return status;
	pthread_mutex_lock(&compare.lock);
	bytes = find_regions(function->module);
	before = malloc(bytes + 1);
	after = malloc(bytes + 1);
	if (before && after)
		keep(before);
	status = (CUresult)ops->queue_launch(queue->device_queue, function->kernel, config);
	if (!status)
		status = (CUresult)ops->queue_synchronize(queue->device_queue, queue_last(queue));
	if (!status && before && after)
		launch_again(function, config, before, after);
	else if (!status)
		compare.skipped++;
	free(before);
	free(after);
	pthread_mutex_unlock(&compare.lock);
	return status;
}
