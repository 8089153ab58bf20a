/* The driver as a whole: cuInit, versions, the choice of the back end and of the devices that a program sees.
 * CUDA Driver API 6.2 "Initialization"; CUDA C++ Programming Guide, "CUDA Environment Variables". */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "driver/compare.h"
#include "driver/device_calls.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/cuda_impl.h"

struct driver driver;

extern const struct device_ops amd_device_ops __attribute__((weak)); /* not in every build */

enum { BACK_ENDS_MOST = 2 };
enum { STATE_NEW, STATE_READY, STATE_FORKED };
static _Atomic int state;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t next_id = 1;

CUresult driver_ready(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == STATE_READY ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

struct driver_device *driver_device(CUdevice ordinal)
{
	return ordinal >= 0 && ordinal < driver.count ? &driver.devices[ordinal] : NULL;
}

uint64_t driver_next_id(void)
{
	return atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
}

/* ---- which devices ------------------------------------------------------------------------------ */

struct chosen {
	const struct device_ops *ops[BACK_ENDS_MOST];
	int devices[BACK_ENDS_MOST]; /* of each */
	int back_ends, count;
};

static CUresult choose(struct chosen *chosen, const struct device_ops *ops)
{
	int count = 0;
	CUresult status = (CUresult)ops->count(&count);

	if (status || count <= 0) { /* the program hears a number alone, and was told which device to use */
		log_error("device %s cannot be used: %s", ops->name, ops->why_not && ops->why_not() ? ops->why_not() : "there is none");
		return status ? status : CUDA_ERROR_NO_DEVICE;
	}
	chosen->ops[chosen->back_ends] = ops;
	chosen->devices[chosen->back_ends++] = count;
	chosen->count += count;
	return CUDA_SUCCESS;
}

/* A GPU where one can be used, else the CPU. */
static CUresult choose_automatically(struct chosen *chosen)
{
	int count;

	if (&amd_device_ops && !amd_device_ops.count(&count))
		return choose(chosen, &amd_device_ops);
	if (&amd_device_ops)
		log_info("kernels run on the CPU: %s", amd_device_ops.why_not());
	return choose(chosen, &cpu_device_ops);
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && !strncmp(text, word, length);
}

/* "cpu", "amd", "auto", or several with commas between them, in the order in which programs are to see the devices. */
static CUresult choose_back_ends(struct chosen *chosen)
{
	const char *wanted = env_get("DRAGOMAN_DEVICE");
	CUresult status = CUDA_SUCCESS;
	size_t length;

	if (!wanted)
		return choose(chosen, &cpu_device_ops); /* DRAGOMAN_DEVICES=cpu:4: it reads the number itself */
	for (const char *at = wanted; !status && *at; at += length, at += *at == ',') {
		length = strcspn(at, ",");
		if (chosen->back_ends == BACK_ENDS_MOST)
			return api_error(CUDA_ERROR_NO_DEVICE, "DRAGOMAN_DEVICE=%s names more kinds of devices than there are", wanted);
		if (is_word(at, length, "auto"))
			status = choose_automatically(chosen);
		else if (is_word(at, length, "cpu"))
			status = choose(chosen, &cpu_device_ops);
		else if (is_word(at, length, "amd") && !&amd_device_ops)
			return api_error(CUDA_ERROR_NO_DEVICE, "DRAGOMAN_DEVICE=%s: this build has no AMD back end", wanted);
		else if (is_word(at, length, "amd"))
			status = choose(chosen, &amd_device_ops);
		else
			return api_error(CUDA_ERROR_NO_DEVICE, "DRAGOMAN_DEVICE=%s: cpu, amd, auto or a list of them was expected", wanted);
	}
	for (int i = 1; i < chosen->back_ends; i++)
		if (chosen->ops[i] == chosen->ops[0])
			return api_error(CUDA_ERROR_NO_DEVICE, "DRAGOMAN_DEVICE=%s names a kind of device twice", wanted);
	return status;
}

static int match_uuid(const char *text, size_t length, const struct driver_device *all, int count)
{
	int found = -1;

	for (int i = 0; i < count; i++) {
		char name[64];
		int n = snprintf(name, sizeof name, "GPU-");
		const uint8_t *u = all[i].properties.uuid;

		for (int k = 0; k < 16; k++)
			n += snprintf(name + n, sizeof name - (size_t)n, "%s%02x", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", u[k]);
		if (length <= (size_t)n && !strncasecmp(name, text, length)) {
			if (found >= 0)
				return -1; /* not a unique prefix */
			found = i;
		}
	}
	return found;
}

/* CUDA_VISIBLE_DEVICES: numbers, read as far as they go, or unique UUID prefixes, never mixed. The first
 * bad entry ends the list; one named twice is CUDA_ERROR_INVALID_DEVICE. */
static CUresult visible_devices(const char *text, const struct driver_device *all, int count, int *order, int *visible)
{
	bool uuids = !strncasecmp(text + strspn(text, " \t"), "GPU-", 4);

	*visible = 0;
	while (*text) {
		size_t length = strcspn(text, ",");
		const char *entry = text + strspn(text, " \t");
		char *end;
		long number = -1;

		if (uuids) {
			size_t used = length - (size_t)(entry - text);

			while (used && isspace((unsigned char)entry[used - 1]))
				used--;
			if (used >= 4 && !strncasecmp(entry, "GPU-", 4))
				number = match_uuid(entry, used, all, count);
		} else {
			errno = 0;
			number = strtol(entry, &end, 10);
			if (end == entry || errno || end > text + length)
				number = -1;
		}
		if (number < 0 || number >= count)
			break;
		for (int i = 0; i < *visible; i++)
			if (order[i] == number)
				return CUDA_ERROR_INVALID_DEVICE;
		order[(*visible)++] = (int)number;
		text += length;
		if (*text == ',')
			text++;
	}
	return *visible ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

static CUresult check_device_order(void)
{
	const char *order = getenv("CUDA_DEVICE_ORDER");

	if (!order || !*order || !strcmp(order, "FASTEST_FIRST") || !strcmp(order, "PCI_BUS_ID"))
		return CUDA_SUCCESS;
	return api_error(CUDA_ERROR_INVALID_DEVICE, "CUDA_DEVICE_ORDER=%s is not known", order);
}

static CUresult open_devices(const struct chosen *chosen, struct driver_device *all)
{
	for (int b = 0; b < chosen->back_ends; b++) {
		const struct device_ops *ops = chosen->ops[b];

		for (int i = 0; i < chosen->devices[b]; i++, all++) {
			CUresult status = (CUresult)ops->open(i, &all->device);

			if (status)
				return api_error(status, "device %d of back end \"%s\" cannot be used", i, ops->name);
			all->ops = ops;
			ops->properties(all->device, &all->properties);
		}
		if (ops->set_driver)
			ops->set_driver(&driver_for_device_code);
	}
	driver.mixed = chosen->back_ends > 1;
	return CUDA_SUCCESS;
}

/* DRAGOMAN_COMPARE: programs see the devices of the first back end, which must be the CPU's; the first of the others does again what they do. */
static CUresult prepare_comparison(struct chosen *chosen, const struct driver_device *all)
{
	const struct driver_device *other = &all[chosen->devices[0]];

	if (chosen->back_ends != 2 || chosen->ops[0] != &cpu_device_ops || !other->ops->register_host) {
		log_error("comparing needs the devices cpu,amd");
		return CUDA_ERROR_NO_DEVICE;
	}
	compare_init(other->ops, other->device);
	chosen->count = chosen->devices[0];
	driver.mixed = false;
	driver.compares = true;
	return CUDA_SUCCESS;
}

static CUresult find_devices(void)
{
	const char *filter = getenv("CUDA_VISIBLE_DEVICES");
	struct chosen chosen = {0};
	struct driver_device *all = NULL;
	int *order = NULL, visible = 0, count;
	CUresult status = check_device_order();

	if (!status)
		status = choose_back_ends(&chosen);
	if (status)
		return status;
	count = chosen.count;
	all = calloc((size_t)count, sizeof *all);
	order = calloc((size_t)count, sizeof *order);
	driver.devices = calloc((size_t)count, sizeof *driver.devices);
	status = all && order && driver.devices ? open_devices(&chosen, all) : CUDA_ERROR_OUT_OF_MEMORY;
	if (!status && env_flag("DRAGOMAN_COMPARE"))
		status = prepare_comparison(&chosen, all);
	if (status)
		goto out;
	count = chosen.count;
	for (visible = 0; visible < count; visible++)
		order[visible] = visible;
	if (filter)
		status = visible_devices(filter, all, count, order, &visible);
	if (status) {
		api_error(status, "CUDA_VISIBLE_DEVICES=%s leaves no device to use", filter);
		goto out;
	}
	for (int i = 0; i < visible; i++) {
		driver.devices[i] = all[order[i]];
		driver.devices[i].ordinal = i;
		pthread_mutex_init(&driver.devices[i].lock, NULL);
	}
	driver.count = visible;
out:
	free(all);
	free(order);
	if (status) {
		free(driver.devices);
		driver.devices = NULL;
	}
	return status;
}

/* The child of a fork has neither our threads nor a consistent state: CUDA answers NOT_INITIALIZED there. */
static void after_fork(void)
{
	if (atomic_load(&state) == STATE_READY)
		atomic_store(&state, STATE_FORKED);
	pthread_mutex_init(&init_lock, NULL);
}

CUresult impl_cuInit(unsigned int flags)
{
	const char *loading;
	CUresult status = CUDA_SUCCESS;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&state, memory_order_acquire) == STATE_READY)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&init_lock);
	switch (atomic_load(&state)) {
	case STATE_FORKED:
		status = api_error(CUDA_ERROR_NOT_INITIALIZED, "the driver was in use before fork(): it cannot be used in the child");
		break;
	case STATE_NEW:
		loading = getenv("CUDA_MODULE_LOADING");
		driver.eager_loading = loading && !strcmp(loading, "EAGER");
		status = find_devices();
		if (!status) {
			pthread_atfork(NULL, NULL, after_fork);
			atomic_store_explicit(&state, STATE_READY, memory_order_release);
		}
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&init_lock);
	return status;
}

CUresult impl_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = DRIVER_VERSION;
	return CUDA_SUCCESS;
}
