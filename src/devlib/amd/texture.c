/* Textures and surfaces: the objects in the device's table, and what a kernel that misuses one ends with. Sampling itself is the same
 * source as the CPU's (backend/common/texture.h). */
#include "backend/common/texture.h"
#include "devlib/amd/library.h"

/* struct amd_service.textures: addresses of chunks of records. NULL where there is no such object. */
INLINE RECORD struct texture *find_texture(launch_ptr launch, uint64_t object)
{
	GLOBAL const uint64_t *chunks = (GLOBAL const uint64_t *)service_of(launch)->textures;
	uint32_t place = texture_place(object);
	uint64_t chunk = chunks && object ? chunks[place / TEXTURE_CHUNK] : 0;
	RECORD struct texture *t = (RECORD struct texture *)chunk + place % TEXTURE_CHUNK;
	return chunk && t->object == object ? t : NULL;
}

INLINE uint64_t dereference(uint64_t value)
{
	return texture_is_reference(value) ? *(const GLOBAL uint64_t *)value : value;
}

/* What an operand that names a sampler stands for: a variable's state, or that of a texture object. 0: neither. */
static uint64_t sampler_state(launch_ptr launch, uint64_t value)
{
	value = dereference(value);
	if (value & SAMPLER_WORD)
		return value;
	RECORD struct texture *t = find_texture(launch, value);
	return t && !t->d.surface ? texture_sampler(t) : 0;
}

static __attribute__((noinline)) void end_access(launch_ptr launch, uint32_t thread, uint32_t status, const char *what)
{
	stop(launch, thread, status, what, NULL, 0, NULL);
}

ENTRY void device_texture(launch_ptr launch, uint32_t thread, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
			  const uint32_t *arguments, uint32_t *out)
{
	RECORD struct texture *t = find_texture(launch, dereference(object));
	(void)lanes;
	(void)mask;
	if (!t || !texture_fits(t, form)) {
		end_access(launch, thread, AMD_ILLEGAL_ADDRESS, "a fetch of what is no texture object");
	} else if (texture_is_buffer(t, form)) {
		texture_fetch_buffer(t, arguments[FETCH_X], out);
	} else {
		uint64_t sampler = form & FETCH_SAMPLERS ? sampler_state(launch, texture_sampler_argument(arguments, 1)) :
				   form & FETCH_SAMPLER  ? form :
							   texture_sampler(t);
		if (form & FETCH_SAMPLERS && !sampler)
			end_access(launch, thread, AMD_ILLEGAL_ADDRESS, "a fetch with what is no sampler");
		texture_fetch(t, form, sampler, arguments, 1, out);
	}
}

ENTRY void device_surface(launch_ptr launch, uint32_t thread, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
			  const int32_t *arguments, uint64_t *data)
{
	RECORD struct texture *t = find_texture(launch, dereference(object));
	struct surface_access access;
	(void)lanes;
	(void)mask;
	if (!t || !t->d.surface) {
		end_access(launch, thread, AMD_ILLEGAL_ADDRESS, "an access to what is no surface object");
		return;
	}
	enum surface_outcome outcome = surface_do(t, form, arguments, data, 1, &access);
	if (outcome)
		end_access(launch, thread, AMD_LAUNCH_FAILED,
			   outcome == SURFACE_MISALIGNED ? "a misaligned surface access" : "an access outside a surface");
}

ENTRY uint32_t device_texture_query(launch_ptr launch, uint32_t thread, uint64_t object, uint32_t what, uint32_t level)
{
	object = dereference(object);
	if (object & SAMPLER_WORD)
		return texture_sampler_answer(object, what);
	RECORD struct texture *t = find_texture(launch, object);
	if (what == QUERY_KIND)
		return t ? 1 + t->d.surface : 0;
	if (!t)
		end_access(launch, thread, AMD_ILLEGAL_ADDRESS, "a query of what is no texture or surface object");
	return t ? texture_answer(t, what, level) : 0;
}
