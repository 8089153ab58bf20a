/* ELF, read with every bound checked. See elf.h. */
#include "fatbin/elf.h"

#include <stdio.h>

static bool within(size_t size, uint64_t offset, uint64_t length)
{
	return offset <= size && length <= size - offset;
}

bool elf_is(const void *data, size_t size)
{
	return size >= EI_NIDENT && !memcmp(data, ELFMAG, SELFMAG);
}

bool elf_open(struct elf_file *elf, const void *data, size_t size)
{
	*elf = (struct elf_file){ .data = data, .size = size };
	if (!elf_is(data, size) || size < sizeof elf->header)
		return false;
	memcpy(&elf->header, data, sizeof elf->header);
	if (elf->header.e_ident[EI_CLASS] != ELFCLASS64 || elf->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (!elf->header.e_shoff || elf->header.e_shentsize != sizeof(Elf64_Shdr) ||
	    !within(size, elf->header.e_shoff, sizeof(Elf64_Shdr)))
		return true;
	/* Counts and indices too large for the header stand in section 0. */
	Elf64_Shdr first;
	memcpy(&first, elf->data + elf->header.e_shoff, sizeof first);
	uint64_t count = elf->header.e_shnum ? elf->header.e_shnum : first.sh_size;
	uint64_t names = elf->header.e_shstrndx == SHN_XINDEX ? first.sh_link : elf->header.e_shstrndx;
	if (count > (size - elf->header.e_shoff) / sizeof(Elf64_Shdr))
		return true;
	elf->section_count = count;
	struct elf_section table;
	if (elf_section(elf, names, &table) && table.data) {
		/* Up to its last NUL, so that every name in it ends. */
		const uint8_t *last = memrchr(table.data, 0, table.header.sh_size);
		elf->names = (const char *)table.data;
		elf->names_size = last ? (size_t)(last - table.data) + 1 : 0;
	}
	return true;
}

bool elf_section(const struct elf_file *elf, uint64_t index, struct elf_section *section)
{
	if (index >= elf->section_count)
		return false;
	memcpy(&section->header, elf->data + elf->header.e_shoff + index * sizeof section->header,
	       sizeof section->header);
	section->data = NULL;
	if (section->header.sh_type != SHT_NOBITS && section->header.sh_type != SHT_NULL &&
	    within(elf->size, section->header.sh_offset, section->header.sh_size))
		section->data = elf->data + section->header.sh_offset;
	section->name = section->header.sh_name < elf->names_size ? elf->names + section->header.sh_name : "";
	return true;
}

bool elf_find_section(const struct elf_file *elf, const char *name, struct elf_section *section)
{
	for (uint64_t i = 0; elf_section(elf, i, section); i++)
		if (!strcmp(section->name, name))
			return true;
	return false;
}

bool elf_segment(const struct elf_file *elf, uint32_t index, Elf64_Phdr *segment)
{
	if (index >= elf->header.e_phnum || elf->header.e_phentsize != sizeof *segment ||
	    !within(elf->size, elf->header.e_phoff, (uint64_t)elf->header.e_phnum * sizeof *segment))
		return false;
	memcpy(segment, elf->data + elf->header.e_phoff + index * sizeof *segment, sizeof *segment);
	return true;
}

const uint8_t *elf_at_address(const struct elf_file *elf, uint64_t address, size_t *available)
{
	Elf64_Phdr segment;
	for (uint32_t i = 0; elf_segment(elf, i, &segment); i++) {
		if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
		    address - segment.p_vaddr >= segment.p_filesz ||
		    !within(elf->size, segment.p_offset, segment.p_filesz))
			continue;
		*available = segment.p_filesz - (address - segment.p_vaddr);
		return elf->data + segment.p_offset + (address - segment.p_vaddr);
	}
	return NULL;
}

const char *elf_string(const void *table, size_t size, uint64_t offset)
{
	if (!table || offset >= size)
		return NULL;
	const char *text = (const char *)table + offset;
	return memchr(text, 0, size - offset) ? text : NULL;
}

const char *elf_machine_name(unsigned machine, char buffer[32])
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{ EM_386, "x86 (32 bits)" }, { EM_X86_64, "x86-64" },   { EM_ARM, "ARM (32 bits)" },
		{ EM_AARCH64, "AArch64" },   { EM_PPC64, "PowerPC64" }, { EM_RISCV, "RISC-V" },
		{ EM_CUDA, "NVIDIA GPU" },   { EM_AMDGPU, "AMD GPU" },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	snprintf(buffer, 32, "machine %u", machine);
	return buffer;
}

unsigned elf_cubin_sm(const struct elf_file *elf)
{
	/* CUDA 13 (ABI version 8) moved the number up one byte. */
	unsigned shift = elf->header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;
	return elf->header.e_flags >> shift & 0xff;
}

void elf_cubin_kernels(const struct elf_file *elf, bool (*each)(void *argument, const char *name), void *argument)
{
	/* A kernel's constant bank 0 holds its parameters; a device function has none. */
	static const char prefix[] = ".nv.constant0.";
	struct elf_section section;
	for (uint64_t i = 0; elf_section(elf, i, &section); i++)
		if (!strncmp(section.name, prefix, sizeof prefix - 1) &&
		    !each(argument, section.name + sizeof prefix - 1))
			return;
}

static bool is_runtimes_kernel(void *all, const char *name)
{
	*(bool *)all = strstr(name, "cuda_device_runtime") || strstr(name, "memcpy_3d_device") || strstr(name, "memset_3d_device");
	return *(bool *)all;
}

bool elf_cubin_is_device_runtime(const struct elf_file *elf)
{
	struct elf_section section;
	bool all = true;
	if (!elf_find_section(elf, ".text.cudaGetParameterBuffer", &section) &&
	    !elf_find_section(elf, ".text.__cudaCDP2GetParameterBuffer", &section))
		return false;
	elf_cubin_kernels(elf, is_runtimes_kernel, &all);
	return all;
}
