/* PTX text as the fat binary that a compiled program registers. */
#ifndef DRAGOMAN_TEST_DEVICE_CODE_H
#define DRAGOMAN_TEST_DEVICE_CODE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct device_code {
	struct {
		int magic, version;
		const void *data;
		void *unused;
	} wrapper;
	struct device_code *before; /* keeps all of them in reach of what looks for leaks */
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
	struct {
		uint16_t kind, entry_version;
		uint32_t header_bytes;
		uint64_t bytes;
		uint32_t compressed, options;
		uint16_t minor, major;
		uint32_t arch, name, name_bytes;
		uint64_t flags, unused, whole;
	} entry;
	char text[];
};

/* What __cudaRegisterFatBinary() takes; stays for the program's life. */
static inline void *device_code_wrap(const char *ptx)
{
	static struct device_code *last;
	size_t bytes = (strlen(ptx) + 8) / 8 * 8;
	struct device_code *code = calloc(1, sizeof *code + bytes);
	if (!code)
		exit(2);
	code->wrapper.magic = 0x466243b1;
	code->wrapper.version = 1;
	code->wrapper.data = &code->magic;
	code->magic = 0xba55ed50;
	code->version = 1;
	code->header_bytes = 16;
	code->bytes = sizeof code->entry + bytes;
	code->entry.kind = 1; /* PTX */
	code->entry.entry_version = 0x101;
	code->entry.header_bytes = sizeof code->entry;
	code->entry.bytes = bytes;
	code->entry.major = 7;
	code->entry.arch = 80;
	code->entry.flags = 0x11;
	strcpy(code->text, ptx);
	code->before = last;
	last = code;
	return code;
}

#endif
