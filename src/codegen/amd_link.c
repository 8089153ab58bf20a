/* The linker of the AMDGPU target, for one object that defines all that it uses. What is in the object is not trusted: every offset,
 * size and index is checked and what is not known is refused.
 *
 * ELF-64 object file format; System V ABI, "Dynamic Linking"; LLVM, "User Guide for AMDGPU Backend": Code Object, Relocation Records.
 *
 * The image: three segments (read, execute, write), each a list of sections, at file offset + segment * PAGE, so that addresses and
 * offsets agree within a page and nothing is padded to pages. Behind them what only tools read: symbols again, names, section headers
 * (HIP takes the image's size from those). Symbols are bound here: through the table of addresses (GOT) only where the code asks for it. */
#include "codegen/amd_link.h"

#include "base/base.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef EM_AMDGPU
#define EM_AMDGPU 224
#endif

/* S: the symbol's address, A: the addend, P: the place, G: the address of the symbol's entry of the GOT. */
enum {
	R_AMDGPU_NONE = 0,
	R_AMDGPU_ABS64 = 3,           /* S + A */
	R_AMDGPU_REL32 = 4,           /* S + A - P, as are those up to REL32_HI, of 32 bits but for one */
	R_AMDGPU_REL64 = 5,
	R_AMDGPU_GOTPCREL = 7,        /* G + A - P */
	R_AMDGPU_GOTPCREL32_LO = 8,
	R_AMDGPU_GOTPCREL32_HI = 9,
	R_AMDGPU_REL32_LO = 10,
	R_AMDGPU_REL32_HI = 11,
	R_AMDGPU_RELATIVE64 = 13,     /* in the output: base + A */
	R_AMDGPU_REL16 = 14           /* (S + A - P - 4) / 4 */
};

enum segment { SEGMENT_READ, SEGMENT_EXECUTE, SEGMENT_WRITE, SEGMENTS, NOWHERE };
enum { PAGE = 4096, LARGEST = 256 << 20, SECTIONS_MOST = 4096, PROGRAM_HEADERS = 3 + SEGMENTS /* itself, dynamic, notes */ };
#define NONE UINT32_MAX

struct output_section {
	const char *name;
	Elf64_Shdr header;
	const void *data; /* NULL: zeros */
	enum segment segment; /* NOWHERE: not in memory */
};

struct linker {
	struct arena arena;
	const uint8_t *bytes; /* the object */
	size_t size;
	Elf64_Ehdr header;
	const Elf64_Shdr *sections;
	uint32_t section_count;
	const Elf64_Sym *symbols;
	uint32_t symbol_count;
	const char *section_names, *symbol_names; /* each within a section that ends in a zero */
	size_t section_names_size, symbol_names_size;

	uint32_t *out_of;   /* section of the object -> of the output, NONE: dropped */
	uint32_t *got_slot; /* symbol -> entry of the GOT, NONE */
	uint32_t *dynamic_index; /* symbol -> entry of .dynsym, 0: not in it */
	uint32_t got_count, relocation_count;
	Elf64_Sym *dynamic_symbols;
	uint32_t dynamic_count;
	struct text dynamic_names;

	VEC(struct output_section) out;
	uint32_t dynsym, dynstr, hash, rela, dynamic, got; /* indices into `out`; NONE: there is none */
	uint32_t first_note, note_count;

	uint8_t *image;
	size_t image_size;
	uint32_t relocations_written;
	bool exhausted; /* out of memory: no section could be added */
	char *error;
	size_t error_size;
};

static bool PRINTF_LIKE(2, 3) refuse(struct linker *l, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(l->error, l->error_size, format, arguments);
	va_end(arguments);
	return false;
}

/* ---- reading the object ------------------------------------------------------------------------------ */

static bool within(const struct linker *l, uint64_t offset, uint64_t size)
{
	return offset <= l->size && size <= l->size - offset;
}

/* A copy, so that it is aligned whatever the object says. */
static const void *copy_of(struct linker *l, uint64_t offset, uint64_t size)
{
	void *copy = arena_alloc(&l->arena, size ? size : 1);

	memcpy(copy, l->bytes + offset, size);
	return copy;
}

static bool read_header(struct linker *l)
{
	const unsigned char *id = l->header.e_ident;

	if (l->size < sizeof l->header || l->size > LARGEST)
		return refuse(l, "the object has %zu bytes", l->size);
	memcpy(&l->header, l->bytes, sizeof l->header);
	if (memcmp(id, ELFMAG, SELFMAG) || id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB || l->header.e_machine != EM_AMDGPU ||
	    l->header.e_type != ET_REL)
		return refuse(l, "not a relocatable AMDGPU object");
	l->section_count = l->header.e_shnum;
	if (l->header.e_shentsize != sizeof(Elf64_Shdr) || l->section_count < 2 || l->section_count > SECTIONS_MOST ||
	    !within(l, l->header.e_shoff, l->section_count * sizeof(Elf64_Shdr)))
		return refuse(l, "the object's table of sections is damaged");
	l->sections = copy_of(l, l->header.e_shoff, l->section_count * sizeof(Elf64_Shdr));
	return true;
}

/* A section of names: NUL-terminated as a whole, so that every offset within it is a string. */
static const char *read_names(struct linker *l, uint32_t index, size_t *size)
{
	const Elf64_Shdr *s = index < l->section_count ? &l->sections[index] : NULL;

	if (!s || s->sh_type != SHT_STRTAB || !s->sh_size || l->bytes[s->sh_offset + s->sh_size - 1])
		return NULL;
	*size = s->sh_size;
	return (const char *)l->bytes + s->sh_offset;
}

static bool read_sections(struct linker *l)
{
	for (uint32_t i = 0; i < l->section_count; i++) {
		const Elf64_Shdr *s = &l->sections[i];
		uint64_t align = s->sh_addralign;

		if (s->sh_type == SHT_NOBITS ? s->sh_size > LARGEST : !within(l, s->sh_offset, s->sh_size))
			return refuse(l, "section %u lies outside of the object", i);
		if (s->sh_flags & SHF_ALLOC && ((align & (align - 1)) || align > PAGE))
			return refuse(l, "section %u has an alignment of %llu", i, (unsigned long long)align);
	}
	l->section_names = read_names(l, l->header.e_shstrndx, &l->section_names_size);
	if (!l->section_names)
		return refuse(l, "the object's section names are damaged");
	for (uint32_t i = 0; i < l->section_count; i++)
		if (l->sections[i].sh_name >= l->section_names_size)
			return refuse(l, "the object's section names are damaged");
	return true;
}

static bool read_symbols(struct linker *l)
{
	const Elf64_Shdr *table = NULL;

	for (uint32_t i = 0; i < l->section_count; i++)
		if (l->sections[i].sh_type == SHT_SYMTAB)
			table = &l->sections[i];
	if (!table)
		return refuse(l, "the object has no symbols");
	l->symbol_names = read_names(l, table->sh_link, &l->symbol_names_size);
	if (!l->symbol_names || table->sh_entsize != sizeof(Elf64_Sym) || table->sh_size % sizeof(Elf64_Sym))
		return refuse(l, "the object's symbols are damaged");
	l->symbol_count = (uint32_t)(table->sh_size / sizeof(Elf64_Sym));
	l->symbols = copy_of(l, table->sh_offset, table->sh_size);
	for (uint32_t i = 0; i < l->symbol_count; i++) {
		const Elf64_Sym *s = &l->symbols[i];

		if (s->st_name >= l->symbol_names_size)
			return refuse(l, "the object's symbols are damaged");
		if (s->st_shndx >= l->section_count && s->st_shndx != SHN_ABS)
			return refuse(l, "symbol '%.200s' is of a kind that cannot be linked (section 0x%x)", l->symbol_names + s->st_name,
				      s->st_shndx);
	}
	return true;
}

static const char *symbol_name(const struct linker *l, uint32_t symbol)
{
	const Elf64_Sym *s = &l->symbols[symbol];

	if (ELF64_ST_TYPE(s->st_info) == STT_SECTION && s->st_shndx < l->section_count)
		return l->section_names + l->sections[s->st_shndx].sh_name;
	return l->symbol_names + s->st_name;
}

/* ---- what the output has ----------------------------------------------------------------------------- */

static enum segment segment_of(const Elf64_Shdr *s)
{
	if (!(s->sh_flags & SHF_ALLOC))
		return NOWHERE;
	return s->sh_flags & SHF_EXECINSTR ? SEGMENT_EXECUTE : s->sh_flags & SHF_WRITE ? SEGMENT_WRITE : SEGMENT_READ;
}

static bool in_memory(const struct linker *l, const Elf64_Sym *s)
{
	return s->st_shndx == SHN_ABS || segment_of(&l->sections[s->st_shndx]) != NOWHERE; /* section 0, of what is undefined, is nowhere */
}

/* Each relocation of what is in memory, until `see` says no. */
static bool each_relocation(struct linker *l, bool (*see)(struct linker *l, uint32_t section, const Elf64_Rela *r))
{
	for (uint32_t i = 0; i < l->section_count; i++) {
		const Elf64_Shdr *s = &l->sections[i];

		if ((s->sh_type != SHT_RELA && s->sh_type != SHT_REL) || s->sh_info >= l->section_count ||
		    segment_of(&l->sections[s->sh_info]) == NOWHERE)
			continue;
		if (s->sh_type == SHT_REL || s->sh_entsize != sizeof(Elf64_Rela) || s->sh_size % sizeof(Elf64_Rela) ||
		    l->sections[s->sh_info].sh_type == SHT_NOBITS)
			return refuse(l, "the relocations of section %u are damaged", s->sh_info);
		for (uint64_t at = 0; at < s->sh_size; at += sizeof(Elf64_Rela)) {
			Elf64_Rela r;

			memcpy(&r, l->bytes + s->sh_offset + at, sizeof r);
			if (!see(l, s->sh_info, &r))
				return false;
		}
	}
	return true;
}

static unsigned relocation_width(uint32_t type)
{
	return type == R_AMDGPU_ABS64 || type == R_AMDGPU_REL64 ? 8 : type == R_AMDGPU_REL16 ? 2 : 4;
}

/* First pass: all of them are sound, and how large the tables get. */
static bool check_relocation(struct linker *l, uint32_t section, const Elf64_Rela *r)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info), symbol = (uint32_t)ELF64_R_SYM(r->r_info);
	const Elf64_Shdr *place = &l->sections[section];

	if (type == R_AMDGPU_NONE)
		return true;
	if (symbol >= l->symbol_count || place->sh_size < relocation_width(type) || r->r_offset > place->sh_size - relocation_width(type))
		return refuse(l, "a relocation of section %u is damaged", section);
	const Elf64_Sym *s = &l->symbols[symbol];
	if (s->st_shndx == SHN_UNDEF)
		return refuse(l, "'%.200s' is not defined", symbol_name(l, symbol));
	bool absolute = s->st_shndx == SHN_ABS;
	if (!in_memory(l, s))
		return refuse(l, "'%.200s' is not in memory", symbol_name(l, symbol));
	switch (type) {
	case R_AMDGPU_ABS64:
		if (absolute)
			return true;
		if (segment_of(place) != SEGMENT_WRITE)
			return refuse(l, "%s, which is not writable, holds the address of '%.200s'", l->section_names + place->sh_name,
				      symbol_name(l, symbol));
		l->relocation_count++;
		return true;
	case R_AMDGPU_GOTPCREL:
	case R_AMDGPU_GOTPCREL32_LO:
	case R_AMDGPU_GOTPCREL32_HI:
		if (l->got_slot[symbol] == NONE) {
			l->got_slot[symbol] = l->got_count++;
			l->relocation_count += !absolute;
		}
		return true;
	case R_AMDGPU_REL32:
	case R_AMDGPU_REL64:
	case R_AMDGPU_REL32_LO:
	case R_AMDGPU_REL32_HI:
	case R_AMDGPU_REL16:
		return !absolute || refuse(l, "'%.200s' has no distance from the code", symbol_name(l, symbol));
	default:
		return refuse(l, "relocation %u against '%.200s' is not known", type, symbol_name(l, symbol));
	}
}

/* What the loader finds by name: globals that are not hidden. */
static void choose_dynamic_symbols(struct linker *l)
{
	l->dynamic_symbols = arena_array(&l->arena, Elf64_Sym, l->symbol_count + (size_t)1);
	l->dynamic_index = arena_array(&l->arena, uint32_t, l->symbol_count + (size_t)1);
	l->dynamic_count = 1;
	text_add(&l->dynamic_names, "", 1);
	for (uint32_t i = 1; i < l->symbol_count; i++) {
		Elf64_Sym s = l->symbols[i];
		unsigned visibility = ELF64_ST_VISIBILITY(s.st_other);

		if (ELF64_ST_BIND(s.st_info) == STB_LOCAL || visibility == STV_HIDDEN || visibility == STV_INTERNAL || !in_memory(l, &s))
			continue;
		const char *name = l->symbol_names + s.st_name;
		s.st_name = (Elf64_Word)l->dynamic_names.count;
		text_add(&l->dynamic_names, name, strlen(name) + 1);
		l->dynamic_index[i] = l->dynamic_count;
		l->dynamic_symbols[l->dynamic_count++] = s;
	}
}

static uint32_t elf_hash(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (uint8_t)*name;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	return hash;
}

/* System V ABI, "Hash Table": bucket and chain counts, buckets, chains. */
static uint32_t *make_hash(struct linker *l, uint32_t *words)
{
	uint32_t buckets = l->dynamic_count / 2 + 1, *table;

	*words = 2 + buckets + l->dynamic_count;
	table = arena_array(&l->arena, uint32_t, *words);
	table[0] = buckets;
	table[1] = l->dynamic_count;
	for (uint32_t i = 1; i < l->dynamic_count; i++) {
		uint32_t *bucket = &table[2 + elf_hash(l->dynamic_names.data + l->dynamic_symbols[i].st_name) % buckets];

		table[2 + buckets + i] = *bucket;
		*bucket = i;
	}
	return table;
}

/* ---- layout ------------------------------------------------------------------------------------------ */

static uint32_t add(struct linker *l, enum segment segment, const char *name, uint32_t type, uint64_t flags, const void *data, uint64_t size,
		    uint64_t align, uint64_t entry)
{
	struct output_section s = {
		.name = name,
		.header = { .sh_type = type, .sh_flags = flags, .sh_size = size, .sh_addralign = align ? align : 1, .sh_entsize = entry },
		.data = data,
		.segment = segment,
	};

	if (vec_push(&l->out, s))
		return (uint32_t)l->out.count - 1;
	l->exhausted = true;
	return NONE;
}

static bool is_note(const Elf64_Shdr *s)
{
	return s->sh_type == SHT_NOTE && segment_of(s) == SEGMENT_READ;
}

/* The object's sections of a segment and of one kind: notes first, what has no bytes in the file last. */
static void add_inputs(struct linker *l, enum segment segment, bool notes, bool bytes)
{
	for (uint32_t i = 1; i < l->section_count; i++) {
		const Elf64_Shdr *s = &l->sections[i];

		if (segment_of(s) != segment || is_note(s) != notes || (s->sh_type != SHT_NOBITS) != bytes)
			continue;
		l->out_of[i] = add(l, segment, l->section_names + s->sh_name, s->sh_type, s->sh_flags & ~(uint64_t)SHF_GROUP,
				   bytes ? l->bytes + s->sh_offset : NULL, s->sh_size, s->sh_addralign, s->sh_entsize);
	}
}

static void list_sections(struct linker *l)
{
	uint32_t words, *hash = make_hash(l, &words);

	add(l, NOWHERE, "", SHT_NULL, 0, NULL, 0, 0, 0);
	l->first_note = (uint32_t)l->out.count;
	add_inputs(l, SEGMENT_READ, true, true);
	l->note_count = (uint32_t)l->out.count - l->first_note;
	l->dynsym = add(l, SEGMENT_READ, ".dynsym", SHT_DYNSYM, SHF_ALLOC, l->dynamic_symbols, l->dynamic_count * sizeof(Elf64_Sym), 8,
			sizeof(Elf64_Sym));
	l->hash = add(l, SEGMENT_READ, ".hash", SHT_HASH, SHF_ALLOC, hash, words * sizeof *hash, 4, 4);
	l->dynstr = add(l, SEGMENT_READ, ".dynstr", SHT_STRTAB, SHF_ALLOC, l->dynamic_names.data, l->dynamic_names.count, 1, 0);
	l->rela = l->relocation_count ? add(l, SEGMENT_READ, ".rela.dyn", SHT_RELA, SHF_ALLOC, NULL, l->relocation_count * sizeof(Elf64_Rela),
					    8, sizeof(Elf64_Rela)) :
					NONE;
	add_inputs(l, SEGMENT_READ, false, true);
	add_inputs(l, SEGMENT_READ, false, false);
	add_inputs(l, SEGMENT_EXECUTE, false, true);
	add_inputs(l, SEGMENT_EXECUTE, false, false);
	l->dynamic = add(l, SEGMENT_WRITE, ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, NULL, 9 * sizeof(Elf64_Dyn), 8, sizeof(Elf64_Dyn));
	l->got = l->got_count ? add(l, SEGMENT_WRITE, ".got", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, NULL, l->got_count * UINT64_C(8), 8, 0) :
				NONE;
	add_inputs(l, SEGMENT_WRITE, false, true);
	add_inputs(l, SEGMENT_WRITE, false, false);
	add(l, NOWHERE, ".symtab", SHT_SYMTAB, 0, l->dynamic_symbols, l->dynamic_count * sizeof(Elf64_Sym), 8, sizeof(Elf64_Sym));
	add(l, NOWHERE, ".strtab", SHT_STRTAB, 0, l->dynamic_names.data, l->dynamic_names.count, 1, 0);
}

/* Where each section lies; sections without bytes, at a segment's end, take addresses and no file. */
static bool lay_out(struct linker *l)
{
	uint64_t file = sizeof(Elf64_Ehdr) + PROGRAM_HEADERS * sizeof(Elf64_Phdr), beyond = 0;
	enum segment segment = SEGMENT_READ;

	for (size_t i = 1; i < l->out.count; i++) {
		struct output_section *o = &l->out.data[i];
		uint64_t align = o->header.sh_addralign;

		if (o->segment != segment) {
			/* what follows has pages of its own, behind those of the last one */
			file = o->segment == NOWHERE ? file : align_up(file + beyond, 16);
			beyond = 0;
			segment = o->segment;
		}
		file = beyond ? file : align_up(file, align);
		uint64_t at = align_up(file + beyond, align);
		o->header.sh_offset = at;
		if (segment != NOWHERE)
			o->header.sh_addr = at + (uint64_t)segment * PAGE;
		if (o->header.sh_type == SHT_NOBITS)
			beyond = at + o->header.sh_size - file;
		else
			file = at + o->header.sh_size;
		if (file + beyond > LARGEST)
			return refuse(l, "the linked object has more than %d bytes", LARGEST);
	}
	l->image_size = file;
	return true;
}

static uint64_t symbol_address(const struct linker *l, const Elf64_Sym *s)
{
	if (s->st_shndx == SHN_ABS)
		return s->st_value;
	return l->out.data[l->out_of[s->st_shndx]].header.sh_addr + s->st_value;
}

/* ---- contents ---------------------------------------------------------------------------------------- */

static void put_dynamic_relocation(struct linker *l, uint64_t place, uint64_t target)
{
	Elf64_Rela r = { place, ELF64_R_INFO(0, R_AMDGPU_RELATIVE64), (Elf64_Sxword)target };

	memcpy(l->image + l->out.data[l->rela].header.sh_offset + l->relocations_written++ * sizeof r, &r, sizeof r);
}

static bool fits(struct linker *l, int64_t value, unsigned bits, uint32_t symbol)
{
	int64_t limit = INT64_C(1) << (bits - 1);

	return (value >= -limit && value < limit) || refuse(l, "'%.200s' is too far away", symbol_name(l, symbol));
}

/* Second pass. */
static bool apply_relocation(struct linker *l, uint32_t section, const Elf64_Rela *r)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info), symbol = (uint32_t)ELF64_R_SYM(r->r_info);

	if (type == R_AMDGPU_NONE)
		return true;
	const Elf64_Shdr *place = &l->out.data[l->out_of[section]].header;
	uint64_t p = place->sh_addr + r->r_offset, target = symbol_address(l, &l->symbols[symbol]) + (uint64_t)r->r_addend;
	int64_t value = (int64_t)(target - p);

	if (l->got_slot[symbol] != NONE && type >= R_AMDGPU_GOTPCREL && type <= R_AMDGPU_GOTPCREL32_HI)
		value = (int64_t)(l->out.data[l->got].header.sh_addr + l->got_slot[symbol] * UINT64_C(8) + (uint64_t)r->r_addend - p);
	switch (type) {
	case R_AMDGPU_ABS64:
		value = (int64_t)target;
		if (l->symbols[symbol].st_shndx != SHN_ABS) {
			put_dynamic_relocation(l, p, target);
			value = 0; /* the loader does not read what is there, and ld.lld leaves nothing */
		}
		break;
	case R_AMDGPU_REL32:
	case R_AMDGPU_GOTPCREL:
		if (!fits(l, value, 32, symbol))
			return false;
		break;
	case R_AMDGPU_REL32_HI:
	case R_AMDGPU_GOTPCREL32_HI:
		value >>= 32;
		break;
	case R_AMDGPU_REL16:
		value -= 4;
		if (value & 3)
			return refuse(l, "a branch to '%.200s' is not to an instruction", symbol_name(l, symbol));
		value /= 4;
		if (!fits(l, value, 16, symbol))
			return false;
		break;
	default:
		break;
	}
	memcpy(l->image + place->sh_offset + r->r_offset, &value, relocation_width(type));
	return true;
}

static void fill_got(struct linker *l)
{
	for (uint32_t i = 0; i < l->symbol_count; i++) {
		if (l->got_slot[i] == NONE)
			continue;
		const Elf64_Shdr *got = &l->out.data[l->got].header;
		uint64_t at = l->got_slot[i] * UINT64_C(8), target = symbol_address(l, &l->symbols[i]);

		if (l->symbols[i].st_shndx == SHN_ABS)
			memcpy(l->image + got->sh_offset + at, &target, sizeof target);
		else
			put_dynamic_relocation(l, got->sh_addr + at, target);
	}
}

static void fill_dynamic(struct linker *l)
{
	const struct output_section *out = l->out.data;
	Elf64_Dyn d[9] = {
		{ DT_SYMTAB, { out[l->dynsym].header.sh_addr } }, { DT_SYMENT, { sizeof(Elf64_Sym) } },
		{ DT_STRTAB, { out[l->dynstr].header.sh_addr } }, { DT_STRSZ, { out[l->dynstr].header.sh_size } },
		{ DT_HASH, { out[l->hash].header.sh_addr } },
	};

	if (l->rela != NONE) {
		d[5] = (Elf64_Dyn){ DT_RELA, { out[l->rela].header.sh_addr } };
		d[6] = (Elf64_Dyn){ DT_RELASZ, { out[l->rela].header.sh_size } };
		d[7] = (Elf64_Dyn){ DT_RELAENT, { sizeof(Elf64_Rela) } };
	}
	memcpy(l->image + out[l->dynamic].header.sh_offset, d, sizeof d);
}

static void finish_symbols(struct linker *l)
{
	for (uint32_t i = 1; i < l->symbol_count; i++) {
		if (!l->dynamic_index[i])
			continue;
		Elf64_Sym *s = &l->dynamic_symbols[l->dynamic_index[i]];

		s->st_value = symbol_address(l, &l->symbols[i]);
		if (s->st_shndx != SHN_ABS)
			s->st_shndx = (Elf64_Half)l->out_of[s->st_shndx];
	}
}

static Elf64_Phdr segment_header(const struct linker *l, enum segment segment)
{
	static const uint32_t flags[SEGMENTS] = { PF_R, PF_R | PF_X, PF_R | PF_W };
	Elf64_Phdr p = { .p_type = PT_LOAD, .p_flags = flags[segment], .p_align = PAGE };
	uint64_t start = segment ? UINT64_MAX : 0, file_end = 0, end = 0;

	for (size_t i = 1; i < l->out.count; i++) {
		const Elf64_Shdr *s = &l->out.data[i].header;

		if (l->out.data[i].segment != segment)
			continue;
		start = s->sh_offset < start ? s->sh_offset : start;
		end = s->sh_offset + s->sh_size;
		if (s->sh_type != SHT_NOBITS)
			file_end = end;
	}
	if (start == UINT64_MAX || start == end)
		return (Elf64_Phdr){ .p_type = PT_NULL };
	p.p_offset = start;
	p.p_vaddr = p.p_paddr = start + (uint64_t)segment * PAGE;
	p.p_filesz = file_end > start ? file_end - start : 0;
	p.p_memsz = end - start;
	return p;
}

static Elf64_Phdr section_range(const struct linker *l, uint32_t type, uint32_t flags, uint32_t first, uint32_t count, uint64_t align)
{
	const Elf64_Shdr *from = &l->out.data[first].header, *last = &l->out.data[first + count - 1].header;
	uint64_t size = last->sh_offset + last->sh_size - from->sh_offset;

	return (Elf64_Phdr){ type, flags, from->sh_offset, from->sh_addr, from->sh_addr, size, size, align };
}

static void write_headers(struct linker *l, uint64_t sections_at, uint32_t names_index)
{
	Elf64_Ehdr header = l->header;
	Elf64_Phdr program[PROGRAM_HEADERS] = { { 0 } };
	uint64_t at = sizeof header, size;
	Elf64_Half count = 1;

	for (int segment = 0; segment < SEGMENTS; segment++) {
		program[count] = segment_header(l, (enum segment)segment);
		count += program[count].p_type == PT_LOAD;
	}
	program[count++] = section_range(l, PT_DYNAMIC, PF_R | PF_W, l->dynamic, 1, 8);
	if (l->note_count)
		program[count++] = section_range(l, PT_NOTE, PF_R, l->first_note, l->note_count, 4);
	size = count * sizeof *program;
	program[0] = (Elf64_Phdr){ PT_PHDR, PF_R, at, at, at, size, size, 8 };
	header.e_type = ET_DYN;
	header.e_entry = 0;
	header.e_phoff = sizeof header;
	header.e_phentsize = sizeof *program;
	header.e_phnum = count;
	header.e_shoff = sections_at;
	header.e_shnum = (Elf64_Half)l->out.count;
	header.e_shstrndx = (Elf64_Half)names_index;
	memcpy(l->image, &header, sizeof header);
	memcpy(l->image + sizeof header, program, sizeof program);
}

static void link_sections(struct linker *l)
{
	uint32_t last = (uint32_t)l->out.count - 1; /* .strtab; .symtab is before it */

	l->out.data[l->dynsym].header.sh_link = l->dynstr;
	l->out.data[l->dynsym].header.sh_info = 1; /* the first that is not local */
	l->out.data[l->hash].header.sh_link = l->dynsym;
	l->out.data[l->dynamic].header.sh_link = l->dynstr;
	l->out.data[last - 1].header.sh_link = last;
	l->out.data[last - 1].header.sh_info = 1;
	if (l->rela != NONE)
		l->out.data[l->rela].header.sh_link = l->dynsym;
}

/* The sections' bytes, then their names and headers, at the file's end. */
static bool write_image(struct linker *l)
{
	struct text names = { 0 };
	uint32_t names_index;

	finish_symbols(l);
	link_sections(l);
	names_index = add(l, NOWHERE, ".shstrtab", SHT_STRTAB, 0, NULL, 0, 1, 0);
	if (names_index == NONE)
		return refuse(l, "out of memory");
	for (size_t i = 0; i < l->out.count; i++) {
		l->out.data[i].header.sh_name = (Elf64_Word)names.count;
		text_add(&names, l->out.data[i].name, strlen(l->out.data[i].name) + 1);
	}
	l->out.data[names_index].header.sh_offset = l->image_size;
	l->out.data[names_index].header.sh_size = names.count;
	uint64_t sections_at = align_up(l->image_size + names.count, 8);
	l->image = calloc(1, sections_at + l->out.count * sizeof(Elf64_Shdr));
	if (l->image) {
		memcpy(l->image + l->image_size, names.data, names.count);
		l->image_size = sections_at + l->out.count * sizeof(Elf64_Shdr);
		for (size_t i = 0; i < l->out.count; i++) {
			const struct output_section *o = &l->out.data[i];

			memcpy(l->image + sections_at + i * sizeof o->header, &o->header, sizeof o->header);
			if (o->data)
				memcpy(l->image + o->header.sh_offset, o->data, o->header.sh_size);
		}
		write_headers(l, sections_at, names_index);
	}
	text_fini(&names);
	return l->image || refuse(l, "out of memory");
}

static bool link_object(struct linker *l)
{
	if (!read_header(l) || !read_sections(l) || !read_symbols(l))
		return false;
	l->out_of = arena_array(&l->arena, uint32_t, l->section_count);
	l->got_slot = arena_array(&l->arena, uint32_t, l->symbol_count + (size_t)1);
	memset(l->out_of, 0xff, l->section_count * sizeof *l->out_of);
	memset(l->got_slot, 0xff, l->symbol_count * sizeof *l->got_slot);
	if (!each_relocation(l, check_relocation))
		return false;
	choose_dynamic_symbols(l);
	list_sections(l);
	if (l->exhausted)
		return refuse(l, "out of memory");
	if (!lay_out(l) || !write_image(l) || !each_relocation(l, apply_relocation))
		return false;
	fill_got(l);
	fill_dynamic(l);
	return true;
}

void *amd_link(const void *object, size_t size, size_t *linked_size, char *error, size_t error_size)
{
	struct linker l = { .bytes = object, .size = size, .error = error, .error_size = error_size };
	void *image = NULL;

	arena_init(&l.arena);
	if (link_object(&l)) {
		image = l.image;
		*linked_size = l.image_size;
	} else {
		free(l.image);
	}
	vec_fini(&l.out);
	text_fini(&l.dynamic_names);
	arena_fini(&l.arena);
	return image;
}
