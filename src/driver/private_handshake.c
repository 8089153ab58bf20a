/* The handshake by which NVIDIA's CUDA runtime makes sure that the driver library is in good order.
 *
 * The runtime that nvcc links into every program calls slot 1 of this table three times when it starts and gives up,
 * with cudaErrorSoftwareValidityNotEstablished, where the answer is not the one that both sides can work out. A
 * program's owner cannot run their own program without it: answering is needed for interoperability, and for nothing
 * else; it guards no content and no licence. The algorithm is interface fact, published by other open projects (ZLUDA).
 *
 * HMAC (RFC 2104) with MD2 (RFC 1319) over what both sides know of the driver, the process and the devices. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>
#include <unistd.h>

#include "driver/private.h"

enum { MD2_BLOCK = 16 };

/* RFC 1319: "nothing up my sleeve" bytes, a permutation of 0…255 made from the digits of pi. */
static const uint8_t pi_substitution[256] = {
	41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,
	98,  167, 5,   243, 192, 199, 115, 140, 152, 147, 43,  217, 188, 76,  130, 202,
	30,  155, 87,  60,  253, 212, 224, 22,  103, 66,  111, 24,  138, 23,  229, 18,
	190, 78,  196, 214, 218, 158, 222, 73,  160, 251, 245, 142, 187, 47,  238, 122,
	169, 104, 121, 145, 21,  178, 7,   63,  148, 194, 16,  137, 11,  34,  95,  33,
	128, 127, 93,  154, 90,  144, 50,  39,  53,  62,  204, 231, 191, 247, 151, 3,
	255, 25,  48,  179, 72,  165, 181, 209, 215, 94,  146, 42,  172, 86,  170, 198,
	79,  184, 56,  210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116, 4,   241,
	69,  157, 112, 89,  100, 113, 135, 32,  134, 91,  207, 101, 230, 45,  168, 2,
	27,  96,  37,  173, 174, 176, 185, 246, 28,  70,  97,  105, 52,  64,  126, 15,
	85,  71,  163, 35,  221, 81,  175, 58,  195, 92,  249, 206, 186, 197, 234, 38,
	44,  83,  13,  110, 133, 40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,
	106, 220, 55,  200, 108, 193, 171, 250, 36,  225, 123, 8,   12,  189, 177, 74,
	120, 136, 149, 139, 227, 99,  232, 109, 233, 203, 213, 254, 59,  0,   29,  57,
	242, 239, 183, 14,  102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,
	49,  68,  80,  180, 143, 237, 31,  26,  219, 153, 141, 51,  159, 17,  131, 20,
};

struct md2 {
	uint8_t state[48], checksum[16], block[16];
	unsigned filled;
};

static void md2_block(struct md2 *md2, const uint8_t block[16])
{
	uint8_t last = md2->checksum[15], t = 0;

	for (int i = 0; i < 16; i++) {
		last = md2->checksum[i] ^= pi_substitution[block[i] ^ last];
		md2->state[16 + i] = block[i];
		md2->state[32 + i] = md2->state[16 + i] ^ md2->state[i];
	}
	for (int round = 0; round < 18; round++) {
		for (int i = 0; i < 48; i++)
			t = md2->state[i] ^= pi_substitution[t];
		t = (uint8_t)(t + round);
	}
}

static void md2_update(struct md2 *md2, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	while (length--) {
		md2->block[md2->filled++] = *at++;
		if (md2->filled == 16) {
			md2_block(md2, md2->block);
			md2->filled = 0;
		}
	}
}

static void md2_final(struct md2 *md2, uint8_t digest[16])
{
	uint8_t padding[16], checksum[16];
	unsigned count = 16 - md2->filled;

	memset(padding, (int)count, sizeof padding);
	md2_update(md2, padding, count);
	memcpy(checksum, md2->checksum, sizeof checksum);
	md2_update(md2, checksum, sizeof checksum);
	memcpy(digest, md2->state, 16);
}

/* RFC 2104, for a key of exactly one block. */
static void hmac_md2(const uint8_t key[MD2_BLOCK], const void *bytes, size_t length, uint8_t digest[16])
{
	uint8_t pad[MD2_BLOCK];
	struct md2 inner = {0}, outer = {0};

	for (int i = 0; i < MD2_BLOCK; i++)
		pad[i] = key[i] ^ 0x36;
	md2_update(&inner, pad, sizeof pad);
	md2_update(&inner, bytes, length);
	md2_final(&inner, digest);
	for (int i = 0; i < MD2_BLOCK; i++)
		pad[i] = key[i] ^ 0x5c;
	md2_update(&outer, pad, sizeof pad);
	md2_update(&outer, digest, 16);
	md2_final(&outer, digest);
}

static CUresult handshake(uint32_t version, uint64_t unix_seconds, uint64_t out[2]);
static void set_enabled(bool enabled)
{
	(void)enabled; /* seen to be called; nothing observable follows */
}

#define SLOT(function) ((const void *)(uintptr_t)(function))
const void *handshake_table[] = {(const void *)(3 * sizeof(void *)), NULL, NULL};

void handshake_init(void)
{
	handshake_table[1] = SLOT(handshake);
	handshake_table[2] = SLOT(set_enabled);
}

static void add(uint8_t **at, const void *bytes, size_t length)
{
	memcpy(*at, bytes, length);
	*at += length;
}

/* Little endian, as the machines that this runs on are. */
static size_t describe(uint32_t version, uint64_t unix_seconds, uint8_t *message)
{
	uint8_t *at = message;
	uint32_t driver_version = DRIVER_VERSION, process = (uint32_t)getpid(), thread = (uint32_t)(uintptr_t)pthread_self();
	const void *pointers[3] = {runtime_interface_table, handshake_table, handshake_table[1]};

	add(&at, &driver_version, 4);
	add(&at, &version, 4);
	add(&at, &process, 4);
	add(&at, &thread, 4);
	add(&at, pointers, sizeof pointers);
	add(&at, &unix_seconds, 8);
	for (int i = 0; i < driver.count; i++) {
		const struct device_properties *p = &driver.devices[i].properties;
		int32_t place[3] = {p->pci_domain, p->pci_bus, p->pci_device};

		add(&at, p->uuid, 16);
		add(&at, place, sizeof place);
	}
	return (size_t)(at - message);
}

static CUresult handshake(uint32_t version, uint64_t unix_seconds, uint64_t out[2])
{
	static const uint8_t key[MD2_BLOCK] = {0x14, 0x6A, 0xDD, 0xAE, 0x53, 0xA9, 0xA7, 0x52,
					       0xAA, 0x08, 0x41, 0x36, 0x0B, 0xF5, 0x5A, 0x9F};
	uint8_t *message;
	uint8_t digest[16];

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (version % 10 < 2) {
		out[0] = version % 10 ? 0x1841181C03CB675C : 0x3341181C03CB675C;
		out[1] = 0x8ED383AA1F4CD1E8;
		return CUDA_SUCCESS;
	}
	message = malloc(48 + 28 * (size_t)driver.count);
	if (!message)
		return CUDA_ERROR_OUT_OF_MEMORY;
	hmac_md2(key, message, describe(version, unix_seconds, message), digest);
	free(message);
	memcpy(out, digest, sizeof digest);
	return CUDA_SUCCESS;
}
