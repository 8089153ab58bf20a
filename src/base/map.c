/* String maps (open addressing, linear probing, deletion by back-shift) and the hash they use. */
#include "base.h"

#include <stdlib.h>

/* wyhash-style mixing of 8 bytes at a time: quick on short keys, good enough for tables. */
uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
	const uint8_t *p = bytes;
	uint64_t h = seed ^ (length * UINT64_C(0x9E3779B97F4A7C15));
	while (length >= 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		h = (h ^ word) * UINT64_C(0xD6E8FEB86659FD93);
		h ^= h >> 32;
		p += 8;
		length -= 8;
	}
	uint64_t tail = 0;
	for (size_t i = 0; i < length; i++)
		tail |= (uint64_t)p[i] << (8 * i);
	h = (h ^ tail) * UINT64_C(0xD6E8FEB86659FD93);
	h ^= h >> 32;
	h *= UINT64_C(0xD6E8FEB86659FD93);
	return h ^ (h >> 32);
}

static struct map_slot *map_find(const struct map *map, const char *key, size_t length, uint32_t hash)
{
	if (!map->capacity)
		return NULL;
	for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
		struct map_slot *slot = &map->slots[i];
		if (!slot->key || (slot->hash == hash && slot->length == length && !memcmp(slot->key, key, length)))
			return slot;
	}
}

static bool map_grow(struct map *map)
{
	struct map old = *map;
	map->capacity = old.capacity ? old.capacity * 2 : 16;
	map->slots = calloc(map->capacity, sizeof *map->slots);
	if (!map->slots) {
		*map = old;
		return false;
	}
	for (size_t i = 0; i < old.capacity; i++)
		if (old.slots[i].key)
			*map_find(map, old.slots[i].key, old.slots[i].length, old.slots[i].hash) = old.slots[i];
	free(old.slots);
	return true;
}

void map_fini(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}

void *map_get_n(const struct map *map, const char *key, size_t length)
{
	struct map_slot *slot = map_find(map, key, length, (uint32_t)hash_bytes(key, length, 0));
	return slot && slot->key ? slot->value : NULL;
}

void *map_get(const struct map *map, const char *key)
{
	return map_get_n(map, key, strlen(key));
}

void *map_put_n(struct map *map, const char *key, size_t length, void *value)
{
	if (map->count * 4 >= map->capacity * 3 && !map_grow(map))
		return NULL;
	uint32_t hash = (uint32_t)hash_bytes(key, length, 0);
	struct map_slot *slot = map_find(map, key, length, hash);
	void *former = slot->key ? slot->value : NULL;
	if (!slot->key)
		map->count++;
	*slot = (struct map_slot){ .key = key, .hash = hash, .length = (uint32_t)length, .value = value };
	return former;
}

void *map_put(struct map *map, const char *key, void *value)
{
	return map_put_n(map, key, strlen(key), value);
}

void *map_remove_n(struct map *map, const char *key, size_t length)
{
	struct map_slot *slot = map_find(map, key, length, (uint32_t)hash_bytes(key, length, 0));
	if (!slot || !slot->key)
		return NULL;
	void *value = slot->value;
	size_t mask = map->capacity - 1, hole = (size_t)(slot - map->slots);
	for (size_t i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
		size_t home = map->slots[i].hash & mask;
		/* May this one move into the hole without passing its home? */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole] = (struct map_slot){ 0 };
	map->count--;
	return value;
}

void *map_remove(struct map *map, const char *key)
{
	return map_remove_n(map, key, strlen(key));
}
