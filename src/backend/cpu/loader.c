/* Loads a relocatable ELF object (one compiled kernel) into executable memory: what LLVM's JIT linker would do, without
 * LLVM. Objects come from the disk cache, so nothing in them is trusted: every offset, size and index is checked
 * and what is not known is refused.
 *
 * ELF-64 object file format; System V ABI AMD64, 4.4 "Relocation"; ELF for the Arm 64-bit architecture, 5.7.
 *
 * The image: the sections that are to be in memory, one behind the other, then a table of addresses (GOT), then a jump for
 * each function of the C library that is called. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"
#include "backend/common/texture.h"

#include <elf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#else
#define NATIVE_MACHINE EM_NONE
#endif

enum { STUB = 16, LARGEST_IMAGE = 64 << 20, LARGEST_ALIGNMENT = 4096 };

/* ---- halves on machines without F16C --------------------------------------------------------------------------------- */

/* LLVM calls the compiler's library for them. A half is passed in the low bits of a floating-point register, as is the argument that these
 * take it from and the result that they leave it in, so that no compiler need know the type. */
static float extend_half(float half)
{
	uint32_t bits;
	memcpy(&bits, &half, sizeof bits);
	return half_to_float((uint16_t)bits);
}

static float half_of_bits(uint32_t bits)
{
	float half;
	memcpy(&half, &bits, sizeof half);
	return half;
}

/* To nearest even, of fraction × 2^(exponent - 63), whose highest bit is set unless it is 0; `special`: an infinity, or a NaN's bits. */
static uint16_t round_to_half(uint32_t sign, int exponent, uint64_t fraction, bool special)
{
	if (special)
		return (uint16_t)(sign | 0x7c00 | (fraction ? 0x200 | fraction >> 53 : 0));
	if (!fraction)
		return (uint16_t)sign;
	int cut = exponent < -14 ? 53 + (-14 - exponent) : 53;
	if (exponent > 15)
		return (uint16_t)(sign | 0x7c00);
	if (cut > 64)
		return (uint16_t)sign;
	uint64_t kept = cut == 64 ? 0 : fraction >> cut, rest = cut == 64 ? fraction : fraction << (64 - cut), half = UINT64_C(1) << 63;
	kept += rest > half || (rest == half && kept & 1);
	/* a carry runs into the exponent, as it should */
	return (uint16_t)(sign | (exponent < -14 ? kept : kept + ((uint64_t)(exponent + 14) << 10)));
}

static uint16_t double_to_half(double value)
{
	uint64_t bits, fraction;
	memcpy(&bits, &value, sizeof bits);
	uint32_t sign = (uint32_t)(bits >> 48) & 0x8000;
	int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	fraction = bits << 12 >> 1;
	if (exponent == 1024)
		return round_to_half(sign, 0, fraction, true);
	return round_to_half(sign, exponent, exponent == -1023 ? 0 : fraction | UINT64_C(1) << 63, false);
}

static float truncate_float(float value)
{
	return half_of_bits(double_to_half((double)value));
}

static float truncate_double(double value)
{
	return half_of_bits(double_to_half(value));
}

static double extend_half_to_double(float half)
{
	return (double)extend_half(half);
}

/* All that a kernel may call outside its own object. */
static const struct external {
	const char *name;
	uintptr_t address;
} externals[] = {
	{ "memcpy", (uintptr_t)memcpy }, { "memmove", (uintptr_t)memmove }, { "memset", (uintptr_t)memset },
	{ "memcmp", (uintptr_t)memcmp }, { "fmod", (uintptr_t)(double (*)(double, double))fmod },
	{ "fmodf", (uintptr_t)fmodf },   { "fma", (uintptr_t)(double (*)(double, double, double))fma },
	{ "fmaf", (uintptr_t)fmaf },     { "fmaxf", (uintptr_t)fmaxf },
	{ "fminf", (uintptr_t)fminf },   { "fmax", (uintptr_t)(double (*)(double, double))fmax },
	{ "fmin", (uintptr_t)(double (*)(double, double))fmin },
	{ "__extendhfsf2", (uintptr_t)extend_half }, { "__extendhfdf2", (uintptr_t)extend_half_to_double },
	{ "__truncsfhf2", (uintptr_t)truncate_float },  { "__truncdfhf2", (uintptr_t)truncate_double },
};

struct loading {
	const uint8_t *object;
	size_t size;
	uint16_t machine;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	unsigned section_count;
	const char *section_names;
	size_t section_names_size;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *strings;
	size_t strings_size;
	uint64_t *offset;     /* of each section in the image; NOT_LOADED */
	uint32_t *got;        /* slot + 1 of each symbol, 0: none */
	uint32_t *stub;
	uint32_t got_count, stub_count;
	uint64_t got_offset, stub_offset, image_size;
	uint8_t *image;
	uint64_t base;        /* where the image will run */
	char *why;
};
#define NOT_LOADED UINT64_MAX

struct code_name {
	const char *name;
	uint64_t offset;
};

struct code {
	uint8_t *image;
	size_t size;
	char *strings;
	struct code_name *names;
	size_t name_count;
};

static bool PRINTF_LIKE(2, 3) refuse(struct loading *l, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(l->why, CODE_WHY, format, arguments);
	va_end(arguments);
	return false;
}

static bool inside(const struct loading *l, uint64_t offset, uint64_t size)
{
	return offset <= l->size && size <= l->size - offset;
}

static bool read_header(struct loading *l)
{
	const Elf64_Ehdr *h = (const void *)l->object;
	if (l->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL)
		return refuse(l, "not a relocatable 64-bit ELF object");
	if (h->e_machine != l->machine)
		return refuse(l, "an object for ELF machine %u, not %u", h->e_machine, l->machine);
	if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 || !inside(l, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)) ||
	    h->e_shstrndx >= h->e_shnum)
		return refuse(l, "its section table lies outside the object");
	l->header = h;
	l->sections = (const void *)(l->object + h->e_shoff);
	l->section_count = h->e_shnum;
	const Elf64_Shdr *names = &l->sections[h->e_shstrndx];
	if (names->sh_type != SHT_STRTAB || !inside(l, names->sh_offset, names->sh_size) || !names->sh_size ||
	    l->object[names->sh_offset + names->sh_size - 1])
		return refuse(l, "its section names are damaged");
	l->section_names = (const char *)l->object + names->sh_offset;
	l->section_names_size = names->sh_size;
	return true;
}

static bool read_symbols(struct loading *l)
{
	for (unsigned i = 0; i < l->section_count; i++) {
		const Elf64_Shdr *s = &l->sections[i];
		if (s->sh_type != SHT_SYMTAB)
			continue;
		if (l->symbols)
			return refuse(l, "it has two symbol tables");
		if (s->sh_entsize != sizeof(Elf64_Sym) || s->sh_offset % 8 || !inside(l, s->sh_offset, s->sh_size) ||
		    s->sh_link >= l->section_count)
			return refuse(l, "its symbol table is damaged");
		const Elf64_Shdr *strings = &l->sections[s->sh_link];
		if (strings->sh_type != SHT_STRTAB || !inside(l, strings->sh_offset, strings->sh_size) || !strings->sh_size ||
		    l->object[strings->sh_offset + strings->sh_size - 1])
			return refuse(l, "its symbol names are damaged");
		l->symbols = (const void *)(l->object + s->sh_offset);
		l->symbol_count = s->sh_size / sizeof(Elf64_Sym);
		l->strings = (const char *)l->object + strings->sh_offset;
		l->strings_size = strings->sh_size;
	}
	return l->symbols ? true : refuse(l, "it has no symbol table");
}

static const char *section_name(const struct loading *l, const Elf64_Shdr *section)
{
	return section->sh_name < l->section_names_size ? l->section_names + section->sh_name : "?";
}

static const char *symbol_name(const struct loading *l, const Elf64_Sym *symbol)
{
	return symbol->st_name < l->strings_size ? l->strings + symbol->st_name : "?";
}

/* Is this one wanted in memory? Unwind tables are not: nothing unwinds through a kernel. */
static bool place_section(struct loading *l, unsigned index)
{
	const Elf64_Shdr *s = &l->sections[index];
	const char *name = section_name(l, s);
	l->offset[index] = NOT_LOADED;
	if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || s->sh_type == SHT_NOTE || s->sh_type == SHT_X86_64_UNWIND ||
	    !strcmp(name, ".eh_frame"))
		return true;
	if (s->sh_type != SHT_PROGBITS || (s->sh_flags & SHF_TLS) ||
	    ((s->sh_flags & SHF_WRITE) && strncmp(name, ".data.rel.ro", 12)))
		return refuse(l, "section %.40s is not plain code or constants", name);
	if (!inside(l, s->sh_offset, s->sh_size))
		return refuse(l, "section %.40s lies outside the object", name);
	uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
	if (align & (align - 1) || align > LARGEST_ALIGNMENT)
		return refuse(l, "section %.40s has alignment %lu", name, (unsigned long)align);
	l->image_size = align_up(l->image_size, align);
	l->offset[index] = l->image_size;
	l->image_size += s->sh_size;
	return l->image_size <= LARGEST_IMAGE ? true : refuse(l, "it is larger than %d MiB", LARGEST_IMAGE >> 20);
}

static bool needs_got(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
	return type == R_AARCH64_ADR_GOT_PAGE || type == R_AARCH64_LD64_GOT_LO12_NC;
}

/* Visits every relocation of a loaded section. */
typedef bool relocation_fn(struct loading *l, unsigned section, const Elf64_Rela *rela);
static bool each_relocation(struct loading *l, relocation_fn *visit)
{
	for (unsigned i = 0; i < l->section_count; i++) {
		const Elf64_Shdr *s = &l->sections[i];
		if ((s->sh_type != SHT_RELA && s->sh_type != SHT_REL) || s->sh_info >= l->section_count ||
		    l->offset[s->sh_info] == NOT_LOADED)
			continue;
		if (s->sh_type == SHT_REL || s->sh_entsize != sizeof(Elf64_Rela) || s->sh_offset % 8 || !inside(l, s->sh_offset, s->sh_size))
			return refuse(l, "relocations %.40s are damaged", section_name(l, s));
		const Elf64_Rela *rela = (const void *)(l->object + s->sh_offset);
		for (size_t k = 0; k < s->sh_size / sizeof *rela; k++)
			if (!visit(l, s->sh_info, &rela[k]))
				return false;
	}
	return true;
}

static bool count_relocation(struct loading *l, unsigned section, const Elf64_Rela *rela)
{
	(void)section;
	size_t index = ELF64_R_SYM(rela->r_info);
	if (index >= l->symbol_count)
		return refuse(l, "a relocation names symbol %zu of %zu", index, l->symbol_count);
	if (needs_got(l->machine, ELF64_R_TYPE(rela->r_info)) && !l->got[index])
		l->got[index] = ++l->got_count;
	if (l->symbols[index].st_shndx == SHN_UNDEF && index && !l->stub[index])
		l->stub[index] = ++l->stub_count;
	return true;
}

static bool lay_out(struct loading *l)
{
	/* Code first: it is what the pages' borders should favour. */
	for (int pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < l->section_count; i++)
			if (!!(l->sections[i].sh_flags & SHF_EXECINSTR) == !pass && !place_section(l, i))
				return false;
	if (!each_relocation(l, count_relocation))
		return false;
	l->got_offset = align_up(l->image_size, 16);
	l->stub_offset = align_up(l->got_offset + 8 * (uint64_t)l->got_count, 16);
	l->image_size = l->stub_offset + STUB * (uint64_t)l->stub_count;
	return l->image_size && l->image_size <= LARGEST_IMAGE ? true : refuse(l, "it holds no code");
}

static uintptr_t external_address(const struct loading *l, size_t index)
{
	const char *name = symbol_name(l, &l->symbols[index]);
	for (size_t i = 0; i < ARRAY_LENGTH(externals); i++)
		if (!strcmp(externals[i].name, name))
			return externals[i].address;
	return 0;
}

static bool symbol_address(struct loading *l, size_t index, bool near, uint64_t *address)
{
	const Elf64_Sym *symbol = &l->symbols[index];
	*address = 0;
	if (!index)
		return true;
	if (symbol->st_shndx == SHN_UNDEF) {
		*address = near ? l->base + l->stub_offset + STUB * (l->stub[index] - 1) : external_address(l, index);
		return true;
	}
	if (symbol->st_shndx == SHN_ABS) {
		*address = symbol->st_value;
		return true;
	}
	if (symbol->st_shndx >= l->section_count || l->offset[symbol->st_shndx] == NOT_LOADED ||
	    symbol->st_value > l->sections[symbol->st_shndx].sh_size)
		return refuse(l, "symbol %.60s is in no loaded section", symbol_name(l, symbol));
	*address = l->base + l->offset[symbol->st_shndx] + symbol->st_value;
	return true;
}

static void put32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, 4);
}

static bool fits_signed(int64_t value, int bits)
{
	return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

/* S, A, P, G as in the ABI documents: symbol, addend, place, the symbol's GOT slot. Returns 0 where done, -1: out of reach,
 * 1: unknown. `room` is what the section holds from `at` on. */
static int relocate_x86(uint32_t type, uint8_t *at, uint64_t room, uint64_t s, int64_t a, uint64_t p, uint64_t g)
{
	int64_t value;
	bool is_signed = true;
	switch (type) {
	case R_X86_64_NONE:
		return 0;
	case R_X86_64_64:
	case R_X86_64_PC64:
		if (room < 8)
			return -1;
		s += (uint64_t)a - (type == R_X86_64_PC64 ? p : 0);
		memcpy(at, &s, 8);
		return 0;
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		value = (int64_t)(s + (uint64_t)a - p);
		break;
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		value = (int64_t)(g + (uint64_t)a - p);
		break;
	case R_X86_64_32:
		is_signed = false;
		value = (int64_t)(s + (uint64_t)a);
		break;
	case R_X86_64_32S:
		value = (int64_t)(s + (uint64_t)a);
		break;
	default:
		return 1;
	}
	if (room < 4 || (is_signed ? !fits_signed(value, 32) : (uint64_t)value >> 32))
		return -1;
	put32(at, (uint32_t)value);
	return 0;
}

/* `bits` of `value` (whose low `drop` bits are zero) into an instruction's immediate at bit `shift`. */
static int put_branch(uint8_t *at, uint32_t word, int64_t value, int bits, int shift)
{
	if (value & 3 || !fits_signed(value, bits + 2))
		return -1;
	uint32_t mask = ((UINT32_C(1) << bits) - 1) << shift;
	put32(at, (word & ~mask) | ((uint32_t)(value >> 2) << shift & mask));
	return 0;
}

static int put_adr(uint8_t *at, uint32_t word, int64_t value)
{
	if (!fits_signed(value, 21))
		return -1;
	put32(at, (word & 0x9f00001fu) | ((uint32_t)value & 3) << 29 | ((uint32_t)(value >> 2) & 0x7ffff) << 5);
	return 0;
}

static int put_low12(uint8_t *at, uint32_t word, uint64_t value, int scale)
{
	if (value & ((UINT64_C(1) << scale) - 1))
		return -1;
	put32(at, (word & ~(UINT32_C(0xfff) << 10)) | (uint32_t)((value & 0xfff) >> scale) << 10);
	return 0;
}

static int64_t page_distance(uint64_t to, uint64_t from)
{
	return ((int64_t)(to & ~UINT64_C(0xfff)) - (int64_t)(from & ~UINT64_C(0xfff))) >> 12;
}

static int relocate_arm(uint32_t type, uint8_t *at, uint64_t room, uint64_t s, int64_t a, uint64_t p, uint64_t g)
{
	uint64_t value = s + (uint64_t)a;
	int64_t distance = (int64_t)(value - p);
	uint32_t word;
	if (type == R_AARCH64_NONE)
		return 0;
	if (room < (type == R_AARCH64_ABS64 || type == R_AARCH64_PREL64 ? 8 : 4))
		return -1;
	memcpy(&word, at, 4);
	switch (type) {
	case R_AARCH64_ABS64:
		memcpy(at, &value, 8);
		return 0;
	case R_AARCH64_PREL64:
		memcpy(at, &distance, 8);
		return 0;
	case R_AARCH64_ABS32:
		if (value >> 32)
			return -1;
		put32(at, (uint32_t)value);
		return 0;
	case R_AARCH64_PREL32:
		if (!fits_signed(distance, 32))
			return -1;
		put32(at, (uint32_t)distance);
		return 0;
	case R_AARCH64_CALL26:
	case R_AARCH64_JUMP26:
		return put_branch(at, word, distance, 26, 0);
	case R_AARCH64_CONDBR19:
	case R_AARCH64_LD_PREL_LO19:
		return put_branch(at, word, distance, 19, 5);
	case R_AARCH64_TSTBR14:
		return put_branch(at, word, distance, 14, 5);
	case R_AARCH64_ADR_PREL_LO21:
		return put_adr(at, word, distance);
	case R_AARCH64_ADR_PREL_PG_HI21:
	case R_AARCH64_ADR_PREL_PG_HI21_NC:
		return put_adr(at, word, page_distance(value, p));
	case R_AARCH64_ADR_GOT_PAGE:
		return put_adr(at, word, page_distance(g + (uint64_t)a, p));
	case R_AARCH64_LD64_GOT_LO12_NC:
		return put_low12(at, word, g + (uint64_t)a, 3);
	case R_AARCH64_ADD_ABS_LO12_NC:
	case R_AARCH64_LDST8_ABS_LO12_NC:
		return put_low12(at, word, value, 0);
	case R_AARCH64_LDST16_ABS_LO12_NC:
		return put_low12(at, word, value, 1);
	case R_AARCH64_LDST32_ABS_LO12_NC:
		return put_low12(at, word, value, 2);
	case R_AARCH64_LDST64_ABS_LO12_NC:
		return put_low12(at, word, value, 3);
	case R_AARCH64_LDST128_ABS_LO12_NC:
		return put_low12(at, word, value, 4);
	case R_AARCH64_MOVW_UABS_G0:
	case R_AARCH64_MOVW_UABS_G0_NC:
	case R_AARCH64_MOVW_UABS_G1:
	case R_AARCH64_MOVW_UABS_G1_NC:
	case R_AARCH64_MOVW_UABS_G2:
	case R_AARCH64_MOVW_UABS_G2_NC:
	case R_AARCH64_MOVW_UABS_G3: {
		/* Numbered G0, G0_NC, G1, …: the plain ones want the rest of the value to be zero. */
		uint32_t step = type - R_AARCH64_MOVW_UABS_G0, shift = step / 2 * 16;
		if (!(step & 1) && shift < 48 && value >> (shift + 16))
			return -1;
		put32(at, (word & ~(UINT32_C(0xffff) << 5)) | (uint32_t)(value >> shift & 0xffff) << 5);
		return 0;
	}
	default:
		return 1;
	}
}

static bool apply_relocation(struct loading *l, unsigned section, const Elf64_Rela *rela)
{
	size_t index = ELF64_R_SYM(rela->r_info);
	uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
	uint64_t size = l->sections[section].sh_size, address;
	if (rela->r_offset > size)
		return refuse(l, "a relocation lies outside its section");
	bool absolute = l->machine == EM_X86_64 ? type == R_X86_64_64 : type == R_AARCH64_ABS64;
	if (!symbol_address(l, index, !absolute, &address))
		return false;
	uint64_t at = l->offset[section] + rela->r_offset;
	uint64_t got = l->got[index] ? l->base + l->got_offset + 8 * (l->got[index] - 1) : 0;
	int result = (l->machine == EM_X86_64 ? relocate_x86 : relocate_arm)(type, l->image + at, size - rela->r_offset, address,
									      rela->r_addend, l->base + at, got);
	if (result > 0)
		return refuse(l, "relocation type %u is not supported", type);
	if (result < 0)
		return refuse(l, "relocation type %u against %.60s does not fit", type, symbol_name(l, &l->symbols[index]));
	return true;
}

static bool fill_tables(struct loading *l)
{
	for (size_t i = 0; i < l->symbol_count; i++) {
		uint64_t address;
		if (l->stub[i]) {
			address = external_address(l, i);
			if (!address)
				return refuse(l, "it calls %.80s, which kernels cannot", symbol_name(l, &l->symbols[i]));
			uint8_t *at = l->image + l->stub_offset + STUB * (l->stub[i] - 1);
			static const uint8_t jump_x86[] = { 0xff, 0x25, 0x02, 0, 0, 0, 0x0f, 0x0b }; /* jmp *2(%rip); ud2 */
			static const uint32_t jump_arm[] = { 0x58000050, 0xd61f0200 };               /* ldr x16, .+8; br x16 */
			memcpy(at, l->machine == EM_X86_64 ? (const void *)jump_x86 : (const void *)jump_arm, 8);
			memcpy(at + 8, &address, 8);
		}
		if (l->got[i]) {
			if (!symbol_address(l, i, false, &address))
				return false;
			memcpy(l->image + l->got_offset + 8 * (l->got[i] - 1), &address, 8);
		}
	}
	return true;
}

static bool prepare(struct loading *l)
{
	if (!read_header(l) || !read_symbols(l))
		return false;
	l->offset = calloc(l->section_count, sizeof *l->offset);
	l->got = calloc(l->symbol_count + 1, sizeof *l->got);
	l->stub = calloc(l->symbol_count + 1, sizeof *l->stub);
	if (!l->offset || !l->got || !l->stub)
		return refuse(l, "out of memory");
	return lay_out(l);
}

static bool link_image(struct loading *l)
{
	for (unsigned i = 0; i < l->section_count; i++)
		if (l->offset[i] != NOT_LOADED)
			memcpy(l->image + l->offset[i], l->object + l->sections[i].sh_offset, l->sections[i].sh_size);
	return fill_tables(l) && each_relocation(l, apply_relocation);
}

static void loading_fini(struct loading *l)
{
	free(l->offset);
	free(l->got);
	free(l->stub);
}

/* Keeps the names of functions: for cpu_code_symbol() and for profilers. */
static bool keep_names(struct loading *l, struct code *code)
{
	code->strings = malloc(l->strings_size);
	code->names = calloc(l->symbol_count + 1, sizeof *code->names);
	if (!code->strings || !code->names)
		return refuse(l, "out of memory");
	memcpy(code->strings, l->strings, l->strings_size);
	for (size_t i = 0; i < l->symbol_count; i++) {
		const Elf64_Sym *symbol = &l->symbols[i];
		uint64_t address;
		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_name >= l->strings_size ||
		    !symbol_address(l, i, false, &address))
			continue;
		code->names[code->name_count++] = (struct code_name){ code->strings + symbol->st_name, address - l->base };
	}
	return true;
}

/* For perf: tools/perf/Documentation/jit-interface.txt. */
static void tell_profiler(const struct code *code, const char *name)
{
	if (!env_flag("DRAGOMAN_PERF"))
		return;
	char path[64];
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	FILE *file = fopen(path, "ae");
	if (!file)
		return;
	fprintf(file, "%lx %zx %s\n", (unsigned long)(uintptr_t)code->image, code->size, name);
	fclose(file);
}

struct code *cpu_code_load(struct code_arena *arena, const void *object, size_t size, const char *name, char why[CODE_WHY])
{
	struct loading l = { .object = object, .size = size, .machine = NATIVE_MACHINE, .why = why };
	struct code *code = calloc(1, sizeof *code);
	why[0] = 0;
	if (!code || !prepare(&l))
		goto fail;
	code->size = l.image_size;
	code->image = cpu_code_arena_take(arena, code->size);
	if (!code->image) {
		refuse(&l, "no memory for %zu bytes of code", code->size);
		goto fail;
	}
	l.image = code->image;
	l.base = (uintptr_t)code->image;
	if (!link_image(&l) || !keep_names(&l, code))
		goto fail;
	if (!cpu_code_arena_seal(code->image, code->size)) {
		refuse(&l, "the system does not let memory become executable");
		goto fail;
	}
	loading_fini(&l);
	tell_profiler(code, name);
	return code;
fail:
	loading_fini(&l);
	cpu_code_unload(code, arena);
	return NULL;
}

void cpu_code_unload(struct code *code, struct code_arena *arena)
{
	if (!code)
		return;
	if (code->image)
		cpu_code_arena_give(arena, code->image, code->size);
	free(code->strings);
	free(code->names);
	free(code);
}

void *cpu_code_symbol(const struct code *code, const char *name)
{
	for (size_t i = 0; i < code->name_count; i++)
		if (!strcmp(code->names[i].name, name))
			return code->image + code->names[i].offset;
	return NULL;
}

void *cpu_code_function(const struct code *code, size_t index, const char **name)
{
	if (index >= code->name_count)
		return NULL;
	*name = code->names[index].name;
	return code->image + code->names[index].offset;
}

bool cpu_code_relocate_at(const void *object, size_t size, uint16_t machine, void *image, size_t image_size, uint64_t base,
		      char why[CODE_WHY])
{
	struct loading l = { .object = object, .size = size, .machine = machine, .image = image, .base = base, .why = why };
	why[0] = 0;
	bool ok = prepare(&l) && (l.image_size <= image_size || refuse(&l, "no room")) && link_image(&l);
	loading_fini(&l);
	return ok;
}
