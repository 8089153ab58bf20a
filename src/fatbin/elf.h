/* Reading ELF files that may be damaged: every access is checked against the file's size.
 *
 * Only what device code and programs need: 64-bit little-endian headers, sections by name, bytes by
 * address. Follows the System V ABI's "Object Files". */
#ifndef DRAGOMAN_FATBIN_ELF_H
#define DRAGOMAN_FATBIN_ELF_H

#include "base/base.h"

#include <elf.h>

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

struct elf_file {
	const uint8_t *data;
	size_t size;
	Elf64_Ehdr header;
	uint64_t section_count;
	const char *names; /* of sections */
	size_t names_size; /* up to and with a NUL */
};

struct elf_section {
	const char *name; /* "" where the file gives none */
	Elf64_Shdr header;
	const uint8_t *data; /* header.sh_size bytes; NULL where they are not in the file */
};

/* Does `data` begin an ELF file at all, of whatever class and machine? */
bool elf_is(const void *data, size_t size);
/* False where it is not a 64-bit little-endian one. A file whose section table is damaged has no sections. */
bool elf_open(struct elf_file *elf, const void *data, size_t size);
bool elf_section(const struct elf_file *elf, uint64_t index, struct elf_section *section);
bool elf_find_section(const struct elf_file *elf, const char *name, struct elf_section *section);
bool elf_segment(const struct elf_file *elf, uint32_t index, Elf64_Phdr *segment);
/* What the file puts at a virtual address, and how many bytes follow in that segment; NULL where nothing. */
const uint8_t *elf_at_address(const struct elf_file *elf, uint64_t address, size_t *available);
/* A NUL-terminated string at `offset` of a table; NULL where it does not end within the table. */
const char *elf_string(const void *table, size_t size, uint64_t offset);
/* "x86-64", "AArch64", …; "machine 1234" in buffer where it has no name here. */
const char *elf_machine_name(unsigned machine, char buffer[32]);

/* The compute capability that a cubin's header names, 80 for sm_80. */
unsigned elf_cubin_sm(const struct elf_file *elf);
/* Calls `each` for the kernels of a cubin; stops where it returns false. */
void elf_cubin_kernels(const struct elf_file *elf, bool (*each)(void *argument, const char *name), void *argument);
/* Is it NVIDIA's library of device functions for dynamic parallelism and grid groups (cudadevrt) and no more? */
bool elf_cubin_is_device_runtime(const struct elf_file *elf);

#endif
