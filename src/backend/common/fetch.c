/* Texture fetches. PTX ISA 9.7.10; CUDA C++ Programming Guide, "Texture Fetching" and "Texture Object API". Where these
 * leave a choice it is made as an Ampere card was recorded to:
 * - coordinates are scaled in float; weights are the nearest 1/256, halves up, split between slices, then columns, then rows
 * - a 1D texture is a 2D one of height 1 at y = 0; wrap and mirror need normalised coordinates, else they clamp
 * - integer coordinates name a texel whatever the object says; outside they read 0
 * - layers past the end (or negative) are the last; faces of a cube are not filtered across
 * - the level of detail is cut to 1/256; offsets have 4 bits (tld4: 6) */
#include "backend/common/texture.h"

/* ---- coordinates ------------------------------------------------------------------------------------------------------ */

/* One lane's fetch. */
struct fetch {
	RECORD struct texture *t;
	uint32_t form;
	const uint32_t *arguments;     /* word a at a * lanes */
	uint32_t lanes;
	uint32_t sampler;              /* SAMPLER_ADDRESS */
	bool filtered, normalized;
	float coordinate[3];
	int32_t shift[3];              /* the offset */
	uint32_t layer;                /* first slice of its layer, or face */
};

static uint32_t word(const struct fetch *f, unsigned argument)
{
	return f->arguments[argument * f->lanes];
}

static float word_float(const struct fetch *f, unsigned argument)
{
	return float_of_bits(word(f, argument));
}

static unsigned geometry(const struct fetch *f)
{
	return f->form & FETCH_GEOMETRY;
}

static enum texture_address sampler_address(uint64_t state, unsigned axis)
{
	return (enum texture_address)(state >> (SAMPLER_ADDRESS + 3 * axis) & 7);
}

static enum texture_address address_mode(const struct fetch *f, unsigned axis)
{
	enum texture_address mode = sampler_address(f->sampler, axis);
	if (geometry(f) == TEXTURE_CUBE && !f->filtered && !f->t->d.mipmapped)
		return TEXTURE_CLAMP;
	return (mode == TEXTURE_WRAP || mode == TEXTURE_MIRROR) && !f->normalized ? TEXTURE_CLAMP : mode;
}

static bool is_not_a_number(double value)
{
	return value != value;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
	int64_t r = a % b;
	return r < 0 ? r + b : r;
}

/* An index outside. */
static OUT_OF_LINE int32_t resolve_outside(enum texture_address mode, int64_t index, uint32_t size)
{
	int64_t n = size;
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

/* The texel that an index means; -1: the border. */
static int32_t resolve(enum texture_address mode, int64_t index, uint32_t size)
{
	return index >= 0 && index < size ? (int32_t)index : resolve_outside(mode, index, size);
}

/* The floor; what is far outside every texture stays so. (Not floor(): a call, where the machine we compile for may lack the
 * instruction.) */
static int64_t to_index(double value)
{
	if (!(value > -0x1p46 && value < 0x1p46))
		return is_not_a_number(value) ? 0 : value < 0 ? -(INT64_C(1) << 46) : INT64_C(1) << 46;
	int64_t index = (int64_t)value;
	return index - (value < (double)index);
}

static float scaled(const struct fetch *f, unsigned axis, uint32_t size)
{
	bool normalized = f->normalized || f->t->d.mipmapped || geometry(f) == TEXTURE_CUBE;
	return normalized ? f->coordinate[axis] * (float)size : f->coordinate[axis];
}

/* The two texels of an axis that a linear filter reads, and the second one's weight in 256ths. */
struct pair {
	int32_t index[2];
	uint32_t weight;
};

static struct pair axis_pair(const struct fetch *f, unsigned axis, uint32_t size)
{
	enum texture_address mode = address_mode(f, axis);
	bool gather = f->form & FETCH_GATHER, linear = f->filtered || gather;
	double c = (double)scaled(f, axis, size);
	if (linear)
		c += f->shift[axis];
	if (linear && mode == TEXTURE_CLAMP_OGL)
		c = !(c > 0) ? 0 : c > size ? size : c;
	if (!linear && mode == TEXTURE_CLAMP_OGL)
		mode = TEXTURE_CLAMP;
	if (linear && mode == TEXTURE_CLAMP && !gather)
		c = !(c > 0.5) ? 0.5 : c > size - 0.5 ? size - 0.5 : c;
	int64_t index = to_index(linear ? (c - 0.5) * 256 + 0.5 : c), first = linear ? index >> 8 : index + f->shift[axis];
	int32_t texel = resolve(mode, first, size);
	return (struct pair){ { texel, linear ? resolve(mode, first + 1, size) : texel }, linear ? (uint32_t)(index & 255) : 0 };
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

static const TEXELS uint8_t *texels_of(RECORD struct texture_level *level)
{
	return (const TEXELS uint8_t *)level->base;
}

static void read_at(RECORD struct texture *t, RECORD struct texture_level *level, int32_t x, int32_t y, int32_t slice, int32_t raw[4])
{
	if (x < 0 || y < 0 || slice < 0) {
		for (unsigned c = 0; c < 4; c++)
			raw[c] = t->border[c];
		return;
	}
	texel_read(t, texels_of(level) + (uint64_t)slice * level->slice + (uint64_t)y * level->row + (uint64_t)x * t->texel_bytes, raw);
}

/* ---- footprints ---------------------------------------------------------------------------------------------------------- */

static uint32_t part(uint32_t whole, uint32_t weight)
{
	return (whole * weight + 128) >> 8;
}

static void make_footprint(const struct fetch *f, RECORD struct texture_level *level, const struct pair *x, const struct pair *y,
			   int32_t slice, uint32_t share, struct footprint *out)
{
	uint32_t right = part(share, x->weight), left = share - right;
	out->weight[3] = part(right, y->weight);
	out->weight[1] = right - out->weight[3];
	out->weight[0] = part(left, 256 - y->weight);
	out->weight[2] = left - out->weight[0];
	ROLLED
	for (unsigned i = 0; i < 4; i++)
		if (out->weight[i])
			read_at(f->t, level, x->index[i & 1], y->index[i >> 1], slice, out->raw[i]);
}

/* ---- levels --------------------------------------------------------------------------------------------------------------- */

static float larger(float a, float b)
{
	return b > a || is_not_a_number((double)a) ? b : a;
}

static int32_t cut_256ths(float value)
{
	if (is_not_a_number((double)value))
		return 0;
	return (int32_t)((value < -64 ? -64 : value > 64 ? 64 : value) * 256);
}

/* To 10 significant bits. */
static float cut_gradient(float value)
{
	return float_of_bits(float_bits(value) & 0x7fffc000);
}

static float gradient_length(const float g[3])
{
	float a = __builtin_fabsf(g[0]), b = __builtin_fabsf(g[1]), c = __builtin_fabsf(g[2]), swap;
	if (a < b)
		swap = a, a = b, b = swap;
	if (b < c)
		swap = b, b = c, c = swap;
	if (a < b)
		swap = a, a = b, b = swap;
	return a + b * (11.0f / 32) + c * 0.25f;
}

/* The logarithm in 256ths, floored, of a positive number: a bit for each squaring. */
static int32_t log2_256ths(float value)
{
	uint32_t bits = float_bits(value);
	int32_t result = -127;
	if (bits < 0x00800000) {
		bits = float_bits(value * 0x1p23f);
		result -= 23;
	}
	result += (int32_t)(bits >> 23);
	uint64_t m = (uint64_t)((bits & 0x7fffff) | 0x800000) << 40; /* of [1, 2), in 2^-63ths */
	for (int i = 0; i < 8; i++) {
		uint64_t high = m >> 32, low = m & UINT32_MAX;
		m = high * high + (high * low >> 31);
		result *= 2;
		if (m >> 63)
			result++;
		else
			m <<= 1;
	}
	return result;
}

/* The octagonal norm of the longest of both gradients and, cut to 11/16, of the quad's diagonals. */
static int32_t gradient_level(const struct fetch *f)
{
	RECORD struct texture_level *level = &f->t->d.levels[0];
	const float size[3] = { (float)level->width, (float)level->height, (float)level->depth };
	unsigned axes = geometry(f) == TEXTURE_1D ? 1 : geometry(f) == TEXTURE_2D ? 2 : 3;
	float dx[3] = { 0 }, dy[3] = { 0 }, sum[3], difference[3];
	for (unsigned i = 0; i < axes; i++) {
		dx[i] = __builtin_copysignf(cut_gradient(word_float(f, FETCH_DX + i) * size[i]), word_float(f, FETCH_DX + i));
		dy[i] = __builtin_copysignf(cut_gradient(word_float(f, FETCH_DY + i) * size[i]), word_float(f, FETCH_DY + i));
	}
	for (unsigned i = 0; i < 3; i++) {
		sum[i] = dx[i] + dy[i];
		difference[i] = dx[i] - dy[i];
	}
	float longest = larger(gradient_length(dx), gradient_length(dy));
	longest = larger(longest, larger(gradient_length(sum), gradient_length(difference)) * (11.0f / 16));
	if (!(longest > 0))
		return -64 * 256;
	return float_bits(longest) == 0x7f800000 ? 64 * 256 : log2_256ths(longest);
}

/* In 256ths of a level. */
static uint32_t level_of_detail(const struct fetch *f)
{
	RECORD struct texture_description *d = &f->t->d;
	int32_t lod = 0, last = ((int32_t)d->level_count - 1) * 256;
	if (!d->mipmapped)
		return 0;
	if (f->form & FETCH_LEVEL)
		lod = f->form & FETCH_INTEGER ? (int32_t)(word(f, FETCH_LOD) < TEXTURE_LEVELS ? word(f, FETCH_LOD) : TEXTURE_LEVELS) * 256 :
						cut_256ths(word_float(f, FETCH_LOD)) + cut_256ths(d->level_bias);
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
	RECORD struct texture *t = f->t;
	RECORD struct texture_level *level = &t->d.levels[(level_of_detail(f) + 128) >> 8];
	uint32_t x = word(f, FETCH_X) + (uint32_t)f->shift[0], y = 0, slice = f->layer;
	int32_t raw[4];
	if (geometry(f) != TEXTURE_1D)
		y = word(f, FETCH_Y) + (uint32_t)f->shift[1];
	if (geometry(f) == TEXTURE_3D)
		slice = word(f, FETCH_Z) + (uint32_t)f->shift[2];
	for (unsigned c = 0; c < 4; c++)
		out[c] = 0;
	if (x >= level->width || y >= level->height || (geometry(f) == TEXTURE_3D && slice >= level->depth))
		return;
	read_at(t, level, (int32_t)x, (int32_t)y, (int32_t)slice, raw);
	texel_result(t, raw, out);
}

static void fetch_filtered(const struct fetch *f, uint32_t out[4])
{
	RECORD struct texture_description *d = &f->t->d;
	struct footprint footprints[4];
	uint32_t lod = level_of_detail(f), upper = d->mip_filtered ? lod & 255 : 0;
	RECORD struct texture_level *level = &d->levels[d->mip_filtered ? lod >> 8 : (lod + 128) >> 8];
	unsigned count = 0;
	ROLLED
	for (unsigned i = 0; i < (upper ? 2u : 1u); i++, level++) {
		struct pair x = axis_pair(f, 0, level->width), y = row_pair(f, level->height), z = slice_pair(f, level->depth);
		uint32_t share = i ? upper : 256 - upper, lower = part(share, 256 - z.weight);
		int32_t raw[4];
		if (!f->filtered && !upper) {
			read_at(f->t, level, x.index[0], y.index[0], z.index[0], raw);
			texel_result(f->t, raw, out);
			return;
		}
		ROLLED
		for (unsigned j = 0; j < 2; j++) {
			uint32_t weight = j ? share - lower : lower;
			if (weight)
				make_footprint(f, level, &x, &y, z.index[j], weight, &footprints[count++]);
		}
	}
	texel_blend(f->t, footprints, count, out);
}

/* (i, j+1), (i+1, j+1), (i+1, j), (i, j) */
static void fetch_gathered(const struct fetch *f, uint32_t out[4])
{
	RECORD struct texture_level *level = &f->t->d.levels[0];
	struct pair x = axis_pair(f, 0, level->width), y = axis_pair(f, 1, level->height);
	unsigned channel = f->form >> FETCH_COMPONENT & 3;
	ROLLED
	for (unsigned i = 0; i < 4; i++) {
		int32_t raw[4];
		read_at(f->t, level, x.index[i == 1 || i == 2], y.index[i < 2], (int32_t)f->layer, raw);
		out[i] = texel_gathered(f->t, raw[channel], channel);
	}
}

/* ---- setting up ------------------------------------------------------------------------------------------------------------- */

/* The face that a direction meets, ties to z, then y; its coordinates within it replace the direction's. */
static uint32_t project(float c[3])
{
	float x = c[0], y = c[1], z = c[2], ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z), s, t, m;
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
	RECORD struct texture_description *d = &f->t->d;
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
	unsigned axes = geometry(f) == TEXTURE_1D ? 1 : geometry(f) == TEXTURE_2D ? 2 : 3;
	for (unsigned i = 0; i < 3 && i < axes; i++)
		f->coordinate[i] = word_float(f, FETCH_X + i);
	f->layer = geometry(f) == TEXTURE_CUBE ? layer * 6 + project(f->coordinate) : layer;
}

/* Other shapes than the object's read what there is of it; only faces are not there to be read. */
bool texture_fits(RECORD struct texture *t, uint32_t form)
{
	return !t->d.surface && ((form & FETCH_GEOMETRY) != TEXTURE_CUBE || t->d.geometry == TEXTURE_CUBE);
}

bool texture_is_buffer(RECORD struct texture *t, uint32_t form)
{
	return t->d.linear_memory && (form & ~(uint32_t)FETCH_SAMPLING) == (FETCH_INTEGER | TEXTURE_1D);
}

void texture_fetch_buffer(RECORD struct texture *t, uint32_t index, uint32_t out[4])
{
	RECORD struct texture_level *level = &t->d.levels[0];
	int32_t raw[4];
	for (unsigned c = 0; c < 4; c++)
		out[c] = 0;
	if (index >= level->width)
		return;
	texel_read(t, texels_of(level) + (uint64_t)index * t->texel_bytes, raw);
	texel_result(t, raw, out);
}

uint64_t texture_sampler(RECORD struct texture *t)
{
	RECORD struct texture_description *d = &t->d;
	uint64_t state = SAMPLER_WORD | (d->filtered ? SAMPLER_FILTERED : 0) | (d->normalized ? 0 : SAMPLER_UNNORMALIZED);
	for (unsigned axis = 0; axis < 3; axis++)
		state |= (uint64_t)d->address[axis] << (SAMPLER_ADDRESS + 3 * axis);
	return state;
}

void texture_fetch(RECORD struct texture *t, uint32_t form, uint64_t sampler, const uint32_t *arguments, uint32_t lanes, uint32_t out[4])
{
	struct fetch f = { .t = t, .form = form, .arguments = arguments, .lanes = lanes };
	bool own = !(form & (FETCH_SAMPLER | FETCH_SAMPLERS));
	f.sampler = (uint32_t)sampler;
	f.filtered = sampler & SAMPLER_FILTERED && (own || t->class != TEXEL_INTEGER);
	f.normalized = t->d.normalized && !(sampler & SAMPLER_UNNORMALIZED);
	set_place(&f);
	if (form & FETCH_GATHER)
		fetch_gathered(&f, out);
	else if (form & FETCH_INTEGER)
		fetch_texel(&f, out);
	else
		fetch_filtered(&f, out);
}

/* ---- queries ------------------------------------------------------------------------------------------------------------------ */

/* The numbers of OpenCL's cl_channel_order and cl_channel_type, which PTX programs compare with. */
static uint32_t channel_order(RECORD struct texture *t)
{
	return t->d.channels == 1 ? 0x10b0 : t->d.channels == 2 ? 0x10b2 : 0x10b5;
}

static uint32_t channel_type(RECORD struct texture *t)
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

uint32_t texture_sampler_answer(uint64_t state, enum texture_query query)
{
	switch (query) {
	case QUERY_KIND: return 3;
	case QUERY_FILTER: return !!(state & SAMPLER_FILTERED);
	case QUERY_UNNORMALIZED: return !!(state & SAMPLER_UNNORMALIZED);
	case QUERY_ADDRESS_0: case QUERY_ADDRESS_1: case QUERY_ADDRESS_2: return sampler_address(state, query - QUERY_ADDRESS_0);
	default: return 0;
	}
}

uint32_t texture_answer(RECORD struct texture *t, enum texture_query query, uint32_t level)
{
	RECORD struct texture_description *d = &t->d;
	RECORD struct texture_level *l = &d->levels[level < d->level_count ? level : d->level_count - 1];
	switch (query) {
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
	case QUERY_ADDRESS_0: case QUERY_ADDRESS_1: case QUERY_ADDRESS_2: return d->address[query - QUERY_ADDRESS_0];
	case QUERY_UNNORMALIZED: return !d->normalized;
	default: return 0;
	}
}
