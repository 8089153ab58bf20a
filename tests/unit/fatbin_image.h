/* Builds fat binaries for the tests, field by field from the layout in src/fatbin/container.c's head, so
 * that reader and writer share no code. */
#ifndef FATBIN_IMAGE_H
#define FATBIN_IMAGE_H

#include "base/base.h"

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

enum { IMAGE_STORED = 0, IMAGE_OLD = 0x1000, IMAGE_LZ4 = 0x2000, IMAGE_ZSTD = 0x8000 };

struct image_entry {
	uint16_t kind;
	uint32_t sm;
	uint32_t header; /* 0: 64 */
	uint64_t flags;  /* IMAGE_ZSTD …, others */
	const char *name;
	const void *bytes;
	size_t size;
};

static inline void image_put(struct text *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++) {
		char byte = (char)(value >> (8 * i));
		text_add(out, &byte, 1);
	}
}

static inline void image_pad(struct text *out, size_t count)
{
	while (count--)
		image_put(out, 0, 1);
}

static inline size_t image_compress(const struct image_entry *entry, char **out)
{
	size_t room = ZSTD_compressBound(entry->size) + (size_t)LZ4_compressBound((int)entry->size) + 1;
	*out = malloc(room);
	if (entry->flags & IMAGE_ZSTD)
		return ZSTD_compress(*out, room, entry->bytes, entry->size, 3);
	if (entry->flags & IMAGE_LZ4)
		return (size_t)LZ4_compress_default(entry->bytes, *out, (int)entry->size, (int)room);
	memcpy(*out, entry->bytes, entry->size);
	return entry->size;
}

static inline void image_add_entry(struct text *out, const struct image_entry *entry)
{
	uint32_t header = entry->header ? entry->header : 64;
	bool packed = entry->flags & (IMAGE_ZSTD | IMAGE_LZ4 | IMAGE_OLD);
	char *bytes;
	size_t size = image_compress(entry, &bytes), padded = align_up(size, 8);
	size_t name_length = entry->name ? strlen(entry->name) : 0;
	image_put(out, entry->kind, 2);
	image_put(out, 0x101, 2);
	image_put(out, header, 4);
	image_put(out, padded, 8);
	image_put(out, packed ? size : 0, 4);
	image_put(out, header > 64 ? 64 : 0, 4);
	image_put(out, 0, 2);
	image_put(out, 9, 2);
	image_put(out, entry->sm, 4);
	image_put(out, name_length ? 64 : 0, 4);
	image_put(out, name_length, 4);
	image_put(out, entry->flags | 0x11, 8);
	image_put(out, 0, 8);
	image_put(out, packed ? entry->size : 0, 8);
	if (name_length)
		text_add(out, entry->name, name_length);
	image_pad(out, header - 64 - name_length);
	text_add(out, bytes, size);
	image_pad(out, padded - size);
	free(bytes);
}

/* A container, behind what is there, which is padded to 8 bytes. */
static inline void image_add(struct text *out, const struct image_entry *entries, size_t count)
{
	struct text body = { 0 };
	for (size_t i = 0; i < count; i++)
		image_add_entry(&body, &entries[i]);
	image_pad(out, align_up(out->count, 8) - out->count);
	image_put(out, 0xBA55ED50, 4);
	image_put(out, 1, 2);
	image_put(out, 16, 2);
	image_put(out, body.count, 8);
	if (body.count)
		text_add(out, body.data, body.count);
	text_fini(&body);
}

struct image_section {
	const char *name;
	uint32_t type;
	uint64_t address;
	const void *bytes;
	size_t size;
};

/* An ELF file of 64 bits with the given sections. Those with an address get a PT_LOAD; one named .dynamic a
 * PT_DYNAMIC as well, one named .interp a PT_INTERP. */
static inline void image_add_elf(struct text *out, unsigned machine, unsigned type, uint32_t flags, unsigned abi,
				 const struct image_section *sections, size_t count)
{
	struct text body = { 0 }, names = { 0 }, table = { 0 }, segments = { 0 };
	Elf64_Shdr null = { 0 };
	image_pad(&names, 1);
	text_add(&table, (const char *)&null, sizeof null);
	size_t start = sizeof(Elf64_Ehdr) + 3 * count * sizeof(Elf64_Phdr);
	for (size_t i = 0; i <= count; i++) {
		bool last = i == count; /* .shstrtab itself */
		Elf64_Shdr header = { .sh_name = (Elf64_Word)names.count,
				      .sh_type = last ? SHT_STRTAB : sections[i].type };
		text_add(&names, last ? ".shstrtab" : sections[i].name,
			 strlen(last ? ".shstrtab" : sections[i].name) + 1);
		image_pad(&body, align_up(body.count, 8) - body.count);
		header.sh_offset = start + body.count;
		header.sh_size = last ? names.count : sections[i].size;
		header.sh_addr = last ? 0 : sections[i].address;
		if (last)
			text_add(&body, names.data, names.count);
		else if (sections[i].size)
			text_add(&body, sections[i].bytes, sections[i].size);
		text_add(&table, (const char *)&header, sizeof header);
		if (last || !sections[i].address)
			continue;
		Elf64_Phdr segment = { .p_type = PT_LOAD,
				       .p_offset = header.sh_offset,
				       .p_vaddr = header.sh_addr,
				       .p_filesz = header.sh_size,
				       .p_memsz = header.sh_size };
		text_add(&segments, (const char *)&segment, sizeof segment);
		segment.p_type = strcmp(sections[i].name, ".dynamic")
					 ? strcmp(sections[i].name, ".interp") ? PT_NULL : PT_INTERP
					 : PT_DYNAMIC;
		text_add(&segments, (const char *)&segment, sizeof segment);
	}
	Elf64_Ehdr header = { .e_type = (Elf64_Half)type,
			      .e_machine = (Elf64_Half)machine,
			      .e_version = 1,
			      .e_flags = flags,
			      .e_ehsize = sizeof header,
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_phoff = sizeof header,
			      .e_phnum = (Elf64_Half)(segments.count / sizeof(Elf64_Phdr)),
			      .e_shnum = (Elf64_Half)(count + 2),
			      .e_shstrndx = (Elf64_Half)(count + 1) };
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	header.e_ident[EI_ABIVERSION] = (unsigned char)abi;
	image_pad(&body, align_up(body.count, 8) - body.count);
	header.e_shoff = start + body.count;
	size_t base = out->count;
	text_add(out, (const char *)&header, sizeof header);
	if (segments.count)
		text_add(out, segments.data, segments.count);
	image_pad(out, base + start - out->count);
	text_add(out, body.data, body.count);
	text_add(out, table.data, table.count);
	text_fini(&body);
	text_fini(&names);
	text_fini(&table);
	text_fini(&segments);
}

/* A member of an archive, and before the first the archive's magic. */
static inline void image_add_member(struct text *out, const struct text *member)
{
	if (!out->count)
		text_printf(out, "!<arch>\n");
	text_printf(out, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "a.o/", 0, 0, 0, 644, member->count);
	text_add(out, member->data, member->count);
	if (member->count & 1)
		text_add(out, "\n", 1);
}

#endif
