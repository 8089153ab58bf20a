/* The device runtime: launches, copies and fills that kernels ask for (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"). A call only
 * notes what is wanted, in struct amd_children; the host does it when the grid is over. Questions that only the host can answer are asked
 * while the grid runs. */
#include "devlib/amd/library.h"
#include "ir/device_runtime.h"

/* cudaError_t */
enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	INVALID_CONFIGURATION = 9,
	INVALID_MEMCPY_DIRECTION = 21,
	PENDING_COUNT_EXCEEDED = 69,
	INVALID_DEVICE_FUNCTION = 98,
	INVALID_DEVICE = 101,
	INVALID_HANDLE = 400,
	NOT_SUPPORTED = 801
};
enum { DEVICE_TO_HOST = 2 }; /* cudaMemcpyKind */

uint64_t device_allocate(launch_ptr launch, uint32_t thread, uint64_t size);
void device_release(launch_ptr launch, uint32_t thread, uint64_t pointer);

INLINE GLOBAL struct amd_children *children_of(launch_ptr launch)
{
	return (GLOBAL struct amd_children *)launch->children;
}

static GLOBAL struct amd_request *make(launch_ptr launch, uint32_t kind, uint32_t more)
{
	GLOBAL struct amd_children *c = children_of(launch);
	uint32_t bytes = ((uint32_t)sizeof(struct amd_request) + more + 63) & ~63u;
	uint64_t at = __scoped_atomic_fetch_add(&c->used, (uint64_t)bytes, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
	if (at + bytes > c->size)
		return NULL;
	GLOBAL struct amd_request *r = (GLOBAL struct amd_request *)(c->requests + at);
	r->bytes = bytes;
	r->kind = kind;
	r->order = 0;
	return r;
}

static bool is_stream(uint64_t stream)
{
	return stream <= AMD_STREAM_FIRE_AND_FORGET || stream >> 32 == AMD_STREAM_HANDLE;
}

static uint32_t put(launch_ptr launch, GLOBAL struct amd_request *r, uint64_t stream)
{
	if (!is_stream(stream))
		return INVALID_HANDLE;
	r->stream = stream;
	r->block = (block_number(launch, 2) * launch->grid[1] + block_number(launch, 1)) * launch->grid[0] + block_number(launch, 0);
	r->order = __scoped_atomic_fetch_add(&children_of(launch)->order, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM) + 1;
	return SUCCESS;
}

/* ---- launches --------------------------------------------------------------------------------------------------------- */

static uint32_t check(launch_ptr launch, uint64_t kernel, const uint32_t *grid, const uint32_t *block, uint32_t shared)
{
	uint32_t most = kernel >> 16 & 0xffff;
	if (kernel >> 56 != AMD_KERNEL_TAG)
		return INVALID_DEVICE_FUNCTION;
	for (uint32_t i = 0; i < 3; i++)
		if (!grid[i] || !block[i] || block[i] > 1024 || grid[i] > (i ? 0xffffu : 0x7fffffffu))
			return INVALID_CONFIGURATION;
	uint32_t threads = block[0] * block[1] * block[2];
	return threads > 1024 || (most && threads > most) || shared > children_of(launch)->shared_most ? INVALID_CONFIGURATION : SUCCESS;
}

INLINE void describe(GLOBAL struct amd_request *r, uint64_t kernel, const uint32_t *grid, const uint32_t *block, uint32_t shared)
{
	r->launch.kernel = kernel;
	for (uint32_t i = 0; i < 3; i++) {
		r->launch.grid[i] = grid[i];
		r->launch.block[i] = block[i];
	}
	r->launch.dynamic_shared = shared;
	r->launch.parameter_bytes = kernel & 0xffff;
}

/* The parameters' room; below 4096: an error. */
static uint64_t get_buffer(launch_ptr launch, uint64_t kernel, const uint32_t *grid, const uint32_t *block, uint32_t shared)
{
	uint32_t status = check(launch, kernel, grid, block, shared);
	GLOBAL struct amd_request *r = status ? NULL : make(launch, AMD_REQUEST_LAUNCH, kernel & 0xffff);
	if (!r)
		return status ? status : PENDING_COUNT_EXCEEDED;
	describe(r, kernel, grid, block, shared);
	return (uint64_t)(r + 1);
}

/* For any kernel: cudaGetParameterBuffer(). */
static uint64_t get_sized_buffer(launch_ptr launch, uint64_t size)
{
	GLOBAL struct amd_request *r = size > 0xffff ? NULL : make(launch, AMD_REQUEST_LAUNCH, (uint32_t)size);
	if (!r)
		return PENDING_COUNT_EXCEEDED;
	r->launch.kernel = 0;
	r->launch.parameter_bytes = (uint32_t)size;
	return (uint64_t)(r + 1);
}

static GLOBAL struct amd_request *request_of(launch_ptr launch, uint64_t buffer)
{
	GLOBAL struct amd_children *c = children_of(launch);
	GLOBAL struct amd_request *r = (GLOBAL struct amd_request *)buffer - 1;
	if ((uint64_t)r < c->requests || (uint64_t)r >= c->requests + c->size || buffer % 64)
		return NULL;
	return r->kind == AMD_REQUEST_LAUNCH && !r->order ? r : NULL;
}

static uint32_t launch_buffer(launch_ptr launch, uint64_t buffer, uint64_t stream)
{
	GLOBAL struct amd_request *r = request_of(launch, buffer);
	return r && r->launch.kernel ? put(launch, r, stream) : INVALID_VALUE;
}

static uint32_t launch_sized(launch_ptr launch, uint64_t kernel, uint64_t buffer, const uint32_t *grid, const uint32_t *block, uint32_t shared,
			     uint64_t stream)
{
	uint32_t status = check(launch, kernel, grid, block, shared);
	if (status)
		return status;
	if (!buffer) /* a kernel without parameters */
		buffer = get_sized_buffer(launch, kernel & 0xffff);
	if (buffer < 4096)
		return (uint32_t)buffer;
	GLOBAL struct amd_request *r = request_of(launch, buffer);
	if (!r || r->launch.parameter_bytes < (kernel & 0xffff))
		return INVALID_VALUE;
	describe(r, kernel, grid, block, shared);
	return put(launch, r, stream);
}

/* ---- streams and events ----------------------------------------------------------------------------------------------- */

/* Streams of device code are non-blocking, its events do not time: so their flags must say. */
static uint32_t name_object(launch_ptr launch, uint64_t *out, uint32_t handle, bool flags_right)
{
	if (!out || !flags_right)
		return INVALID_VALUE;
	uint32_t number = __scoped_atomic_fetch_add(&children_of(launch)->names, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
	*out = (uint64_t)handle << 32 | number;
	return SUCCESS;
}

static uint32_t put_event(launch_ptr launch, uint32_t kind, uint64_t event, uint64_t stream)
{
	if (event >> 32 != AMD_EVENT_HANDLE)
		return INVALID_HANDLE;
	if (kind == AMD_REQUEST_RECORD && stream == AMD_STREAM_TAIL)
		return INVALID_VALUE;
	GLOBAL struct amd_request *r = make(launch, kind, 0);
	if (!r)
		return OUT_OF_MEMORY;
	r->event = event;
	return put(launch, r, stream);
}

/* ---- copies and fills ------------------------------------------------------------------------------------------------- */

struct area {
	uint64_t at, pitch, slice;
};

static uint32_t copy(launch_ptr launch, struct area to, struct area from, const uint64_t size[3], uint32_t kind, uint64_t stream)
{
	if (kind <= DEVICE_TO_HOST)
		return INVALID_MEMCPY_DIRECTION;
	if (size[1] * size[2] > 1 && (to.pitch < size[0] || from.pitch < size[0]))
		return INVALID_VALUE;
	if (!size[0] || !size[1] || !size[2])
		return SUCCESS;
	GLOBAL struct amd_request *r = make(launch, AMD_REQUEST_COPY, 0);
	if (!r)
		return OUT_OF_MEMORY;
	r->copy.to = to.at;
	r->copy.to_pitch = to.pitch;
	r->copy.to_slice = to.slice;
	r->copy.from = from.at;
	r->copy.from_pitch = from.pitch;
	r->copy.from_slice = from.slice;
	r->copy.width = size[0];
	r->copy.height = size[1];
	r->copy.depth = size[2];
	return put(launch, r, stream);
}

static uint32_t fill(launch_ptr launch, uint64_t to, uint64_t pitch, uint32_t value, uint64_t width, uint64_t height, uint64_t stream)
{
	if (height > 1 && pitch < width)
		return INVALID_VALUE;
	if (!width || !height)
		return SUCCESS;
	GLOBAL struct amd_request *r = make(launch, AMD_REQUEST_FILL, 0);
	if (!r)
		return OUT_OF_MEMORY;
	r->fill.to = to;
	r->fill.pitch = pitch;
	r->fill.width = width;
	r->fill.height = height;
	r->fill.value = value & 0xff;
	return put(launch, r, stream);
}

/* cudaPitchedPtr, cudaPos, cudaMemcpy3DParms */
struct pitched {
	uint64_t at, pitch, width, height;
};
struct corner {
	uint64_t x, y, z;
};
struct parameters_3d {
	uint64_t from_array;
	struct corner from_corner;
	struct pitched from;
	uint64_t to_array;
	struct corner to_corner;
	struct pitched to;
	uint64_t size[3];
	uint32_t kind;
};

INLINE struct area area_of(const struct pitched *p, const struct corner *c)
{
	return (struct area){ p->at + (c->z * p->height + c->y) * p->pitch + c->x, p->pitch, p->pitch * p->height };
}

static uint32_t copy_3d(launch_ptr launch, const struct parameters_3d *p, uint64_t stream)
{
	if (!p || p->from_array || p->to_array)
		return INVALID_VALUE; /* device code has no arrays to copy */
	return copy(launch, area_of(&p->to, &p->to_corner), area_of(&p->from, &p->from_corner), p->size, p->kind, stream);
}

static uint32_t fill_3d(launch_ptr launch, const struct pitched *to, uint32_t value, const uint64_t size[3], uint64_t stream)
{
	uint32_t status = SUCCESS;
	for (uint64_t z = 0; z < size[2] && !status; z++)
		status = fill(launch, to->at + z * to->pitch * to->height, to->pitch, value, size[0], size[1], stream);
	return status;
}

/* ---- memory and questions --------------------------------------------------------------------------------------------- */

static uint32_t allocate(launch_ptr launch, uint32_t thread, uint64_t *out, uint64_t size)
{
	if (!out)
		return INVALID_VALUE;
	*out = size ? device_allocate(launch, thread, size) : 0;
	return *out || !size ? SUCCESS : OUT_OF_MEMORY;
}

INLINE uint32_t answer(int32_t *out, int32_t value)
{
	if (!out)
		return INVALID_VALUE;
	*out = value;
	return SUCCESS;
}

INLINE uint64_t error_text(GLOBAL const struct amd_children *c, uint32_t which, uint32_t status)
{
	return ((GLOBAL const uint64_t *)c->errors)[which * AMD_ERRORS + (status < AMD_ERRORS ? status : AMD_ERRORS - 1)];
}

/* ---- questions for the host ------------------------------------------------------------------------------------------- */

static uint32_t ask_alone(launch_ptr launch, uint32_t call, const uint64_t words[3], uint64_t *answers, uint32_t count)
{
	GLOBAL struct amd_question *q = &children_of(launch)->question;
	uint32_t none = AMD_QUESTION_NONE, status;
	while (!__scoped_atomic_compare_exchange_n(&q->state, &none, AMD_QUESTION_BEGUN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM)) {
		none = AMD_QUESTION_NONE;
		__builtin_amdgcn_s_sleep(1);
		leave_if_trapped(launch);
	}
	q->call = call;
	for (uint32_t i = 0; i < 3; i++)
		q->words[i] = words[i];
	__scoped_atomic_store_n(&q->state, AMD_QUESTION_ASKED, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
	while (__scoped_atomic_load_n(&q->state, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) != AMD_QUESTION_ANSWERED) {
		__builtin_amdgcn_s_sleep(1);
		leave_if_trapped(launch);
	}
	status = q->status;
	for (uint32_t i = 0; i < count; i++)
		answers[i] = q->answers[i];
	__scoped_atomic_store_n(&q->state, AMD_QUESTION_NONE, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
	return status;
}

/* The lanes one after the other: none waits while another of its wave is at it. */
static uint32_t ask(launch_ptr launch, uint32_t call, const uint64_t words[3], uint64_t *answers, uint32_t count)
{
	uint32_t lane = __builtin_amdgcn_mbcnt_hi(~0u, lane_number()), status = 0;
	for (uint64_t here = llvm_ballot(true); here; here &= here - 1)
		if (lane == (uint32_t)__builtin_ctzll(here))
			status = ask_alone(launch, call, words, answers, count);
	return status;
}

static uint32_t ask_number(launch_ptr launch, uint32_t call, int32_t *out, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t number = 0;
	uint32_t status = ask(launch, call, (const uint64_t[]){ a, b, c }, &number, 1);
	if (!out)
		return INVALID_VALUE;
	if (!status)
		*out = (int32_t)number;
	return status;
}

static uint32_t ask_limit(launch_ptr launch, uint64_t *out, uint32_t which)
{
	uint64_t limit = 0;
	uint32_t status = ask(launch, DEVICE_CALL_DeviceGetLimit, (const uint64_t[]){ which, 0, 0 }, &limit, 1);
	if (!out)
		return INVALID_VALUE;
	if (!status)
		*out = limit;
	return status;
}

/* struct cudaFuncAttributes, as far as all releases have it. */
static uint32_t ask_function(launch_ptr launch, uint64_t *out, uint64_t function)
{
	uint64_t answers[AMD_FUNCTION_SIZES + AMD_FUNCTION_WORDS];
	uint32_t status = ask(launch, DEVICE_CALL_FuncGetAttributes, (const uint64_t[]){ function, 0, 0 }, answers, AMD_FUNCTION_SIZES + AMD_FUNCTION_WORDS);
	if (!out)
		return INVALID_VALUE;
	for (uint32_t i = 0; i < AMD_FUNCTION_SIZES && !status; i++)
		out[i] = answers[i];
	for (uint32_t i = 0; i < AMD_FUNCTION_WORDS && !status; i++)
		((uint32_t *)(out + AMD_FUNCTION_SIZES))[i] = (uint32_t)answers[AMD_FUNCTION_SIZES + i];
	return status;
}

/* ---- the calls by number ---------------------------------------------------------------------------------------------- */

#define WORD(i) (*(const uint32_t *)p[i])
#define LONG(i) (*(const uint64_t *)p[i])
#define TRIPLE(i) ((const uint32_t *)p[i])
#define POINTER(i) ((void *)LONG(i))

/* A cudaError_t, or an address (4096 and up), where the call returns one. `p` points to each parameter of the call. */
ENTRY uint64_t device_runtime_call(launch_ptr launch, uint32_t thread, uint32_t number, const void *const *p)
{
	GLOBAL const struct amd_children *c = children_of(launch);
	switch (number) {
	case DEVICE_CALL_GetParameterBufferV2: return get_buffer(launch, LONG(0), TRIPLE(1), TRIPLE(2), WORD(3));
	case DEVICE_CALL_GetParameterBuffer: return get_sized_buffer(launch, LONG(1));
	case DEVICE_CALL_LaunchDeviceV2: return launch_buffer(launch, LONG(0), LONG(1));
	case DEVICE_CALL_LaunchDevice: return launch_sized(launch, LONG(0), LONG(1), TRIPLE(2), TRIPLE(3), WORD(4), LONG(5));
	case DEVICE_CALL_StreamCreateWithFlags: return name_object(launch, POINTER(0), AMD_STREAM_HANDLE, WORD(1) == 1);
	case DEVICE_CALL_EventCreateWithFlags: return name_object(launch, POINTER(0), AMD_EVENT_HANDLE, WORD(1) == 2);
	case DEVICE_CALL_StreamDestroy: return LONG(0) >> 32 == AMD_STREAM_HANDLE ? SUCCESS : INVALID_HANDLE;
	case DEVICE_CALL_EventDestroy: return LONG(0) >> 32 == AMD_EVENT_HANDLE ? SUCCESS : INVALID_HANDLE;
	case DEVICE_CALL_StreamWaitEvent: return put_event(launch, AMD_REQUEST_WAIT, LONG(1), LONG(0));
	case DEVICE_CALL_EventRecord:
	case DEVICE_CALL_EventRecordWithFlags: return put_event(launch, AMD_REQUEST_RECORD, LONG(0), LONG(1));
	case DEVICE_CALL_MemcpyAsync:
		return copy(launch, (struct area){ LONG(0), 0, 0 }, (struct area){ LONG(1), 0, 0 }, (uint64_t[]){ LONG(2), 1, 1 }, WORD(3), LONG(4));
	case DEVICE_CALL_Memcpy2DAsync:
		return copy(launch, (struct area){ LONG(0), LONG(1), 0 }, (struct area){ LONG(2), LONG(3), 0 }, (uint64_t[]){ LONG(4), LONG(5), 1 },
			    WORD(6), LONG(7));
	case DEVICE_CALL_Memcpy3DAsync: return copy_3d(launch, POINTER(0), LONG(1));
	case DEVICE_CALL_MemsetAsync: return fill(launch, LONG(0), 0, WORD(1), LONG(2), 1, LONG(3));
	case DEVICE_CALL_Memset2DAsync: return fill(launch, LONG(0), LONG(1), WORD(2), LONG(3), LONG(4), LONG(5));
	case DEVICE_CALL_Memset3DAsync: return fill_3d(launch, p[0], WORD(1), p[2], LONG(3));
	case DEVICE_CALL_Malloc: return allocate(launch, thread, POINTER(0), LONG(1));
	case DEVICE_CALL_Free: device_release(launch, thread, LONG(0)); return SUCCESS;
	case DEVICE_CALL_GetDevice: return answer(POINTER(0), c->device);
	case DEVICE_CALL_GetDeviceCount: return answer(POINTER(0), c->device_count);
	case DEVICE_CALL_RuntimeGetVersion: return answer(POINTER(0), c->version);
	case DEVICE_CALL_DeviceGetCacheConfig:
	case DEVICE_CALL_DeviceGetSharedMemConfig: return answer(POINTER(0), 0);
	case DEVICE_CALL_DeviceGetAttribute:
		return (int32_t)WORD(2) == c->device ? ask_number(launch, number, POINTER(0), WORD(1), 0, 0) : INVALID_DEVICE;
	case DEVICE_CALL_DeviceGetLimit: return ask_limit(launch, POINTER(0), WORD(1));
	case DEVICE_CALL_FuncGetAttributes: return ask_function(launch, POINTER(0), LONG(1));
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessor:
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
		return ask_number(launch, number, POINTER(0), LONG(1), WORD(2), LONG(3));
	case DEVICE_CALL_GetErrorName: return error_text(c, 0, WORD(0));
	case DEVICE_CALL_GetErrorString: return error_text(c, 1, WORD(0));
	default: return NOT_SUPPORTED;
	}
}
