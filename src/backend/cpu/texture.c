/* Texture objects and fetches. PTX ISA 9.7.10; CUDA C++ Programming Guide, "Texture Fetching" and "Texture Object API". Where these
 * leave a choice it is made as an Ampere card was recorded to:
 * - coordinates are scaled in float; weights are the nearest 1/256, halves up, split between slices, then columns, then rows
 * - a 1D texture is a 2D one of height 1 at y = 0; wrap and mirror need normalised coordinates, else they clamp
 * - integer coordinates name a texel whatever the object says; outside they read 0
 * - layers past the end (or negative) are the last; faces of a cube are not filtered across
 * - the level of detail is cut to 1/256; offsets have 4 bits (tld4: 6) */
#define _GNU_SOURCE
#include "backend/cpu/texture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/texel.h"
#include "backend/cpu/texture_object.h"

/* ---- objects --------------------------------------------------------------------------------------------------------- */

enum { CHUNK = 256, CHUNKS = 4096, NUMBER_BITS = 20, GENERATIONS = 4095 };

/* Numbers are places of this table, and above them how often the place was used: a stale one is recognised. */
static struct {
	pthread_mutex_t lock;
	_Atomic(struct texture *) chunks[CHUNKS];
	uint32_t used, first_free;     /* places ever used; where to look for a free one */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct texture *place_of(uint32_t number)
{
	struct texture *chunk = atomic_load_explicit(&table.chunks[number / CHUNK], memory_order_acquire);
	return chunk ? &chunk[number % CHUNK] : NULL;
}

/* What is neither a number nor a sampler's state is the address of a reference, which holds one. */
static uint64_t dereference(uint64_t value)
{
	if (value >> 32 && !(value & SAMPLER_WORD))
		memcpy(&value, (const void *)(uintptr_t)value, sizeof value);
	return value;
}

const struct texture *cpu_texture_find(uint64_t object)
{
	object = dereference(object);
	uint32_t number = (uint32_t)object & ((1u << NUMBER_BITS) - 1);
	struct texture *t = object >> 32 ? NULL : place_of(number);
	return t && t->object == object && object ? t : NULL;
}

static struct texture *take_place_locked(uint32_t *number)
{
	for (uint32_t i = table.first_free; i < table.used; i++)
		if (!place_of(i)->object) {
			*number = i;
			return place_of(i);
		}
	*number = table.used;
	if (*number >= CHUNK * CHUNKS)
		return NULL;
	if (!place_of(*number)) {
		struct texture *chunk = calloc(CHUNK, sizeof *chunk);
		if (!chunk)
			return NULL;
		atomic_store_explicit(&table.chunks[*number / CHUNK], chunk, memory_order_release);
	}
	table.used++;
	return place_of(*number);
}

static bool classify(struct texture *t)
{
	const struct texture_description *d = &t->d;
	switch (d->channel) {
	case TEXTURE_FLOAT:
		t->class = d->bits == 16 ? TEXEL_HALF : TEXEL_FLOAT;
		break;
	case TEXTURE_UNORM:
		t->class = TEXEL_UNORM;
		break;
	case TEXTURE_SNORM:
		t->class = TEXEL_SNORM;
		break;
	default:
		t->class = TEXEL_INTEGER;
	}
	bool sizes = d->bits == 8 || d->bits == 16 || d->bits == 32 || (d->bits == 10 && d->channels == 4 && t->class == TEXEL_UNORM);
	if (!sizes || (d->bits == 8 && t->class == TEXEL_FLOAT) || (d->bits == 32 && (t->class == TEXEL_UNORM || t->class == TEXEL_SNORM)))
		return false;
	t->texel_bytes = d->bits == 10 ? 4 : d->bits / 8u * d->channels;
	t->srgb_channels = d->srgb && d->bits == 8 && t->class == TEXEL_UNORM ? (d->channels == 4 ? 3 : 1) : 0;
	return d->channels == 1 || d->channels == 2 || d->channels == 4;
}

int cpu_texture_create(struct device *device, const struct texture_description *description, uint64_t *object)
{
	struct texture made = { .d = *description };
	uint32_t number;
	(void)device;
	if (!classify(&made) || !description->level_count || description->level_count > TEXTURE_LEVELS || !description->layers)
		return STATUS_NOT_SUPPORTED;
	texel_border(&made);
	pthread_mutex_lock(&table.lock);
	struct texture *t = take_place_locked(&number);
	if (t) {
		made.generation = t->generation % GENERATIONS + 1;
		made.object = (uint64_t)made.generation << NUMBER_BITS | number;
		*t = made;
		*object = made.object;
		table.first_free = number + 1;
	}
	pthread_mutex_unlock(&table.lock);
	return t ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
}

void cpu_texture_destroy(struct device *device, uint64_t object)
{
	uint32_t number = (uint32_t)object & ((1u << NUMBER_BITS) - 1);
	(void)device;
	pthread_mutex_lock(&table.lock);
	if (cpu_texture_find(object)) {
		place_of(number)->object = 0;
		if (number < table.first_free)
			table.first_free = number;
	}
	pthread_mutex_unlock(&table.lock);
}

/* ---- coordinates ------------------------------------------------------------------------------------------------------ */

/* One lane's fetch. */
struct fetch {
	const struct texture *t;
	uint32_t form;
	const uint32_t *arguments;     /* word a at a * lanes */
	uint32_t lanes;
	float coordinate[3];
	int32_t shift[3];              /* the offset */
	uint32_t layer;                /* first slice of its layer, or face */
};

static uint32_t word(const struct fetch *f, unsigned argument)
{
	return f->arguments[argument * f->lanes];
}

static float number(const struct fetch *f, unsigned argument)
{
	uint32_t bits = word(f, argument);
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static unsigned geometry(const struct fetch *f)
{
	return f->form & FETCH_GEOMETRY;
}

static enum texture_address address_mode(const struct fetch *f, unsigned axis)
{
	const struct texture_description *d = &f->t->d;
	enum texture_address mode = d->address[axis];
	if (geometry(f) == TEXTURE_CUBE && !d->filtered && !d->mipmapped)
		return TEXTURE_CLAMP;
	return (mode == TEXTURE_WRAP || mode == TEXTURE_MIRROR) && !d->normalized ? TEXTURE_CLAMP : mode;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
	int64_t r = a % b;
	return r < 0 ? r + b : r;
}

/* The texel that an index means; -1: the border. */
static int32_t resolve(enum texture_address mode, int64_t index, uint32_t size)
{
	int64_t n = size;
	if (index >= 0 && index < n)
		return (int32_t)index;
	switch (mode) {
	case TEXTURE_WRAP:
		return (int32_t)floor_mod(index, n);
	case TEXTURE_MIRROR:
		index = floor_mod(index, 2 * n);
		return (int32_t)(index < n ? index : 2 * n - 1 - index);
	case TEXTURE_CLAMP:
		return index < 0 ? 0 : (int32_t)size - 1;
	default:
		return -1;
	}
}

/* The floor; what is far outside every texture stays so. (Not floor(): a call, where the machine we compile for may lack the
 * instruction.) */
static int64_t to_index(double value)
{
	if (!(value > -0x1p46 && value < 0x1p46))
		return isnan(value) ? 0 : value < 0 ? -(INT64_C(1) << 46) : INT64_C(1) << 46;
	int64_t index = (int64_t)value;
	return index - (value < (double)index);
}

static float scaled(const struct fetch *f, unsigned axis, uint32_t size)
{
	bool normalized = f->t->d.normalized || f->t->d.mipmapped || geometry(f) == TEXTURE_CUBE;
	return normalized ? f->coordinate[axis] * (float)size : f->coordinate[axis];
}

/* The two texels of an axis that a linear filter reads, and the second one's weight in 256ths. */
struct pair {
	int32_t index[2];
	uint32_t weight;
};

static struct pair linear_pair(const struct fetch *f, unsigned axis, uint32_t size, bool clamp_coordinate)
{
	enum texture_address mode = address_mode(f, axis);
	double c = (double)scaled(f, axis, size) + f->shift[axis];
	if (mode == TEXTURE_CLAMP_OGL)
		c = !(c > 0) ? 0 : c > size ? size : c;
	if (mode == TEXTURE_CLAMP && clamp_coordinate)
		c = !(c > 0.5) ? 0.5 : c > size - 0.5 ? size - 0.5 : c;
	int64_t fixed = to_index((c - 0.5) * 256 + 0.5), first = fixed >> 8;
	return (struct pair){ { resolve(mode, first, size), resolve(mode, first + 1, size) }, (uint32_t)(fixed & 255) };
}

static struct pair point_pair(const struct fetch *f, unsigned axis, uint32_t size)
{
	int64_t index = to_index((double)scaled(f, axis, size)) + f->shift[axis];
	enum texture_address mode = address_mode(f, axis);
	int32_t texel = resolve(mode == TEXTURE_CLAMP_OGL ? TEXTURE_CLAMP : mode, index, size);
	return (struct pair){ { texel, texel }, 0 };
}

static struct pair axis_pair(const struct fetch *f, unsigned axis, uint32_t size)
{
	return f->t->d.filtered ? linear_pair(f, axis, size, true) : point_pair(f, axis, size);
}

/* 3D slices, or the one slice of the layer. */
static struct pair slice_pair(const struct fetch *f, uint32_t depth)
{
	if (geometry(f) == TEXTURE_3D)
		return axis_pair(f, 2, depth);
	return (struct pair){ { (int32_t)f->layer, (int32_t)f->layer }, 0 };
}

static struct pair row_pair(const struct fetch *f, uint32_t height)
{
	if (geometry(f) == TEXTURE_1D && f->form & FETCH_LAYERED)
		return (struct pair){ { 0, 0 }, 0 };
	return axis_pair(f, 1, height);
}

static void read_at(const struct texture *t, const struct texture_level *level, int32_t x, int32_t y, int32_t slice, int32_t raw[4])
{
	if (x < 0 || y < 0 || slice < 0)
		memcpy(raw, t->border, sizeof t->border);
	else
		texel_read(t, level->base + (uint64_t)slice * level->slice + (uint64_t)y * level->row + (uint64_t)x * t->texel_bytes, raw);
}

/* ---- footprints ---------------------------------------------------------------------------------------------------------- */

static uint32_t part(uint32_t whole, uint32_t weight)
{
	return (whole * weight + 128) >> 8;
}

static void make_footprint(const struct fetch *f, const struct texture_level *level, const struct pair *x, const struct pair *y,
			   int32_t slice, uint32_t share, struct footprint *out)
{
	uint32_t right = part(share, x->weight), left = share - right;
	out->weight[3] = part(right, y->weight);
	out->weight[1] = right - out->weight[3];
	out->weight[0] = part(left, 256 - y->weight);
	out->weight[2] = left - out->weight[0];
	for (unsigned i = 0; i < 4; i++)
		if (out->weight[i])
			read_at(f->t, level, x->index[i & 1], y->index[i >> 1], slice, out->raw[i]);
}

/* Adds a level's footprints of so much weight in all; returns how many. */
static unsigned level_footprints(const struct fetch *f, const struct texture_level *level, uint32_t share, struct footprint *out)
{
	struct pair x = axis_pair(f, 0, level->width), y = row_pair(f, level->height), z = slice_pair(f, level->depth);
	uint32_t lower = part(share, 256 - z.weight);
	unsigned count = 0;
	if (lower)
		make_footprint(f, level, &x, &y, z.index[0], lower, &out[count++]);
	if (share - lower)
		make_footprint(f, level, &x, &y, z.index[1], share - lower, &out[count++]);
	return count;
}

/* ---- levels --------------------------------------------------------------------------------------------------------------- */

static int32_t cut_256ths(float value)
{
	return isnan(value) ? 0 : (int32_t)(fminf(fmaxf(value, -64), 64) * 256);
}

/* To 10 significant bits. */
static float cut_gradient(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	bits &= 0xffffc000;
	memcpy(&value, &bits, sizeof bits);
	return fabsf(value);
}

static float gradient_length(const float g[3])
{
	float a = fabsf(g[0]), b = fabsf(g[1]), c = fabsf(g[2]), swap;
	if (a < b)
		swap = a, a = b, b = swap;
	if (b < c)
		swap = b, b = c, c = swap;
	if (a < b)
		swap = a, a = b, b = swap;
	return a + b * (11.0f / 32) + c * 0.25f;
}

/* The octagonal norm of the longest of both gradients and, cut to 11/16, of the quad's diagonals. */
static int32_t gradient_level(const struct fetch *f)
{
	const struct texture_level *level = &f->t->d.levels[0];
	const float size[3] = { (float)level->width, (float)level->height, (float)level->depth };
	unsigned axes = geometry(f) == TEXTURE_1D ? 1 : geometry(f) == TEXTURE_2D ? 2 : 3;
	float dx[3] = { 0 }, dy[3] = { 0 }, sum[3], difference[3];
	for (unsigned i = 0; i < axes; i++) {
		dx[i] = copysignf(cut_gradient(number(f, FETCH_DX + i) * size[i]), number(f, FETCH_DX + i));
		dy[i] = copysignf(cut_gradient(number(f, FETCH_DY + i) * size[i]), number(f, FETCH_DY + i));
	}
	for (unsigned i = 0; i < 3; i++) {
		sum[i] = dx[i] + dy[i];
		difference[i] = dx[i] - dy[i];
	}
	float longest = fmaxf(gradient_length(dx), gradient_length(dy));
	longest = fmaxf(longest, fmaxf(gradient_length(sum), gradient_length(difference)) * (11.0f / 16));
	if (!(longest > 0))
		return -64 * 256;
	return isinf(longest) ? 64 * 256 : (int32_t)floor(log2((double)longest) * 256);
}

/* In 256ths of a level. */
static uint32_t level_of_detail(const struct fetch *f)
{
	const struct texture_description *d = &f->t->d;
	int32_t lod = 0, last = ((int32_t)d->level_count - 1) * 256;
	if (!d->mipmapped)
		return 0;
	if (f->form & FETCH_LEVEL)
		lod = f->form & FETCH_INTEGER ? (int32_t)(word(f, FETCH_LOD) < TEXTURE_LEVELS ? word(f, FETCH_LOD) : TEXTURE_LEVELS) * 256 :
						cut_256ths(number(f, FETCH_LOD)) + cut_256ths(d->level_bias);
	else if (f->form & FETCH_GRADIENT)
		lod = gradient_level(f) + cut_256ths(d->level_bias);
	int32_t least = cut_256ths(d->level_least), most = cut_256ths(d->level_most);
	lod = lod > most ? most : lod;
	lod = lod < least ? least : lod;
	return (uint32_t)(lod < 0 ? 0 : lod > last ? last : lod);
}

/* ---- kinds of fetches ------------------------------------------------------------------------------------------------------ */

static void fetch_texel(const struct fetch *f, uint32_t out[4])
{
	const struct texture *t = f->t;
	const struct texture_level *level = &t->d.levels[(level_of_detail(f) + 128) >> 8];
	uint32_t x = word(f, FETCH_X) + (uint32_t)f->shift[0], y = 0, slice = f->layer;
	int32_t raw[4];
	if (geometry(f) != TEXTURE_1D)
		y = word(f, FETCH_Y) + (uint32_t)f->shift[1];
	if (geometry(f) == TEXTURE_3D)
		slice = word(f, FETCH_Z) + (uint32_t)f->shift[2];
	memset(out, 0, 4 * sizeof *out);
	if (x >= level->width || y >= level->height || (geometry(f) == TEXTURE_3D && slice >= level->depth))
		return;
	read_at(t, level, (int32_t)x, (int32_t)y, (int32_t)slice, raw);
	texel_result(t, raw, out);
}

static void fetch_filtered(const struct fetch *f, uint32_t out[4])
{
	const struct texture_description *d = &f->t->d;
	struct footprint footprints[4];
	uint32_t lod = level_of_detail(f), upper = d->mip_filtered ? lod & 255 : 0;
	const struct texture_level *level = &d->levels[d->mip_filtered ? lod >> 8 : (lod + 128) >> 8];
	if (!d->filtered && !upper) {
		struct pair x = point_pair(f, 0, level->width), y = row_pair(f, level->height), z = slice_pair(f, level->depth);
		int32_t raw[4];
		read_at(f->t, level, x.index[0], y.index[0], z.index[0], raw);
		texel_result(f->t, raw, out);
		return;
	}
	unsigned count = level_footprints(f, level, 256 - upper, footprints);
	if (upper)
		count += level_footprints(f, level + 1, upper, footprints + count);
	texel_blend(f->t, footprints, count, out);
}

/* (i, j+1), (i+1, j+1), (i+1, j), (i, j) */
static void fetch_gathered(const struct fetch *f, uint32_t out[4])
{
	static const uint8_t column[4] = { 0, 1, 1, 0 }, row[4] = { 1, 1, 0, 0 };
	const struct texture_level *level = &f->t->d.levels[0];
	struct pair x = linear_pair(f, 0, level->width, false), y = linear_pair(f, 1, level->height, false);
	unsigned channel = f->form >> FETCH_COMPONENT & 3;
	for (unsigned i = 0; i < 4; i++) {
		int32_t raw[4];
		read_at(f->t, level, x.index[column[i]], y.index[row[i]], (int32_t)f->layer, raw);
		out[i] = texel_gathered(f->t, raw[channel], channel);
	}
}

/* ---- setting up ------------------------------------------------------------------------------------------------------------- */

/* The face that a direction meets, ties to z, then y; its coordinates within it replace the direction's. */
static uint32_t project(float c[3])
{
	float x = c[0], y = c[1], z = c[2], ax = fabsf(x), ay = fabsf(y), az = fabsf(z), s, t, m;
	uint32_t face;
	if (az >= ax && az >= ay)
		face = z < 0 ? 5 : 4, m = az, s = z < 0 ? -x : x, t = -y;
	else if (ay >= ax)
		face = y < 0 ? 3 : 2, m = ay, s = x, t = y < 0 ? -z : z;
	else
		face = x < 0 ? 1 : 0, m = ax, s = x < 0 ? z : -z, t = -y;
	c[0] = (s / m + 1) / 2;
	c[1] = (t / m + 1) / 2;
	return face;
}

static int32_t signed_bits(uint32_t value, unsigned bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static void set_offset(struct fetch *f)
{
	unsigned bits = f->form & FETCH_GATHER ? 6 : 4;
	for (unsigned i = 0; i < 3; i++)
		f->shift[i] = signed_bits(word(f, FETCH_SHIFT + i), bits);
	if (geometry(f) == TEXTURE_1D) /* handed on whole: what is above x's bits is y's */
		f->shift[1] = f->form & FETCH_LAYERED ? 0 : signed_bits(word(f, FETCH_SHIFT) >> bits, bits);
}

static void set_place(struct fetch *f)
{
	const struct texture_description *d = &f->t->d;
	uint32_t layer = 0;
	if (f->form & FETCH_LAYERED) {
		layer = word(f, FETCH_LAYER);
		layer = layer < d->layers ? layer : d->layers - 1;
	}
	if (f->form & FETCH_OFFSET)
		set_offset(f);
	if (f->form & FETCH_INTEGER) {
		f->layer = layer;
		return;
	}
	static const uint8_t axes[] = { [TEXTURE_1D] = 1, [TEXTURE_2D] = 2, [TEXTURE_3D] = 3, [TEXTURE_CUBE] = 3 };
	for (unsigned i = 0; i < axes[geometry(f)]; i++)
		f->coordinate[i] = number(f, FETCH_X + i);
	f->layer = geometry(f) == TEXTURE_CUBE ? layer * 6 + project(f->coordinate) : layer;
}

static _Noreturn void end_fetch(struct cpu_block *block, uint64_t object, const char *what)
{
	log_error("kernel %s: 0x%llx is not a %s object", block->launch->name, (unsigned long long)object, what);
	cpu_service_end(block, STATUS_ILLEGAL_ADDRESS);
}

/* Other shapes than the object's read what there is of it; only faces are not there to be read. */
static bool fits(const struct texture_description *d, uint32_t form)
{
	return (form & FETCH_GEOMETRY) != TEXTURE_CUBE || d->geometry == TEXTURE_CUBE;
}

/* tex1Dfetch(): the texels of a buffer. */
static void fetch_buffer(const struct texture *t, uint32_t lanes, uint32_t mask, const uint32_t *arguments, uint32_t *out)
{
	const struct texture_level *level = &t->d.levels[0];
	for (uint32_t lane = 0; lane < lanes; lane++) {
		uint32_t index = arguments[FETCH_X * lanes + lane], result[4] = { 0 };
		int32_t raw[4];
		if (mask >> lane & 1 && index < level->width) {
			texel_read(t, level->base + (uint64_t)index * t->texel_bytes, raw);
			texel_result(t, raw, result);
		}
		for (unsigned c = 0; c < 4; c++)
			out[c * lanes + lane] = result[c];
	}
}

/* ---- samplers --------------------------------------------------------------------------------------------------------------- */

/* What an operand that names a sampler stands for: a variable's state, or that of a texture object. 0: neither. */
static uint64_t sampler_state(uint64_t value)
{
	value = dereference(value);
	const struct texture *t = value & SAMPLER_WORD ? NULL : cpu_texture_find(value);
	if (!t || t->d.surface)
		return value & SAMPLER_WORD ? value : 0;
	uint64_t state = SAMPLER_WORD | (t->d.filtered ? SAMPLER_FILTERED : 0) | (t->d.normalized ? 0 : SAMPLER_UNNORMALIZED);
	for (unsigned axis = 0; axis < 3; axis++)
		state |= (uint64_t)t->d.address[axis] << (SAMPLER_ADDRESS + 3 * axis);
	return state;
}

static enum texture_address sampler_address(uint64_t state, unsigned axis)
{
	return (enum texture_address)(state >> (SAMPLER_ADDRESS + 3 * axis) & 7);
}

/* `normalized`: what the texture says of coordinates. */
static void use_sampler(struct texture *t, bool normalized, uint64_t state)
{
	for (unsigned axis = 0; axis < 3; axis++)
		t->d.address[axis] = sampler_address(state, axis);
	t->d.filtered = state & SAMPLER_FILTERED && t->class != TEXEL_INTEGER;
	t->d.normalized = normalized && !(state & SAMPLER_UNNORMALIZED);
}

static uint64_t lane_sampler(const struct fetch *f)
{
	return word(f, FETCH_SAMPLER_LOW) | (uint64_t)word(f, FETCH_SAMPLER_HIGH) << 32;
}

/* ---- fetches ------------------------------------------------------------------------------------------------------------------ */

static void fetch_lane(struct fetch *f, uint32_t out[4])
{
	set_place(f);
	if (f->form & FETCH_GATHER)
		fetch_gathered(f, out);
	else if (f->form & FETCH_INTEGER)
		fetch_texel(f, out);
	else
		fetch_filtered(f, out);
}

void cpu_texture_fetch(struct cpu_block *block, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
		       const uint32_t *arguments, uint32_t *out)
{
	const struct texture *t = cpu_texture_find(object);
	bool normalized = t && t->d.normalized;
	if (!mask)
		return;
	if (!t || t->d.surface || !fits(&t->d, form))
		end_fetch(block, object, "texture");
	if (t->d.linear_memory && (form & ~(uint32_t)FETCH_SAMPLING) == (FETCH_INTEGER | TEXTURE_1D)) {
		fetch_buffer(t, lanes, mask, arguments, out);
		return;
	}
	struct texture sampled;
	if (form & (FETCH_SAMPLER | FETCH_SAMPLERS)) {
		sampled = *t;
		t = &sampled;
	}
	if (form & FETCH_SAMPLER)
		use_sampler(&sampled, normalized, form);
	for (uint32_t lane = 0; lane < lanes; lane++) {
		struct fetch f = { .t = t, .form = form, .arguments = arguments + lane, .lanes = lanes };
		uint32_t result[4];
		if (!(mask >> lane & 1))
			continue;
		if (form & FETCH_SAMPLERS) {
			uint64_t state = sampler_state(lane_sampler(&f));
			if (!state)
				end_fetch(block, lane_sampler(&f), "sampler");
			use_sampler(&sampled, normalized, state);
		}
		fetch_lane(&f, result);
		for (unsigned c = 0; c < 4; c++)
			out[c * lanes + lane] = result[c];
	}
}

/* ---- queries ------------------------------------------------------------------------------------------------------------------ */

/* The numbers of OpenCL's cl_channel_order and cl_channel_type, which PTX programs compare with. */
static uint32_t channel_order(const struct texture *t)
{
	return t->d.channels == 1 ? 0x10b0 : t->d.channels == 2 ? 0x10b2 : 0x10b5;
}

static uint32_t channel_type(const struct texture *t)
{
	unsigned wide = t->d.bits == 8 ? 0 : t->d.bits == 16 ? 1 : 2;
	switch (t->d.channel) {
	case TEXTURE_SNORM: return 0x10d0 + wide;
	case TEXTURE_UNORM: return t->d.bits == 10 ? 0x10e0 : 0x10d2 + wide;
	case TEXTURE_SIGNED: return 0x10d7 + wide;
	case TEXTURE_UNSIGNED: return 0x10da + wide;
	default: return t->d.bits == 16 ? 0x10dd : 0x10de;
	}
}

static uint32_t query_sampler(uint64_t state, uint32_t what)
{
	switch (what) {
	case QUERY_KIND: return 3;
	case QUERY_FILTER: return !!(state & SAMPLER_FILTERED);
	case QUERY_UNNORMALIZED: return !!(state & SAMPLER_UNNORMALIZED);
	case QUERY_ADDRESS_0: case QUERY_ADDRESS_1: case QUERY_ADDRESS_2: return sampler_address(state, what - QUERY_ADDRESS_0);
	default: return 0;
	}
}

uint32_t cpu_texture_query(struct cpu_block *block, uint64_t object, uint32_t what, uint32_t level)
{
	const struct texture *t;
	object = dereference(object);
	if (object & SAMPLER_WORD)
		return query_sampler(object, what);
	t = cpu_texture_find(object);
	if (what == QUERY_KIND)
		return t ? 1 + t->d.surface : 0;
	if (!t)
		end_fetch(block, object, "texture or surface");
	const struct texture_description *d = &t->d;
	const struct texture_level *l = &d->levels[level < d->level_count ? level : d->level_count - 1];
	switch (what) {
	case QUERY_WIDTH: return l->width;
	case QUERY_HEIGHT: return d->geometry == TEXTURE_1D ? 0 : l->height;
	case QUERY_DEPTH: return d->geometry == TEXTURE_3D ? l->depth : 0;
	case QUERY_CHANNEL_TYPE: return channel_type(t);
	case QUERY_CHANNEL_ORDER: return channel_order(t);
	case QUERY_NORMALIZED: return d->normalized;
	case QUERY_LAYERS: return d->layered ? d->layers : 0;
	case QUERY_LEVELS: return d->level_count;
	case QUERY_SAMPLES: return 1;
	case QUERY_FILTER: return d->filtered;
	case QUERY_ADDRESS_0: case QUERY_ADDRESS_1: case QUERY_ADDRESS_2: return d->address[what - QUERY_ADDRESS_0];
	case QUERY_UNNORMALIZED: return !d->normalized;
	default: return 0;
	}
}
