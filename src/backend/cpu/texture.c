/* Texture and surface objects of the CPU, and the services that compiled code fetches and accesses by (struct cpu_services). The work
 * itself is backend/common's. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"
#include "backend/cpu/texture_object.h"

#include <string.h>

int cpu_texture_create(struct device *device, const struct texture_description *description, uint64_t *object)
{
	(void)device;
	return texture_add(description, object);
}

void cpu_texture_destroy(struct device *device, uint64_t object)
{
	(void)device;
	texture_remove(object);
}

static uint64_t dereference(uint64_t value)
{
	if (texture_is_reference(value))
		memcpy(&value, (const void *)(uintptr_t)value, sizeof value);
	return value;
}

/* What an operand that names a sampler stands for: a variable's state, or that of a texture object. 0: neither. */
static uint64_t sampler_state(uint64_t value)
{
	value = dereference(value);
	const struct texture *t = texture_find(value);
	return value & SAMPLER_WORD ? value : t && !t->d.surface ? texture_sampler(t) : 0;
}

static _Noreturn void end_fetch(struct cpu_block *block, uint64_t object, const char *what)
{
	log_error("kernel %s: 0x%llx is not a %s object", block->launch->name, (unsigned long long)object, what);
	cpu_service_end(block, STATUS_ILLEGAL_ADDRESS);
}

void cpu_texture_fetch(struct cpu_block *block, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
		       const uint32_t *arguments, uint32_t *out)
{
	const struct texture *t = texture_find(dereference(object));
	if (!mask)
		return;
	if (!t || !texture_fits(t, form))
		end_fetch(block, object, "texture");
	bool buffer = texture_is_buffer(t, form);
	uint64_t sampler = form & FETCH_SAMPLER ? form : texture_sampler(t);
	for (uint32_t lane = 0; lane < lanes; lane++) {
		uint32_t result[4];
		if (!(mask >> lane & 1))
			continue;
		if (form & FETCH_SAMPLERS && !buffer) {
			sampler = sampler_state(texture_sampler_argument(arguments + lane, lanes));
			if (!sampler)
				end_fetch(block, texture_sampler_argument(arguments + lane, lanes), "sampler");
		}
		if (buffer)
			texture_fetch_buffer(t, arguments[FETCH_X * lanes + lane], result);
		else
			texture_fetch(t, form, sampler, arguments + lane, lanes, result);
		for (unsigned c = 0; c < 4; c++)
			out[c * lanes + lane] = result[c];
	}
}

static _Noreturn void end_access(struct cpu_block *block, const struct surface_access *a, const char *what)
{
	const struct texture_level *l = &a->t->d.levels[0];
	log_error("kernel %s: surface access at byte %lld of row %lld, slice %lld of a surface of %u x %u x %u is %s", block->launch->name,
		  (long long)a->x, (long long)a->y, (long long)a->slice, l->width, l->height, l->depth, what);
	cpu_service_end(block, STATUS_LAUNCH_FAILED);
}

void cpu_surface_access(struct cpu_block *block, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
			const int32_t *arguments, uint64_t *data)
{
	const struct texture *t = texture_find(dereference(object));
	struct surface_access access;
	if (!mask)
		return;
	if (!t || !t->d.surface)
		end_fetch(block, object, "surface");
	for (uint32_t lane = 0; lane < lanes; lane++) {
		enum surface_outcome outcome = mask >> lane & 1 ? surface_do(t, form, arguments + lane, data + lane, lanes, &access) : SURFACE_DONE;
		if (outcome)
			end_access(block, &access, outcome == SURFACE_MISALIGNED ? "misaligned" : "outside");
	}
}

uint32_t cpu_texture_query(struct cpu_block *block, uint64_t object, uint32_t what, uint32_t level)
{
	const struct texture *t;
	object = dereference(object);
	if (object & SAMPLER_WORD)
		return texture_sampler_answer(object, what);
	t = texture_find(object);
	if (what == QUERY_KIND)
		return t ? 1 + t->d.surface : 0;
	if (!t)
		end_fetch(block, object, "texture or surface");
	return texture_answer(t, what, level);
}
