/* Surface accesses. PTX ISA 9.7.11 (suld, sust, sured); CUDA C++ Programming Guide, "Surface Memory". x counts bytes, or
 * texels in the formatted instructions. Outside the surface: .trap ends the kernel, .clamp moves to the last place where the whole access
 * fits, .zero reads 0 and writes nothing; an x that is not a multiple of the access is an error in all of them. */
#include "backend/common/texture.h"

#include <stddef.h>

static int64_t clamped(int64_t value, int64_t count)
{
	return value < 0 ? 0 : value >= count ? count - 1 : value;
}

static int64_t slice_count(const struct surface_access *a)
{
	RECORD struct texture_description *d = &a->t->d;
	if ((a->form & SURFACE_GEOMETRY) == TEXTURE_3D)
		return d->levels[0].depth;
	return (int64_t)d->layers * (d->geometry == TEXTURE_CUBE ? 6 : 1);
}

/* `at` NULL: outside, and .zero. */
static enum surface_outcome place(struct surface_access *a, TEXELS uint8_t **at)
{
	RECORD struct texture_level *l = &a->t->d.levels[0];
	int64_t size = (int64_t)a->bytes * a->elements, row = (int64_t)l->width * a->t->texel_bytes, slices = slice_count(a);
	if (a->form & SURFACE_FORMATTED)
		size = a->t->texel_bytes;
	*at = NULL;
	if (a->x & (size - 1)) /* a power of two */
		return SURFACE_MISALIGNED;
	bool outside = a->x < 0 || a->x + size > row || a->y < 0 || a->y >= l->height || a->slice < 0 || a->slice >= slices;
	if (outside && a->form & SURFACE_ZERO)
		return SURFACE_DONE;
	if (outside && !(a->form & SURFACE_CLAMP))
		return SURFACE_OUTSIDE;
	if (outside) {
		int64_t last = (row & -size) - size;
		a->x = a->x < 0 || last < 0 ? 0 : a->x > last ? last : a->x;
		a->y = clamped(a->y, l->height);
		a->slice = clamped(a->slice, slices);
	}
	*at = (TEXELS uint8_t *)l->base + (uint64_t)a->slice * l->slice + (uint64_t)a->y * l->row + (uint64_t)a->x;
	return SURFACE_DONE;
}

/* What lies in a surface is aligned as its size is. */
typedef uint16_t __attribute__((may_alias)) aliased_16;
typedef uint32_t __attribute__((may_alias)) aliased_32;
typedef uint64_t __attribute__((may_alias)) aliased_64;

static uint64_t load_element(const TEXELS uint8_t *at, unsigned bytes)
{
	const TEXELS void *p = at;
	return bytes == 1 ? *at : bytes == 2 ? *(const TEXELS aliased_16 *)p : bytes == 4 ? *(const TEXELS aliased_32 *)p : *(const TEXELS aliased_64 *)p;
}

static void store_element(TEXELS uint8_t *at, unsigned bytes, uint64_t value)
{
	TEXELS void *p = at;
	switch (bytes) {
	case 1: *at = (uint8_t)value; break;
	case 2: *(TEXELS aliased_16 *)p = (uint16_t)value; break;
	case 4: *(TEXELS aliased_32 *)p = (uint32_t)value; break;
	default: *(TEXELS aliased_64 *)p = value;
	}
}

/* ---- .p -------------------------------------------------------------------------------------------------------------------- */

static uint64_t format_channel(RECORD struct texture *t, uint32_t value)
{
	int32_t most = (int32_t)((1u << (t->d.bits - 1)) - 1);
	if (t->d.bits == 32)
		return value;
	switch (t->d.channel) {
	case TEXTURE_FLOAT:
		return float_to_half_cut(float_of_bits(value));
	case TEXTURE_SIGNED: case TEXTURE_SNORM:
		return (uint64_t)((int32_t)value > most ? most : (int32_t)value < -most - 1 ? -most - 1 : (int32_t)value);
	default:
		return value > (1u << t->d.bits) - 1 ? (1u << t->d.bits) - 1 : value;
	}
}

static void store_formatted(const struct surface_access *a, TEXELS uint8_t *at, const uint64_t *data, uint32_t lanes)
{
	RECORD struct texture *t = a->t;
	unsigned bytes = t->d.bits / 8u;
	for (unsigned c = 0; c < t->d.channels; c++)
		store_element(at + c * bytes, bytes, c < a->elements ? format_channel(t, (uint32_t)data[c * lanes]) : 0);
}

/* ---- sured ------------------------------------------------------------------------------------------------------------------- */

static uint64_t combine(const struct surface_access *a, uint64_t old, uint64_t value)
{
	bool is_signed = a->form & SURFACE_SIGNED, less;
	if (a->bytes == 4)
		less = is_signed ? (int32_t)value < (int32_t)old : (uint32_t)value < (uint32_t)old;
	else
		less = is_signed ? (int64_t)value < (int64_t)old : value < old;
	switch ((enum surface_operation)(a->form >> SURFACE_OPERATION & 7)) {
	case SURFACE_ADD: return old + value;
	case SURFACE_MIN: return less ? value : old;
	case SURFACE_MAX: return less ? old : value;
	case SURFACE_AND: return old & value;
	case SURFACE_OR: return old | value;
	}
	return old;
}

/* Atomic for all of the device. */
#ifdef __AMDGCN__
#define LOAD(at) __scoped_atomic_load_n(at, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define SWAP(at, old, new) __scoped_atomic_compare_exchange_n(at, old, new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#else
#define LOAD(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#define SWAP(at, old, new) __atomic_compare_exchange_n(at, old, new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#endif

static void reduce(const struct surface_access *a, TEXELS uint8_t *at, uint64_t value)
{
	if (a->bytes == 4) {
		TEXELS uint32_t *word = (TEXELS uint32_t *)(TEXELS void *)at;
		uint32_t old = LOAD(word);
		while (!SWAP(word, &old, (uint32_t)combine(a, old, value)))
			;
		return;
	}
	TEXELS uint64_t *word = (TEXELS uint64_t *)(TEXELS void *)at;
	uint64_t old = LOAD(word);
	while (!SWAP(word, &old, combine(a, old, value)))
		;
}

/* ---- accesses ----------------------------------------------------------------------------------------------------------------- */

static void access_place(const struct surface_access *a, TEXELS uint8_t *at, uint64_t *data, uint32_t lanes)
{
	if (at && a->form & SURFACE_REDUCE) {
		reduce(a, at, data[0]);
		return;
	}
	if (at && a->form & SURFACE_FORMATTED) {
		store_formatted(a, at, data, lanes);
		return;
	}
	for (unsigned i = 0; i < a->elements; i++) {
		if (!(a->form & (SURFACE_STORE | SURFACE_REDUCE)))
			data[i * lanes] = at ? load_element(at + i * a->bytes, a->bytes) : 0;
		else if (at)
			store_element(at + i * a->bytes, a->bytes, data[i * lanes]);
	}
}

enum surface_outcome surface_do(RECORD struct texture *t, uint32_t form, const int32_t *w, uint64_t *data, uint32_t lanes,
				struct surface_access *access)
{
	unsigned geometry = form & SURFACE_GEOMETRY;
	struct surface_access a = { .t = t, .form = form, .bytes = 1u << (form >> SURFACE_BYTES & 3), .elements = 1u << (form >> SURFACE_ELEMENTS & 3) };
	TEXELS uint8_t *at;
	a.x = form & SURFACE_FORMATTED ? (int64_t)w[SURFACE_X * lanes] * t->texel_bytes : w[SURFACE_X * lanes];
	a.y = geometry == TEXTURE_1D ? 0 : w[SURFACE_Y * lanes];
	a.slice = geometry == TEXTURE_3D ? w[SURFACE_Z * lanes] : form & SURFACE_LAYERED ? (int64_t)(uint32_t)w[SURFACE_LAYER * lanes] : 0;
	enum surface_outcome outcome = place(&a, &at);
	if (outcome)
		*access = a;
	else
		access_place(&a, at, data, lanes);
	return outcome;
}
