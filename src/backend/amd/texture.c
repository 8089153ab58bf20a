/* Texture and surface objects on an AMD GPU: copies of the records of backend/common/texture_table.c in device memory, in chunks of the same
 * shape, which kernels find by struct amd_service. Arrays lie in device memory as they do on the CPU: kernels sample in software. */
#include "backend/amd/amd.h"

#include <stdlib.h>

#include "backend/common/texture.h"

struct textures {
	pthread_mutex_t lock; /* the following */
	uint64_t *table;      /* device memory: what struct amd_service.textures says */
	struct srgb_table *srgb; /* device memory */
	struct texture *chunks[TEXTURE_CHUNKS]; /* device memory */
	VEC(uint64_t) sent;   /* by place: the object that the device has there */
};

static int allocate(void **pointer, uint64_t size)
{
	return amd_failed(HIP_CALL(hipMalloc, pointer, size), "memory for texture objects");
}

static int send(void *to, const void *from, uint64_t size)
{
	return amd_failed(HIP_CALL(hipMemcpy, to, from, size, HIP_COPY_DEFAULT), "sending a texture object");
}

struct textures *amd_textures_create(void)
{
	struct textures *textures = calloc(1, sizeof *textures);
	if (textures)
		pthread_mutex_init(&textures->lock, NULL);
	return textures;
}

void amd_textures_destroy(struct textures *textures)
{
	for (size_t i = 0; i < TEXTURE_CHUNKS; i++)
		if (textures->chunks[i])
			HIP_CALL(hipFree, textures->chunks[i]);
	if (textures->srgb)
		HIP_CALL(hipFree, textures->srgb);
	if (textures->table)
		HIP_CALL(hipFree, textures->table);
	vec_fini(&textures->sent);
	pthread_mutex_destroy(&textures->lock);
	free(textures);
}

/* The table itself, with the first object. */
static int need_table_locked(struct device *device, const struct texture *record)
{
	static const uint64_t none[TEXTURE_CHUNKS];
	struct textures *t = device->textures;
	int status = STATUS_SUCCESS;
	if (!t->srgb) {
		status = allocate((void **)&t->srgb, sizeof *t->srgb);
		if (!status)
			status = send(t->srgb, record->srgb, sizeof *t->srgb);
	}
	if (!status && !t->table) {
		status = allocate((void **)&t->table, sizeof none);
		if (!status)
			status = send(t->table, none, sizeof none);
		if (!status)
			amd_service_set_textures(device->service, (uintptr_t)t->table);
	}
	return status;
}

static int need_chunk_locked(struct textures *t, uint32_t number)
{
	const size_t bytes = TEXTURE_CHUNK * sizeof(struct texture);
	uint64_t address;
	void *chunk = NULL, *zeros;
	if (t->chunks[number])
		return STATUS_SUCCESS;
	int status = allocate(&chunk, bytes);
	if (status)
		return status;
	address = (uintptr_t)chunk;
	zeros = calloc(1, bytes);
	status = zeros ? send(chunk, zeros, bytes) : STATUS_OUT_OF_MEMORY;
	free(zeros);
	if (!status)
		status = send(&t->table[number], &address, sizeof address);
	if (status)
		HIP_CALL(hipFree, chunk);
	else
		t->chunks[number] = chunk;
	return status;
}

static int send_record_locked(struct device *device, const struct texture *record)
{
	struct textures *t = device->textures;
	uint32_t place = texture_place(record->object);
	struct texture copy = *record;
	int status = need_table_locked(device, record);
	copy.srgb = t->srgb;
	while (!status && t->sent.count <= place)
		status = vec_push(&t->sent, 0) ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
	if (!status)
		status = need_chunk_locked(t, place / TEXTURE_CHUNK);
	if (!status)
		status = send(&t->chunks[place / TEXTURE_CHUNK][place % TEXTURE_CHUNK], &copy, sizeof copy);
	if (!status)
		t->sent.data[place] = record->object;
	return status;
}

int amd_texture_create(struct device *device, const struct texture_description *description, uint64_t *object)
{
	uint64_t made;
	int status = amd_enter(device);
	if (!status)
		status = texture_add(description, &made);
	if (status)
		return status;
	pthread_mutex_lock(&device->textures->lock);
	status = send_record_locked(device, texture_find(made));
	pthread_mutex_unlock(&device->textures->lock);
	if (status)
		texture_remove(made);
	else
		*object = made;
	return status;
}

void amd_texture_destroy(struct device *device, uint64_t object)
{
	struct textures *t = device->textures;
	uint32_t place = texture_place(object);
	const uint64_t none = 0;
	pthread_mutex_lock(&t->lock);
	if (place < t->sent.count && t->sent.data[place] == object && !amd_enter(device)) {
		send(&t->chunks[place / TEXTURE_CHUNK][place % TEXTURE_CHUNK].object, &none, sizeof none);
		t->sent.data[place] = 0;
	}
	pthread_mutex_unlock(&t->lock);
	texture_remove(object);
}

int amd_textures_adopt(struct device *device)
{
	struct textures *t = device->textures;
	const struct texture *record;
	int status = amd_enter(device);
	pthread_mutex_lock(&t->lock);
	for (uint32_t place = 0; !status && (record = texture_at(place)); place++)
		if (record->object && (place >= t->sent.count || t->sent.data[place] != record->object))
			status = send_record_locked(device, record);
	pthread_mutex_unlock(&t->lock);
	return status;
}
