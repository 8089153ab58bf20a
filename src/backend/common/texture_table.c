/* The objects that there are: records of textures and surfaces under their numbers, which kernels get. The host's alone; what a record says
 * beyond its description is worked out here. */
#include "backend/common/texture.h"

#include <math.h>
#include <stdlib.h>

#include "backend/common/common.h"

enum { GENERATIONS = 4095, SRGB_ONE = 65536 };

/* ---- sRGB -------------------------------------------------------------------------------------------------------------- */

static struct srgb_table srgb_table;
static pthread_once_t srgb_made = PTHREAD_ONCE_INIT;

static double srgb_linear(double code)
{
	return code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4);
}

static void srgb_make(void)
{
	for (int block = 0; block < 256; block += 8) {
		uint32_t last = (uint32_t)lround(srgb_linear((block + 7) / 255.0) * SRGB_ONE), unit = 1;
		while (last / unit >= 256)
			unit *= 2;
		for (int i = block; i < block + 8; i++) {
			srgb_table.values[i] = (uint32_t)lround(srgb_linear(i / 255.0) * SRGB_ONE / unit) * unit;
			srgb_table.units[i] = unit;
		}
	}
}

static uint32_t srgb_code(float linear)
{
	double v = linear > 0 ? fmin(linear, 1) : 0;
	v = v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
	return (uint32_t)floor(v * 255 + 0.5011);
}

/* ---- the border ---------------------------------------------------------------------------------------------------------- */

/* A number of [0, 1] or [-1, 1] as a code of `bits` (magnitude) bits: cut to four more bits, then rounded as the cards do. */
static int32_t border_code(float value, unsigned bits, bool is_signed)
{
	double v = isnan(value) ? 0 : fmin(fmax(value, is_signed ? -1 : 0), 1);
	int64_t cut = (int64_t)ldexp(fabs(v), (int)bits + 4);
	int64_t code = (cut * ((INT64_C(1) << bits) - 1) + (INT64_C(1) << (bits + 3)) - 1) >> (bits + 4);
	return (int32_t)(v < 0 ? -code : code);
}

static int32_t border_channel(const struct texture *t, unsigned c)
{
	float value = t->d.border[c];
	uint32_t bits = float_bits(value);
	switch (t->class) {
	case TEXEL_FLOAT:
		return (int32_t)bits;
	case TEXEL_HALF:
		return (int32_t)float_bits(half_to_float(float_to_half_cut(value)));
	case TEXEL_UNORM:
		if (c < t->srgb_channels)
			return (int32_t)srgb_code(value);
		return border_code(value, t->d.bits == 10 && c == 3 ? 2 : t->d.bits, false);
	case TEXEL_SNORM:
		return border_code(value, t->d.bits - 1u, true);
	default:
		if (t->d.bits == 32)
			return (int32_t)bits;
		if (t->d.channel == TEXTURE_SIGNED)
			return t->d.bits == 8 ? (int8_t)bits : (int16_t)bits;
		return (int32_t)(bits & ((1u << t->d.bits) - 1));
	}
}

static void set_border(struct texture *t)
{
	for (unsigned c = 0; c < 4; c++)
		t->border[c] = c < t->d.channels ? border_channel(t, c) : 0;
}

/* ---- records ----------------------------------------------------------------------------------------------------------- */

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

/* ---- numbers ----------------------------------------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	_Atomic(struct texture *) chunks[TEXTURE_CHUNKS];
	uint32_t used, first_free;     /* places ever used; where to look for a free one */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct texture *place_of(uint32_t number)
{
	struct texture *chunk = atomic_load_explicit(&table.chunks[number / TEXTURE_CHUNK], memory_order_acquire);
	return chunk ? &chunk[number % TEXTURE_CHUNK] : NULL;
}

const struct texture *texture_at(uint32_t place)
{
	return place < TEXTURE_CHUNK * TEXTURE_CHUNKS ? place_of(place) : NULL;
}

const struct texture *texture_find(uint64_t object)
{
	struct texture *t = texture_is_reference(object) ? NULL : place_of(texture_place(object));
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
	if (*number >= TEXTURE_CHUNK * TEXTURE_CHUNKS)
		return NULL;
	if (!place_of(*number)) {
		struct texture *chunk = calloc(TEXTURE_CHUNK, sizeof *chunk);
		if (!chunk)
			return NULL;
		atomic_store_explicit(&table.chunks[*number / TEXTURE_CHUNK], chunk, memory_order_release);
	}
	table.used++;
	return place_of(*number);
}

int texture_add(const struct texture_description *description, uint64_t *object)
{
	struct texture made = { .d = *description };
	uint32_t number;
	if (!classify(&made) || !description->level_count || description->level_count > TEXTURE_LEVELS || !description->layers)
		return STATUS_NOT_SUPPORTED;
	pthread_once(&srgb_made, srgb_make);
	made.srgb = &srgb_table;
	set_border(&made);
	pthread_mutex_lock(&table.lock);
	struct texture *t = take_place_locked(&number);
	if (t) {
		made.generation = t->generation % GENERATIONS + 1;
		made.object = (uint64_t)made.generation << TEXTURE_NUMBER_BITS | number;
		*t = made;
		*object = made.object;
		table.first_free = number + 1;
	}
	pthread_mutex_unlock(&table.lock);
	return t ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
}

void texture_remove(uint64_t object)
{
	uint32_t number = texture_place(object);
	pthread_mutex_lock(&table.lock);
	if (texture_find(object)) {
		place_of(number)->object = 0;
		if (number < table.first_free)
			table.first_free = number;
	}
	pthread_mutex_unlock(&table.lock);
}
