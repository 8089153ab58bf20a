/* Copies and sets. CUDA Runtime API, "Memory Management"; "API synchronization behavior". Copies of one, two and three
 * dimensions all become the driver's three-dimensional one, except those of plain bytes, which have a shorter way. */
#include "runtime.h"

/* ---- plain bytes -------------------------------------------------------------------------------------------------------- */

static CUresult bytes_wait(CUdeviceptr to, CUdeviceptr from, size_t size, enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice: return cuMemcpyHtoD_v2(to, host_pointer(from), size);
	case cudaMemcpyDeviceToHost: return cuMemcpyDtoH_v2(host_pointer(to), from, size);
	case cudaMemcpyDeviceToDevice: return cuMemcpyDtoD_v2(to, from, size);
	default: return cuMemcpy(to, from, size);
	}
}

static CUresult bytes_async(CUdeviceptr to, CUdeviceptr from, size_t size, enum cudaMemcpyKind kind, CUstream stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice: return cuMemcpyHtoDAsync_v2(to, host_pointer(from), size, stream);
	case cudaMemcpyDeviceToHost: return cuMemcpyDtoHAsync_v2(host_pointer(to), from, size, stream);
	case cudaMemcpyDeviceToDevice: return cuMemcpyDtoDAsync_v2(to, from, size, stream);
	default: return cuMemcpyAsync(to, from, size, stream);
	}
}

static bool kind_is_valid(enum cudaMemcpyKind kind)
{
	return (unsigned)kind <= cudaMemcpyDefault;
}

cudaError_t copy_bytes(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream, bool wait)
{
	CUdeviceptr device_to = device_pointer(to), device_from = device_pointer(from);
	if (!kind_is_valid(kind))
		return (cudaError_t)api_error(cudaErrorInvalidMemcpyDirection, "%d is no direction", (int)kind);
	if (!size)
		return cudaSuccess;
	if (wait && !stream)
		return (cudaError_t)bytes_wait(device_to, device_from, size, kind);
	CUresult result = bytes_async(device_to, device_from, size, kind, stream);
	return (cudaError_t)(result || !wait ? result : cuStreamSynchronize(stream));
}

cudaError_t impl_cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
	return RUNTIME(copy_bytes(to, from, size, kind, runtime_default_stream(), true));
}

cudaError_t impl_cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return RUNTIME(copy_bytes(to, from, size, kind, stream, false));
}

/* ---- in the driver's terms ------------------------------------------------------------------------------------------------- */

static CUmemorytype kind_from(enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyHostToDevice: return CU_MEMORYTYPE_HOST;
	case cudaMemcpyDeviceToHost:
	case cudaMemcpyDeviceToDevice: return CU_MEMORYTYPE_DEVICE;
	default: return CU_MEMORYTYPE_UNIFIED;
	}
}

static CUmemorytype kind_to(enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyDeviceToHost: return CU_MEMORYTYPE_HOST;
	case cudaMemcpyHostToDevice:
	case cudaMemcpyDeviceToDevice: return CU_MEMORYTYPE_DEVICE;
	default: return CU_MEMORYTYPE_UNIFIED;
	}
}

static void copy_set_from(CUDA_MEMCPY3D *copy, CUmemorytype type, const void *pointer, size_t pitch, size_t height)
{
	copy->srcMemoryType = type;
	if (type == CU_MEMORYTYPE_HOST)
		copy->srcHost = pointer;
	else
		copy->srcDevice = device_pointer(pointer);
	copy->srcPitch = pitch;
	copy->srcHeight = height;
}

static void copy_set_to(CUDA_MEMCPY3D *copy, CUmemorytype type, void *pointer, size_t pitch, size_t height)
{
	copy->dstMemoryType = type;
	if (type == CU_MEMORYTYPE_HOST)
		copy->dstHost = pointer;
	else
		copy->dstDevice = device_pointer(pointer);
	copy->dstPitch = pitch;
	copy->dstHeight = height;
}

static void copy_set_from_array(CUDA_MEMCPY3D *copy, cudaArray_const_t array, size_t x, size_t y, size_t z)
{
	copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
	copy->srcArray = (CUarray)(uintptr_t)array;
	copy->srcXInBytes = x;
	copy->srcY = y;
	copy->srcZ = z;
}

static void copy_set_to_array(CUDA_MEMCPY3D *copy, cudaArray_const_t array, size_t x, size_t y, size_t z)
{
	copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
	copy->dstArray = (CUarray)(uintptr_t)array;
	copy->dstXInBytes = x;
	copy->dstY = y;
	copy->dstZ = z;
}

cudaError_t copy_linear(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy)
{
	if (!kind_is_valid(kind))
		return cudaErrorInvalidMemcpyDirection;
	*copy = (CUDA_MEMCPY3D){ .WidthInBytes = size, .Height = 1, .Depth = 1 };
	copy_set_from(copy, kind_from(kind), from, size, 1);
	copy_set_to(copy, kind_to(kind), to, size, 1);
	return cudaSuccess;
}

/* Extents and positions in an array are in its elements; elsewhere in bytes, except that the extent follows the array where
 * one takes part ("cudaMemcpy3D"). */
cudaError_t copy_to_driver(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *copy)
{
	const struct cudaMemcpy3DParms *p = parameters;
	size_t from_element = 1, to_element = 1;
	cudaError_t error = cudaSuccess;
	if (!p || !kind_is_valid(p->kind))
		return p ? cudaErrorInvalidMemcpyDirection : cudaErrorInvalidValue;
	if (!p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr)
		return (cudaError_t)api_error(cudaErrorInvalidValue, "each side needs an array or a pointer, and not both");
	if (p->srcArray)
		error = array_element_size((CUarray)p->srcArray, &from_element);
	if (p->dstArray && !error)
		error = array_element_size((CUarray)p->dstArray, &to_element);
	if (!error && p->srcArray && p->dstArray && from_element != to_element)
		error = (cudaError_t)api_error(cudaErrorInvalidValue, "elements of %zu and of %zu bytes", from_element, to_element);
	if (error)
		return error;

	size_t width = p->extent.width * (p->srcArray ? from_element : to_element);
	*copy = (CUDA_MEMCPY3D){ .WidthInBytes = width, .Height = p->extent.height, .Depth = p->extent.depth };
	if (p->srcArray) {
		copy_set_from_array(copy, p->srcArray, p->srcPos.x * from_element, p->srcPos.y, p->srcPos.z);
	} else {
		copy_set_from(copy, kind_from(p->kind), p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.ysize);
		copy->srcXInBytes = p->srcPos.x;
		copy->srcY = p->srcPos.y;
		copy->srcZ = p->srcPos.z;
	}
	if (p->dstArray) {
		copy_set_to_array(copy, p->dstArray, p->dstPos.x * to_element, p->dstPos.y, p->dstPos.z);
	} else {
		copy_set_to(copy, kind_to(p->kind), p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.ysize);
		copy->dstXInBytes = p->dstPos.x;
		copy->dstY = p->dstPos.y;
		copy->dstZ = p->dstPos.z;
	}
	if (p->extent.height > 1 || p->extent.depth > 1)
		if ((!p->srcArray && width > p->srcPtr.pitch) || (!p->dstArray && width > p->dstPtr.pitch))
			return (cudaError_t)api_error(cudaErrorInvalidPitchValue, "a row of %zu bytes is longer than a pitch", width);
	return cudaSuccess;
}

static enum cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to)
{
	if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	if (from == CU_MEMORYTYPE_HOST)
		return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
	return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

cudaError_t copy_from_driver(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *parameters)
{
	struct cudaMemcpy3DParms *p = parameters;
	size_t from_element = 1, to_element = 1;
	cudaError_t error = cudaSuccess;
	if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY)
		error = array_element_size(copy->srcArray, &from_element);
	if (copy->dstMemoryType == CU_MEMORYTYPE_ARRAY && !error)
		error = array_element_size(copy->dstArray, &to_element);
	if (error)
		return error;

	*p = (struct cudaMemcpy3DParms){ .kind = kind_of(copy->srcMemoryType, copy->dstMemoryType) };
	p->srcPos = (struct cudaPos){ copy->srcXInBytes / from_element, copy->srcY, copy->srcZ };
	p->dstPos = (struct cudaPos){ copy->dstXInBytes / to_element, copy->dstY, copy->dstZ };
	size_t element = from_element > 1 ? from_element : to_element;
	p->extent = (struct cudaExtent){ copy->WidthInBytes / element, copy->Height, copy->Depth };
	if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY)
		p->srcArray = (cudaArray_t)copy->srcArray;
	else
		p->srcPtr = (struct cudaPitchedPtr){
			copy->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)copy->srcHost : host_pointer(copy->srcDevice),
			copy->srcPitch, copy->WidthInBytes, copy->srcHeight
		};
	if (copy->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		p->dstArray = (cudaArray_t)copy->dstArray;
	else
		p->dstPtr = (struct cudaPitchedPtr){
			copy->dstMemoryType == CU_MEMORYTYPE_HOST ? copy->dstHost : host_pointer(copy->dstDevice),
			copy->dstPitch, copy->WidthInBytes, copy->dstHeight
		};
	return cudaSuccess;
}

CUresult copy_issue(const CUDA_MEMCPY3D *copy, cudaStream_t stream, bool wait)
{
	if (!copy->WidthInBytes || !copy->Height || !copy->Depth)
		return CUDA_SUCCESS;
	if (wait && !stream)
		return cuMemcpy3D_v2(copy);
	CUresult result = cuMemcpy3DAsync_v2(copy, stream);
	return result || !wait ? result : cuStreamSynchronize(stream);
}

/* ---- two dimensions ---------------------------------------------------------------------------------------------------------- */

static cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
			   enum cudaMemcpyKind kind, cudaStream_t stream, bool wait)
{
	CUDA_MEMCPY3D copy = { .WidthInBytes = width, .Height = height, .Depth = 1 };
	RUNTIME_REQUIRE();
	if (!kind_is_valid(kind))
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "%d is no direction", (int)kind);
	if (width > to_pitch || width > from_pitch)
		return runtime_fail(cudaErrorInvalidPitchValue, "rows of %zu bytes, pitches of %zu (to) and %zu (from)", width,
				    to_pitch, from_pitch);
	copy_set_from(&copy, kind_from(kind), from, from_pitch, height);
	copy_set_to(&copy, kind_to(kind), to, to_pitch, height);
	return runtime_result(copy_issue(&copy, stream, wait));
}

cudaError_t impl_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
			      enum cudaMemcpyKind kind)
{
	return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
				   enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, stream, false);
}

static cudaError_t copy_2d_to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
				    size_t height, enum cudaMemcpyKind kind, cudaStream_t stream, bool wait)
{
	CUDA_MEMCPY3D copy = { .WidthInBytes = width, .Height = height, .Depth = 1 };
	RUNTIME_REQUIRE();
	if (!kind_is_valid(kind))
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "%d is no direction", (int)kind);
	if (width > pitch)
		return runtime_fail(cudaErrorInvalidPitchValue, "rows of %zu bytes, a pitch of %zu", width, pitch);
	copy_set_from(&copy, kind_from(kind), from, pitch, height);
	copy_set_to_array(&copy, to, x, y, 0);
	return runtime_result(copy_issue(&copy, stream, wait));
}

cudaError_t impl_cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
				     size_t height, enum cudaMemcpyKind kind)
{
	return copy_2d_to_array(to, x, y, from, pitch, width, height, kind, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
					  size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_2d_to_array(to, x, y, from, pitch, width, height, kind, stream, false);
}

static cudaError_t copy_2d_from_array(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
				      size_t height, enum cudaMemcpyKind kind, cudaStream_t stream, bool wait)
{
	CUDA_MEMCPY3D copy = { .WidthInBytes = width, .Height = height, .Depth = 1 };
	RUNTIME_REQUIRE();
	if (!kind_is_valid(kind))
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "%d is no direction", (int)kind);
	if (width > pitch)
		return runtime_fail(cudaErrorInvalidPitchValue, "rows of %zu bytes, a pitch of %zu", width, pitch);
	copy_set_from_array(&copy, from, x, y, 0);
	copy_set_to(&copy, kind_to(kind), to, pitch, height);
	return runtime_result(copy_issue(&copy, stream, wait));
}

cudaError_t impl_cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
				       size_t height, enum cudaMemcpyKind kind)
{
	return copy_2d_from_array(to, pitch, from, x, y, width, height, kind, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
					    size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_2d_from_array(to, pitch, from, x, y, width, height, kind, stream, false);
}

cudaError_t impl_cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
					  size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D copy = { .WidthInBytes = width, .Height = height, .Depth = 1 };
	RUNTIME_REQUIRE();
	if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "arrays are device memory");
	copy_set_from_array(&copy, from, from_x, from_y, 0);
	copy_set_to_array(&copy, to, to_x, to_y, 0);
	return runtime_result(copy_issue(&copy, runtime_default_stream(), true));
}

/* ---- bytes of arrays, row after row --------------------------------------------------------------------------------------------- */

struct row_place { /* where in an array, or in plain memory (row_bytes 0) */
	cudaArray_const_t array;
	const char *pointer;
	CUmemorytype type;
	size_t x, y, row_bytes;
};

static cudaError_t row_place_open(struct row_place *place)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	size_t element;
	if (!place->array)
		return cudaSuccess;
	CUresult result = cuArray3DGetDescriptor_v2(&descriptor, (CUarray)(uintptr_t)place->array);
	if (result)
		return (cudaError_t)result;
	cudaError_t error = array_element_size((CUarray)(uintptr_t)place->array, &element);
	place->row_bytes = descriptor.Width * element;
	return !error && place->x >= place->row_bytes ? cudaErrorInvalidValue : error;
}

static size_t row_place_room(const struct row_place *place)
{
	return place->array ? place->row_bytes - place->x : SIZE_MAX;
}

static void row_place_advance(struct row_place *place, size_t bytes)
{
	if (!place->array) {
		place->pointer += bytes;
	} else if ((place->x += bytes) == place->row_bytes) {
		place->x = 0;
		place->y++;
	}
}

/* cudaMemcpyToArray() and its like: `count` bytes, going on at the start of the next row where one ends. */
static cudaError_t copy_rows(struct row_place to, struct row_place from, size_t count, cudaStream_t stream, bool wait)
{
	RUNTIME_REQUIRE();
	cudaError_t error = row_place_open(&to);
	if (!error)
		error = row_place_open(&from);
	while (count && !error) {
		size_t bytes = row_place_room(&to) < row_place_room(&from) ? row_place_room(&to) : row_place_room(&from);
		bytes = bytes < count ? bytes : count;
		CUDA_MEMCPY3D copy = { .WidthInBytes = bytes, .Height = 1, .Depth = 1 };
		if (from.array)
			copy_set_from_array(&copy, from.array, from.x, from.y, 0);
		else
			copy_set_from(&copy, from.type, from.pointer, bytes, 1);
		if (to.array)
			copy_set_to_array(&copy, to.array, to.x, to.y, 0);
		else
			copy_set_to(&copy, to.type, (void *)(uintptr_t)to.pointer, bytes, 1);
		error = (cudaError_t)copy_issue(&copy, stream, wait);
		row_place_advance(&to, bytes);
		row_place_advance(&from, bytes);
		count -= bytes;
	}
	return runtime_result(error);
}

static cudaError_t copy_to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t count, enum cudaMemcpyKind kind,
				 cudaStream_t stream, bool wait)
{
	if (!kind_is_valid(kind) || kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "direction %d into an array", (int)kind);
	if (!to || !from)
		return runtime_result(cudaErrorInvalidValue);
	return copy_rows((struct row_place){ .array = to, .x = x, .y = y },
			 (struct row_place){ .pointer = from, .type = kind_from(kind) }, count, stream, wait);
}

static cudaError_t copy_from_array(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count, enum cudaMemcpyKind kind,
				   cudaStream_t stream, bool wait)
{
	if (!kind_is_valid(kind) || kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "direction %d out of an array", (int)kind);
	if (!to || !from)
		return runtime_result(cudaErrorInvalidValue);
	return copy_rows((struct row_place){ .pointer = to, .type = kind_to(kind) },
			 (struct row_place){ .array = from, .x = x, .y = y }, count, stream, wait);
}

cudaError_t impl_cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t count, enum cudaMemcpyKind kind)
{
	return copy_to_array(to, x, y, from, count, kind, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
					enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_to_array(to, x, y, from, count, kind, stream, false);
}

cudaError_t impl_cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
				     enum cudaMemcpyKind kind)
{
	return copy_from_array(to, from, x, y, count, kind, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
					  enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_from_array(to, from, x, y, count, kind, stream, false);
}

cudaError_t impl_cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
					size_t from_y, size_t count, enum cudaMemcpyKind kind)
{
	if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "arrays are device memory");
	if (!to || !from)
		return runtime_result(cudaErrorInvalidValue);
	return copy_rows((struct row_place){ .array = to, .x = to_x, .y = to_y },
			 (struct row_place){ .array = from, .x = from_x, .y = from_y }, count, runtime_default_stream(), true);
}

/* ---- three dimensions --------------------------------------------------------------------------------------------------------- */

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream, bool wait)
{
	CUDA_MEMCPY3D copy;
	RUNTIME_REQUIRE();
	cudaError_t error = copy_to_driver(parameters, &copy);
	return runtime_result(error ? (int)error : (int)copy_issue(&copy, stream, wait));
}

cudaError_t impl_cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
	return copy_3d(parameters, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream)
{
	return copy_3d(parameters, stream, false);
}
