/* Surface accesses. PTX ISA 9.7.11 (suld, sust, sured); CUDA C++ Programming Guide, "Surface Memory". x counts bytes, or
 * texels in the formatted instructions. Outside the surface: .trap ends the kernel, .clamp moves to the last place where the whole access
 * fits, .zero reads 0 and writes nothing; an x that is not a multiple of the access is an error in all of them. */
#define _GNU_SOURCE
#include "backend/cpu/texture.h"

#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/texture_object.h"

struct access {
	const struct texture *t;
	uint32_t form;
	unsigned bytes, elements;      /* of an element; their number */
	int64_t x, y, slice;           /* x in bytes */
};

static _Noreturn void end_access(struct cpu_block *block, const struct access *a, const char *what)
{
	const struct texture_level *l = &a->t->d.levels[0];
	log_error("kernel %s: surface access at byte %lld of row %lld, slice %lld of a surface of %u x %u x %u is %s", block->launch->name,
		  (long long)a->x, (long long)a->y, (long long)a->slice, l->width, l->height, l->depth, what);
	cpu_service_end(block, STATUS_LAUNCH_FAILED);
}

static int64_t clamped(int64_t value, int64_t count)
{
	return value < 0 ? 0 : value >= count ? count - 1 : value;
}

static int64_t slice_count(const struct access *a)
{
	const struct texture_description *d = &a->t->d;
	if ((a->form & SURFACE_GEOMETRY) == TEXTURE_3D)
		return d->levels[0].depth;
	return (int64_t)d->layers * (d->geometry == TEXTURE_CUBE ? 6 : 1);
}

/* NULL: outside, and .zero. */
static uint8_t *place(struct cpu_block *block, struct access *a)
{
	const struct texture_level *l = &a->t->d.levels[0];
	int64_t size = (int64_t)a->bytes * a->elements, row = (int64_t)l->width * a->t->texel_bytes, slices = slice_count(a);
	if (a->form & SURFACE_FORMATTED)
		size = a->t->texel_bytes;
	if (a->x % size)
		end_access(block, a, "misaligned");
	bool outside = a->x < 0 || a->x + size > row || a->y < 0 || a->y >= l->height || a->slice < 0 || a->slice >= slices;
	if (outside && a->form & SURFACE_ZERO)
		return NULL;
	if (outside && !(a->form & SURFACE_CLAMP))
		end_access(block, a, "outside");
	if (outside) {
		int64_t last = row / size * size - size;
		a->x = a->x < 0 || last < 0 ? 0 : a->x > last ? last : a->x;
		a->y = clamped(a->y, l->height);
		a->slice = clamped(a->slice, slices);
	}
	return l->base + (uint64_t)a->slice * l->slice + (uint64_t)a->y * l->row + (uint64_t)a->x;
}

/* ---- .p -------------------------------------------------------------------------------------------------------------------- */

static uint64_t format_channel(const struct texture *t, uint32_t value)
{
	int32_t most = (int32_t)((1u << (t->d.bits - 1)) - 1);
	float f;
	if (t->d.bits == 32)
		return value;
	switch (t->d.channel) {
	case TEXTURE_FLOAT:
		memcpy(&f, &value, sizeof f);
		return float_to_half_cut(f);
	case TEXTURE_SIGNED: case TEXTURE_SNORM:
		return (uint64_t)((int32_t)value > most ? most : (int32_t)value < -most - 1 ? -most - 1 : (int32_t)value);
	default:
		return value > (1u << t->d.bits) - 1 ? (1u << t->d.bits) - 1 : value;
	}
}

static void store_formatted(const struct access *a, uint8_t *at, const uint64_t *data, uint32_t lanes)
{
	const struct texture *t = a->t;
	for (unsigned c = 0; c < t->d.channels; c++) {
		uint64_t v = c < a->elements ? format_channel(t, (uint32_t)data[c * lanes]) : 0;
		memcpy(at + c * (t->d.bits / 8u), &v, t->d.bits / 8u);
	}
}

/* ---- sured ------------------------------------------------------------------------------------------------------------------- */

static uint64_t combine(const struct access *a, uint64_t old, uint64_t value)
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

static void reduce(const struct access *a, uint8_t *at, uint64_t value)
{
	if (a->bytes == 4) {
		uint32_t *word = (uint32_t *)(void *)at, old = __atomic_load_n(word, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(word, &old, (uint32_t)combine(a, old, value), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return;
	}
	uint64_t *word = (uint64_t *)(void *)at, old = __atomic_load_n(word, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(word, &old, combine(a, old, value), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* ---- the service -------------------------------------------------------------------------------------------------------------- */

static void access_lane(struct cpu_block *block, struct access *a, uint64_t *data, uint32_t lanes)
{
	uint8_t *at = place(block, a);
	if (at && a->form & SURFACE_REDUCE) {
		reduce(a, at, data[0]);
		return;
	}
	if (at && a->form & SURFACE_FORMATTED) {
		store_formatted(a, at, data, lanes);
		return;
	}
	for (unsigned i = 0; i < a->elements; i++) {
		if (a->form & (SURFACE_STORE | SURFACE_REDUCE)) {
			if (at)
				memcpy(at + i * a->bytes, &data[i * lanes], a->bytes);
			continue;
		}
		data[i * lanes] = 0;
		if (at)
			memcpy(&data[i * lanes], at + i * a->bytes, a->bytes);
	}
}

void cpu_surface_access(struct cpu_block *block, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
			const int32_t *arguments, uint64_t *data)
{
	const struct texture *t = cpu_texture_find(object);
	unsigned geometry = form & SURFACE_GEOMETRY;
	if (!mask)
		return;
	if (!t || !t->d.surface) {
		log_error("kernel %s: 0x%llx is not a surface object", block->launch->name, (unsigned long long)object);
		cpu_service_end(block, STATUS_ILLEGAL_ADDRESS);
	}
	for (uint32_t lane = 0; lane < lanes; lane++) {
		struct access a = { .t = t, .form = form, .bytes = 1u << (form >> SURFACE_BYTES & 3), .elements = 1u << (form >> SURFACE_ELEMENTS & 3) };
		const int32_t *w = arguments + lane;
		if (!(mask >> lane & 1))
			continue;
		a.x = form & SURFACE_FORMATTED ? (int64_t)w[SURFACE_X * lanes] * t->texel_bytes : w[SURFACE_X * lanes];
		a.y = geometry == TEXTURE_1D ? 0 : w[SURFACE_Y * lanes];
		a.slice = geometry == TEXTURE_3D ? w[SURFACE_Z * lanes] : form & SURFACE_LAYERED ? (int64_t)(uint32_t)w[SURFACE_LAYER * lanes] : 0;
		access_lane(block, &a, data + lane, lanes);
	}
}
