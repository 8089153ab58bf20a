/* Programs' device code on its way to a module: image -> PTX -> parsed PTX, and the options and logs of the PTX
 * compiler. CUDA Driver API 6.10 "Module Management", CUjit_option. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

/* ---- options and logs ------------------------------------------------------------------------------------ */

static void empty_logs(struct jit_log *log)
{
	if (log->info && log->info_size)
		log->info[0] = '\0';
	if (log->error && log->error_size)
		log->error[0] = '\0';
	if (log->info_count)
		*log->info_count = NULL;
	if (log->error_count)
		*log->error_count = NULL;
}

CUresult jit_log_open(struct jit_log *log, unsigned count, const CUjit_option *options, void **values)
{
	memset(log, 0, sizeof *log);
	if (count && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		uintptr_t value = (uintptr_t)values[i];

		switch ((int)options[i]) {
		case CU_JIT_INFO_LOG_BUFFER: log->info = values[i]; break;
		case CU_JIT_ERROR_LOG_BUFFER: log->error = values[i]; break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			log->info_size = (uint32_t)value;
			log->info_count = &values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			log->error_size = (uint32_t)value;
			log->error_count = &values[i];
			break;
		case CU_JIT_WALL_TIME: log->wall_time = &values[i]; break;
		case CU_JIT_MAX_REGISTERS: log->max_registers = (uint32_t)value; break;
		default: /* hints for a compiler that has its own ways */
			if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
				return CUDA_ERROR_INVALID_VALUE;
			break;
		}
	}
	log->begin_ns = clock_ns();
	empty_logs(log);
	return CUDA_SUCCESS;
}

void jit_log_write(struct jit_log *log, bool error, const char *text)
{
	char *buffer;
	size_t size, used, length;
	void **count;

	if (!log)
		return;
	buffer = error ? log->error : log->info;
	size = error ? log->error_size : log->info_size;
	count = error ? log->error_count : log->info_count;
	if (!buffer || !size)
		return;
	used = strnlen(buffer, size - 1);
	length = strlen(text);
	if (length > size - 1 - used)
		length = size - 1 - used;
	memcpy(buffer + used, text, length);
	buffer[used + length] = '\0';
	if (count)
		*count = (void *)(used + length + 1);
}

void jit_log_close(struct jit_log *log)
{
	float milliseconds = (float)(clock_ns() - log->begin_ns) / 1e6f;
	uint32_t bits;

	if (!log->wall_time)
		return;
	memcpy(&bits, &milliseconds, sizeof bits); /* a float in the place of a pointer, as the manual has it */
	*log->wall_time = (void *)(uintptr_t)bits;
}

void jit_limit_registers(const struct jit_log *log, struct ptx_module *ptx)
{
	for (size_t i = 0; log && log->max_registers && i < ptx->functions.count; i++) {
		struct ptx_function *function = ptx->functions.data[i];

		if (function->is_entry && (!function->maxnreg || function->maxnreg > log->max_registers))
			function->maxnreg = log->max_registers;
	}
}

/* ---- images ------------------------------------------------------------------------------------------------ */

static CUresult fail(struct code *code, struct jit_log *log, enum fatbin_status status, const char *message)
{
	static const CUresult statuses[] = {
		[FATBIN_INVALID] = CUDA_ERROR_INVALID_IMAGE,
		[FATBIN_NO_BINARY] = CUDA_ERROR_NO_BINARY_FOR_GPU,
		[FATBIN_NO_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
	};

	(void)code;
	jit_log_write(log, true, message);
	return api_error(statuses[status], "%s", message);
}

/* Device capability that PTX is chosen for; all devices of a back end show the same. */
static unsigned target_sm(void)
{
	const struct device_properties *properties = &driver.devices[0].properties;

	return (unsigned)(properties->major * 10 + properties->minor);
}

static bool every_unit_has_ptx(const struct fatbin *fatbin)
{
	for (uint32_t i = 0; i < fatbin->unit_count; i++)
		if (!fatbin_best_ptx(fatbin, i, target_sm()))
			return false;
	return fatbin->unit_count > 0;
}

static CUresult code_choose(struct code *code, struct jit_log *log)
{
	struct fatbin_error error = {0};
	enum fatbin_status status = fatbin_choose_ptx(&code->fatbin, target_sm(), &code->choice, &error);

	return status ? fail(code, log, status, error.message) : CUDA_SUCCESS;
}

CUresult code_open(const void *image, size_t size, bool keep, struct jit_log *log, struct code **out)
{
	struct fatbin_error error = {0};
	struct code *code = calloc(1, sizeof *code);
	enum fatbin_status opened;
	CUresult status = CUDA_SUCCESS;

	if (!code)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_init(&code->uses, 1);
	pthread_mutex_init(&code->lock, NULL);
	opened = fatbin_open(image, size, &code->fatbin, &error);
	if (opened)
		status = fail(code, log, opened, error.message);
	else if (keep && every_unit_has_ptx(&code->fatbin))
		code->undecided = true;
	else
		status = code_choose(code, log);
	if (!code->undecided)
		fatbin_close(&code->fatbin);
	if (status) {
		code_drop(code);
		return status;
	}
	*out = code;
	return CUDA_SUCCESS;
}

static CUresult parse_failed(struct code *code, struct jit_log *log, struct ptx_diagnostic *diagnostic)
{
	const char *message = diagnostic->message ? diagnostic->message : "the PTX cannot be read\n";

	code->message = strdup(message);
	jit_log_write(log, true, message);
	ptx_diagnostic_fini(diagnostic);
	return api_error(CUDA_ERROR_INVALID_PTX, "%s", code->message ? code->message : "");
}

static CUresult parse_units(struct code *code, struct jit_log *log)
{
	uint32_t count = code->choice.count;
	struct ptx_module **units = calloc(count ? count : 1, sizeof *units);
	struct ptx_diagnostic diagnostic = {0};
	CUresult status = units ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	if (!count && !status)
		status = api_error(CUDA_ERROR_NO_BINARY_FOR_GPU, "there is nothing in it but NVIDIA's cudadevrt, which is not needed");
	for (uint32_t i = 0; i < count && !status; i++) {
		const char *text = code->choice.units[i].text;
		size_t length = code->choice.units[i].length;

		units[i] = count == 1 ? sizes_parse(code, text, length, &diagnostic) : ptx_parse(text, length, "PTX", &diagnostic);
		if (!units[i])
			status = parse_failed(code, log, &diagnostic);
	}
	if (!status && count == 1) {
		code->ptx = units[0];
		units[0] = NULL;
	} else if (!status) {
		code->ptx = ptx_link((const struct ptx_module *const *)units, count, &diagnostic);
		if (!code->ptx)
			status = parse_failed(code, log, &diagnostic);
	}
	for (uint32_t i = 0; units && i < count; i++)
		if (units[i])
			ptx_destroy(units[i]);
	free(units);
	return status;
}

CUresult code_parse(struct code *code, struct jit_log *log)
{
	CUresult status = CUDA_SUCCESS;

	pthread_mutex_lock(&code->lock);
	if (code->failure) {
		status = code->failure;
		if (code->message)
			jit_log_write(log, true, code->message);
	} else if (!code->ptx) {
		if (code->undecided) {
			status = code_choose(code, log);
			fatbin_close(&code->fatbin);
			code->undecided = false;
		}
		if (!status)
			status = parse_units(code, log);
		if (!status)
			jit_limit_registers(log, code->ptx);
		fatbin_choice_fini(&code->choice);
		code->failure = status;
	}
	pthread_mutex_unlock(&code->lock);
	return status;
}

struct code *code_of_ptx(struct ptx_module *ptx)
{
	struct code *code = calloc(1, sizeof *code);

	if (!code)
		return NULL;
	atomic_init(&code->uses, 1);
	pthread_mutex_init(&code->lock, NULL);
	code->ptx = ptx;
	return code;
}

void code_hold(struct code *code)
{
	atomic_fetch_add(&code->uses, 1);
}

void code_drop(struct code *code)
{
	if (!code || atomic_fetch_sub(&code->uses, 1) != 1)
		return;
	if (code->undecided)
		fatbin_close(&code->fatbin);
	fatbin_choice_fini(&code->choice);
	if (code->ptx)
		ptx_destroy(code->ptx);
	free(code->sizes);
	free(code->message);
	pthread_mutex_destroy(&code->lock);
	free(code);
}
