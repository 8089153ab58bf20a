/* Tensor maps: descriptions of tensors in global memory, for copies by tensor coordinates. CUDA Driver API 6.30.
 *
 * The 128 bytes are opaque to programs: these are laid out as `struct tensor_map` says. A map may be made on any device; the
 * instructions that read one (cp.async.bulk.tensor) are refused by name, as they are on what is shown to programs, sm_80. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"

enum { RANK_MOST = 5, BOX_MOST = 256, STEP_MOST = 8, PIXELS_MOST = 1024 };
enum map_kind { MAP_TILED = 1, MAP_IM2COL, MAP_IM2COL_WIDE };

struct tensor_map {
	uint64_t address;
	uint64_t strides[RANK_MOST - 1];  /* bytes */
	uint32_t last[RANK_MOST];         /* of each dimension the last index: a dimension may be 2^32 */
	uint16_t box[RANK_MOST];          /* tiled */
	uint16_t channels, pixels;        /* im2col: of a pixel, of a column */
	int16_t lower[3], upper[3];       /* im2col: corners of the box of pixels */
	uint8_t steps[RANK_MOST];
	uint8_t kind, type, rank, interleave, swizzle, promotion, fill, mode;
};
_Static_assert(sizeof(struct tensor_map) <= sizeof(CUtensorMap), "a tensor map has 128 bytes");

/* What all kinds have; arrays are the caller's. */
struct shape {
	CUtensorMapDataType type;
	cuuint32_t rank;
	void *address;
	const cuuint64_t *dims, *strides;
	const cuuint32_t *steps;
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapL2promotion promotion;
	CUtensorMapFloatOOBfill fill;
	cuuint32_t inner; /* elements of the innermost dimension that one copy moves */
};

static bool is_packed16(CUtensorMapDataType type)
{
	return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B || type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

static unsigned bits_of(CUtensorMapDataType type)
{
	static const uint8_t bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};

	return (unsigned)type < ARRAY_LENGTH(bits) ? bits[type] : 0;
}

static bool is_float(CUtensorMapDataType type)
{
	return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

static unsigned swizzle_bytes(CUtensorMapSwizzle swizzle)
{
	return swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 128;
}

static CUresult wrong(const char *what)
{
	return api_error(CUDA_ERROR_INVALID_VALUE, "tensor map: %s", what);
}

static CUresult check_memory(const struct shape *s)
{
	unsigned align = s->interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_packed16(s->type) ? 32 : 16;
	unsigned multiple = is_packed16(s->type) ? 128 : s->type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B ? 2 : 1;

	if (!s->address || (uintptr_t)s->address % align)
		return wrong("the global address is not aligned");
	for (cuuint32_t i = 0; i < s->rank; i++)
		if (!s->dims[i] || s->dims[i] > UINT64_C(1) << 32)
			return wrong("a dimension is 0 or above 2^32");
	if (s->dims[0] % multiple)
		return wrong("packed elements need a multiple of 128, or 2, in the first dimension");
	for (cuuint32_t i = 0; i + 1 < s->rank; i++)
		if (s->strides[i] % align || s->strides[i] >= UINT64_C(1) << 40)
			return wrong("a stride is not a multiple of 16 or 32 bytes, or is above 2^40");
	for (cuuint32_t i = 0; i < s->rank; i++)
		if ((i || s->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) && (!s->steps[i] || s->steps[i] > STEP_MOST))
			return wrong("an element stride is not from 1 to 8");
	return CUDA_SUCCESS;
}

static CUresult check_layout(const struct shape *s)
{
	bool plain = s->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
	unsigned inner_bytes = s->inner * bits_of(s->type) / 8;

	if (s->inner > BOX_MOST || !s->inner || (is_packed16(s->type) && s->inner != 128))
		return wrong("the innermost extent is not from 1 to 256 (128 for packed elements)");
	if (plain && (inner_bytes % 16 || s->inner * bits_of(s->type) % 8))
		return wrong("the innermost extent is not a multiple of 16 bytes");
	if (plain && s->swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && inner_bytes > swizzle_bytes(s->swizzle))
		return wrong("the innermost extent is longer than the swizzle's span");
	if (s->interleave == CU_TENSOR_MAP_INTERLEAVE_32B && s->swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
		return wrong("an interleave of 32 bytes goes with a swizzle of 32 bytes");
	if (is_packed16(s->type) && (!plain || (s->swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && s->swizzle != CU_TENSOR_MAP_SWIZZLE_128B &&
						s->swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B &&
						s->swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)))
		return wrong("a swizzle or interleave that packed elements do not have");
	if (s->fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA && !is_float(s->type))
		return wrong("NaN outside of the tensor is for floating-point types");
	return CUDA_SUCCESS;
}

static CUresult check(const CUtensorMap *map, const struct shape *s, cuuint32_t rank_least)
{
	CUresult status;

	REQUIRE_READY();
	if (!map || (uintptr_t)map % 64 || !s->dims || !s->steps || (s->rank > 1 && !s->strides))
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)s->interleave > CU_TENSOR_MAP_INTERLEAVE_32B || (unsigned)s->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
	    (unsigned)s->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B || !bits_of(s->type) ||
	    (unsigned)s->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank_least < 3)
		rank_least = 3;
	if (s->rank < rank_least || s->rank > RANK_MOST)
		return wrong("a rank that it cannot have");
	status = check_memory(s);
	return status ? status : check_layout(s);
}

static struct tensor_map encode(const struct shape *s, enum map_kind kind)
{
	struct tensor_map map;

	memset(&map, 0, sizeof map);
	map.kind = (uint8_t)kind;
	map.type = (uint8_t)s->type;
	map.rank = (uint8_t)s->rank;
	map.interleave = (uint8_t)s->interleave;
	map.swizzle = (uint8_t)s->swizzle;
	map.promotion = (uint8_t)s->promotion;
	map.fill = (uint8_t)s->fill;
	map.address = (uintptr_t)s->address;
	for (cuuint32_t i = 0; i < s->rank; i++) {
		map.last[i] = (uint32_t)(s->dims[i] - 1);
		map.steps[i] = (uint8_t)s->steps[i];
		if (i + 1 < s->rank)
			map.strides[i] = s->strides[i];
	}
	if (s->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE)
		map.steps[0] = 1; /* there is no stride in the first dimension then, whatever the program says */
	return map;
}

static void put(CUtensorMap *out, const struct tensor_map *map)
{
	memset(out, 0, sizeof *out);
	memcpy(out, map, sizeof *map);
}

CUresult impl_cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
				     const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
				     const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	struct shape s = {type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill, box ? box[0] : 0};
	struct tensor_map map;
	CUresult status = box ? check(out, &s, 1) : CUDA_ERROR_INVALID_VALUE;

	if (status)
		return status;
	map = encode(&s, MAP_TILED);
	for (cuuint32_t i = 0; i < rank; i++) {
		if (!box[i] || box[i] > BOX_MOST)
			return wrong("an extent of the box is not from 1 to 256");
		map.box[i] = (uint16_t)box[i];
	}
	put(out, &map);
	return CUDA_SUCCESS;
}

/* The corners of one dimension: in range, and leaving some of it. */
static CUresult set_corner(struct tensor_map *map, unsigned i, int lower, int upper, int limit)
{
	if (lower < -limit || lower >= limit || upper < -limit || upper >= limit)
		return wrong("a corner of the box is out of range");
	if ((int64_t)map->last[i + 1] + 1 + upper - lower <= 0)
		return wrong("the box of pixels is empty");
	map->lower[i] = (int16_t)lower;
	map->upper[i] = (int16_t)upper;
	return CUDA_SUCCESS;
}

CUresult impl_cuTensorMapEncodeIm2col(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
				      const cuuint64_t *dims, const cuuint64_t *strides, const int *lower, const int *upper,
				      cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps, CUtensorMapInterleave interleave,
				      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	static const int limits[] = {32768, 128, 16}; /* by the number of corners */
	struct shape s = {type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill, channels};
	struct tensor_map map;
	CUresult status = lower && upper ? check(out, &s, 3) : CUDA_ERROR_INVALID_VALUE;

	if (status)
		return status;
	if (!pixels || pixels > PIXELS_MOST)
		return wrong("a column has from 1 to 1024 pixels");
	map = encode(&s, MAP_IM2COL);
	map.channels = (uint16_t)channels;
	map.pixels = (uint16_t)pixels;
	for (unsigned i = 0; i < rank - 2 && !status; i++)
		status = set_corner(&map, i, lower[i], upper[i], limits[rank - 3]);
	if (!status)
		put(out, &map);
	return status;
}

CUresult impl_cuTensorMapEncodeIm2colWide(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
					  const cuuint64_t *dims, const cuuint64_t *strides, int lower, int upper, cuuint32_t channels,
					  cuuint32_t pixels, const cuuint32_t *steps, CUtensorMapInterleave interleave,
					  CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
					  CUtensorMapFloatOOBfill fill)
{
	struct shape s = {type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill, channels};
	struct tensor_map map;
	CUresult status = check(out, &s, 3);

	if (status)
		return status;
	if ((unsigned)mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 ||
	    (swizzle != CU_TENSOR_MAP_SWIZZLE_64B && swizzle != CU_TENSOR_MAP_SWIZZLE_128B &&
	     swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B))
		return wrong("a mode or swizzle that wide copies do not have");
	if (mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W && (!pixels || pixels > PIXELS_MOST))
		return wrong("a column has from 1 to 1024 pixels");
	map = encode(&s, MAP_IM2COL_WIDE);
	map.channels = (uint16_t)channels;
	map.pixels = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W ? (uint16_t)pixels : 0;
	map.mode = (uint8_t)mode;
	status = set_corner(&map, 0, lower, upper, 32768);
	if (!status)
		put(out, &map);
	return status;
}

CUresult impl_cuTensorMapReplaceAddress(CUtensorMap *out, void *address)
{
	struct tensor_map map;
	unsigned align;

	REQUIRE_READY();
	if (!out || (uintptr_t)out % 64)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&map, out, sizeof map);
	if (map.kind < MAP_TILED || map.kind > MAP_IM2COL_WIDE)
		return wrong("it was not encoded");
	align = map.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_packed16((CUtensorMapDataType)map.type) ? 32 : 16;
	if (!address || (uintptr_t)address % align)
		return wrong("the global address is not aligned");
	map.address = (uintptr_t)address;
	put(out, &map);
	return CUDA_SUCCESS;
}
