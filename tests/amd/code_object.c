/* Code objects as ROCr loads them: an ELF (ET_DYN) for AMDGPU, its segments, dynamic symbols and relocations, the
 * metadata note (msgpack) and the kernel descriptors. LLVM's "User Guide for AMDGPU Backend", "ELF Code Object". */
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include "machine.h"

enum { EM_AMD_GPU = 224, OSABI_HSA = 64, NOTE_METADATA = 32, MACHINE_MASK = 0xff };
enum { R_ABS32_LO = 1, R_ABS32_HI = 2, R_ABS64 = 3, R_REL32 = 4, R_REL64 = 5, R_ABS32 = 6, R_RELATIVE64 = 13 };

static const struct gpu_model models[] = {
	{ "gfx90a", 0x3f, 9, true, true, 104, 64, 512, "AMD Instinct MI210" },
	{ "gfx942", 0x4c, 9, true, true, 304, 64, 512, "AMD Instinct MI300X" },
	{ "gfx906", 0x2f, 9, false, true, 60, 64, 256, "AMD Instinct MI50" },
	{ "gfx1030", 0x36, 10, false, false, 60, 32, 256, "AMD Radeon RX 6800" },
	{ "gfx1100", 0x41, 11, false, false, 96, 32, 256, "AMD Radeon RX 7900 XTX" },
	{ "gfx1101", 0x46, 11, false, false, 60, 32, 256, "AMD Radeon RX 7800 XT" },
	{ "gfx1102", 0x47, 11, false, false, 32, 32, 256, "AMD Radeon RX 7600" },
	{ "gfx1150", 0x43, 11, false, false, 16, 32, 256, "AMD Radeon 890M" },
	{ "gfx1200", 0x48, 12, false, false, 32, 32, 256, "AMD Radeon RX 9060 XT" },
	{ "gfx1201", 0x4e, 12, false, false, 64, 32, 256, "AMD Radeon RX 9070 XT" },
};

struct code_object {
	const struct gpu_model *gpu;
	uint8_t *memory;
	size_t bytes;
	const Elf64_Sym *symbols;
	unsigned symbol_count;
	const char *strings;
	struct code code;
	struct kernel *kernels;
	unsigned kernel_count;
	pthread_mutex_t lock;
};

const struct gpu_model *gpu_model_find(const char *name)
{
	size_t length = strcspn(name, ":");	/* gfx90a:sramecc+:xnack- */

	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		if (strlen(models[i].name) == length && !strncmp(models[i].name, name, length)) return &models[i];
	return NULL;
}

const struct gpu_model *gpu_model_of_machine(unsigned machine)
{
	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		if (models[i].machine == machine) return &models[i];
	return NULL;
}

const struct gpu_model *code_object_gpu(const struct code_object *object) { return object->gpu; }
struct code *code_object_code(struct code_object *object) { return &object->code; }

size_t code_object_size(const void *elf)
{
	const Elf64_Ehdr *header = elf;
	size_t size;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64) return 0;
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = (const void *)((const uint8_t *)elf + header->e_shoff + (size_t)i * header->e_shentsize);
		size_t end = section->sh_offset + section->sh_size;

		if (section->sh_type != SHT_NOBITS && end > size) size = end;
	}
	return size;
}

/* ---- metadata: just enough of msgpack ---- */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};
struct item {
	enum { ITEM_OTHER, ITEM_INTEGER, ITEM_STRING, ITEM_ARRAY, ITEM_MAP } kind;
	uint64_t value;		/* of an integer, boolean; the count of an array, map */
	const char *text;
	size_t length;
};

static uint64_t read_number(struct reader *r, unsigned bytes)
{
	uint64_t value = 0;

	if (r->at + bytes > r->end) {
		r->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++) value = value << 8 | *r->at++;
	return value;
}

static struct item read_item(struct reader *r)
{
	uint8_t tag = (uint8_t)read_number(r, 1);
	struct item item = { ITEM_OTHER, 0, "", 0 };

	if (tag < 0x80 || tag >= 0xe0) {
		item.kind = ITEM_INTEGER;
		item.value = (uint64_t)(int8_t)tag;
	} else if (tag < 0x90) {
		item.kind = ITEM_MAP;
		item.value = tag & 15;
	} else if (tag < 0xa0) {
		item.kind = ITEM_ARRAY;
		item.value = tag & 15;
	} else if (tag < 0xc0 || (tag >= 0xd9 && tag <= 0xdb)) {
		item.kind = ITEM_STRING;
		item.length = tag < 0xc0 ? tag & 31 : (size_t)read_number(r, 1u << (tag - 0xd9));
		item.text = (const char *)r->at;
		if (item.length > (size_t)(r->end - r->at)) r->bad = true;
		else r->at += item.length;
	} else if (tag == 0xc2 || tag == 0xc3) {
		item.kind = ITEM_INTEGER;
		item.value = tag & 1;
	} else if (tag >= 0xcc && tag <= 0xd3) {
		item.kind = ITEM_INTEGER;
		item.value = read_number(r, 1u << ((tag - 0xcc) & 3));
	} else if (tag == 0xdc || tag == 0xdd) {
		item.kind = ITEM_ARRAY;
		item.value = read_number(r, tag == 0xdc ? 2 : 4);
	} else if (tag == 0xde || tag == 0xdf) {
		item.kind = ITEM_MAP;
		item.value = read_number(r, tag == 0xde ? 2 : 4);
	} else if (tag != 0xc0) {
		r->bad = true;
	}
	if (r->bad) item.kind = ITEM_OTHER;
	return item;
}

static void skip_item(struct reader *r)
{
	struct item item = read_item(r);
	uint64_t count = item.kind == ITEM_MAP ? 2 * item.value : item.kind == ITEM_ARRAY ? item.value : 0;

	while (count-- && !r->bad) skip_item(r);
}

static bool item_is(const struct item *item, const char *text)
{
	return item->kind == ITEM_STRING && item->length == strlen(text) && !memcmp(item->text, text, item->length);
}

static void read_argument(struct reader *r, struct kernel_argument *argument)
{
	struct item map = read_item(r);

	for (uint64_t i = 0; map.kind == ITEM_MAP && i < map.value && !r->bad; i++) {
		struct item key = read_item(r);

		if (item_is(&key, ".offset")) argument->offset = (unsigned)read_item(r).value;
		else if (item_is(&key, ".size")) argument->size = (unsigned)read_item(r).value;
		else if (item_is(&key, ".value_kind")) {
			struct item kind = read_item(r);
			snprintf(argument->kind, sizeof argument->kind, "%.*s", (int)kind.length, kind.text);
		} else skip_item(r);
	}
}

static void read_kernel(struct reader *r, struct code_object *object)
{
	struct item map = read_item(r);
	struct kernel found = { .max_threads = 1024 };
	char symbol[512] = "";

	for (uint64_t i = 0; map.kind == ITEM_MAP && i < map.value && !r->bad; i++) {
		struct item key = read_item(r);

		if (item_is(&key, ".symbol")) {
			struct item text = read_item(r);
			snprintf(symbol, sizeof symbol, "%.*s", (int)text.length, text.text);
		} else if (item_is(&key, ".max_flat_workgroup_size")) found.max_threads = (unsigned)read_item(r).value;
		else if (item_is(&key, ".wavefront_size")) found.wave_size = (unsigned)read_item(r).value;
		else if (item_is(&key, ".vgpr_count")) found.vector_registers = (unsigned)read_item(r).value;
		else if (item_is(&key, ".sgpr_count")) found.scalar_registers = (unsigned)read_item(r).value;
		else if (item_is(&key, ".uses_dynamic_stack")) found.dynamic_stack = read_item(r).value;
		else if (item_is(&key, ".args")) {
			struct item list = read_item(r);

			if (list.kind != ITEM_ARRAY || list.value > 4096) {
				r->bad = true;
				break;
			}
			free(found.arguments);
			found.arguments = calloc(list.value + 1, sizeof *found.arguments);
			found.argument_count = found.arguments ? (unsigned)list.value : 0;
			for (unsigned a = 0; a < found.argument_count; a++) read_argument(r, &found.arguments[a]);
		} else skip_item(r);
	}
	for (unsigned k = 0; k < object->kernel_count; k++) {
		struct kernel *kernel = &object->kernels[k];
		size_t length = strlen(kernel->name);

		if (strncmp(symbol, kernel->name, length) || strcmp(symbol + length, ".kd") || kernel->has_metadata) continue;
		kernel->has_metadata = true;
		kernel->dynamic_stack = kernel->dynamic_stack || found.dynamic_stack;
		kernel->max_threads = found.max_threads;
		kernel->vector_registers = found.vector_registers;
		kernel->scalar_registers = found.scalar_registers;
		kernel->arguments = found.arguments;
		kernel->argument_count = found.argument_count;
		return;
	}
	free(found.arguments);
}

static bool read_metadata(struct code_object *object, const uint8_t *note, size_t size)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *header = (const void *)note;
		size_t name = (header->n_namesz + 3u) & ~3u, bytes = (header->n_descsz + 3u) & ~3u;

		if (sizeof *header + name + header->n_descsz > size) return false;
		if (header->n_type == NOTE_METADATA && header->n_namesz == 7 && !memcmp(header + 1, "AMDGPU", 7)) {
			const uint8_t *start = (const uint8_t *)(header + 1) + name;
			struct reader r = { start, start + header->n_descsz, false };
			struct item map = read_item(&r);

			for (uint64_t i = 0; map.kind == ITEM_MAP && i < map.value && !r.bad; i++) {
				struct item key = read_item(&r);

				if (item_is(&key, "amdhsa.kernels")) {
					struct item list = read_item(&r);
					for (uint64_t k = 0; list.kind == ITEM_ARRAY && k < list.value && !r.bad; k++) read_kernel(&r, object);
				} else skip_item(&r);
			}
			return !r.bad;
		}
		if (sizeof *header + name + bytes >= size) break;
		note += sizeof *header + name + bytes;
		size -= sizeof *header + name + bytes;
	}
	return false;
}

/* ---- loading ---- */
static bool relocate(struct code_object *object, const Elf64_Rela *relocations, size_t count, char *error, size_t error_size)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Rela *r = &relocations[i];
		unsigned type = ELF64_R_TYPE(r->r_info), symbol = ELF64_R_SYM(r->r_info);
		size_t width = type == R_ABS64 || type == R_REL64 || type == R_RELATIVE64 ? 8 : 4;
		uint64_t base = (uint64_t)(uintptr_t)object->memory, place = base + r->r_offset, value;

		if (r->r_offset + width > object->bytes || (symbol && symbol >= object->symbol_count)) {
			snprintf(error, error_size, "a relocation lies outside of the code object");
			return false;
		}
		if (symbol && object->symbols[symbol].st_shndx == SHN_UNDEF) {
			snprintf(error, error_size, "undefined symbol %s", object->strings + object->symbols[symbol].st_name);
			return false;
		}
		value = base + (uint64_t)r->r_addend + (symbol ? object->symbols[symbol].st_value : 0);
		if (type == R_REL64 || type == R_REL32) value -= place;
		if (type == R_ABS32_HI) value >>= 32;
		if (type != R_ABS32_LO && type != R_ABS32_HI && type != R_ABS64 && type != R_REL32 && type != R_REL64
			&& type != R_ABS32 && type != R_RELATIVE64) {
			snprintf(error, error_size, "relocation type %u is not known", type);
			return false;
		}
		memcpy(object->memory + r->r_offset, &value, width);
	}
	return true;
}

static bool read_dynamic(struct code_object *object, const Elf64_Dyn *dynamic, size_t count, char *error, size_t error_size)
{
	const Elf64_Rela *relocations = NULL;
	const uint32_t *hash = NULL;
	size_t relocation_bytes = 0;

	for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++) {
		void *pointer = object->memory + dynamic[i].d_un.d_ptr;

		switch (dynamic[i].d_tag) {
		case DT_SYMTAB: object->symbols = pointer; break;
		case DT_STRTAB: object->strings = pointer; break;
		case DT_HASH: hash = pointer; break;
		case DT_RELA: relocations = pointer; break;
		case DT_RELASZ: relocation_bytes = dynamic[i].d_un.d_val; break;
		}
	}
	if (!object->symbols || !object->strings || !hash) {
		snprintf(error, error_size, "no dynamic symbols");
		return false;
	}
	object->symbol_count = hash[1];
	return relocate(object, relocations, relocation_bytes / sizeof *relocations, error, error_size);
}

static bool find_kernels(struct code_object *object)
{
	object->kernels = calloc(object->symbol_count + 1u, sizeof *object->kernels);
	if (!object->kernels) return false;
	for (unsigned i = 1; i < object->symbol_count; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];
		const char *name = object->strings + symbol->st_name;
		size_t length = strlen(name);
		const uint8_t *d = object->memory + symbol->st_value;
		struct kernel *kernel;
		int64_t entry;

		if (length < 4 || strcmp(name + length - 3, ".kd") || symbol->st_shndx == SHN_UNDEF || symbol->st_value + 64 > object->bytes)
			continue;
		kernel = &object->kernels[object->kernel_count++];
		kernel->name = strndup(name, length - 3);
		kernel->object = object;
		kernel->descriptor = d;
		memcpy(&kernel->group_bytes, d, 4);
		memcpy(&kernel->private_bytes, d + 4, 4);
		memcpy(&kernel->kernarg_bytes, d + 8, 4);
		memcpy(&entry, d + 16, 8);
		memcpy(&kernel->rsrc3, d + 44, 4);
		memcpy(&kernel->rsrc1, d + 48, 4);
		memcpy(&kernel->rsrc2, d + 52, 4);
		memcpy(&kernel->properties, d + 56, 2);
		kernel->entry = (uint64_t)(uintptr_t)d + (uint64_t)entry;
		kernel->wave_size = object->gpu->generation >= 10 && (kernel->properties & 1 << 10) ? 32 : 64;
		kernel->dynamic_stack = kernel->properties >> 11 & 1;
		kernel->max_threads = 1024;
	}
	return true;
}

static bool load(struct code_object *object, const void *elf, size_t size, char *error, size_t error_size)
{
	const Elf64_Ehdr *header = elf;
	const Elf64_Phdr *program = (const void *)((const uint8_t *)elf + header->e_phoff);
	const Elf64_Phdr *dynamic = NULL, *note = NULL;
	uint64_t top = 0;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (program[i].p_offset + program[i].p_filesz > size) {
			snprintf(error, error_size, "a segment lies outside of the file");
			return false;
		}
		if (program[i].p_type == PT_LOAD && program[i].p_vaddr + program[i].p_memsz > top)
			top = program[i].p_vaddr + program[i].p_memsz;
		if (program[i].p_type == PT_DYNAMIC) dynamic = &program[i];
		if (program[i].p_type == PT_NOTE) note = &program[i];
	}
	if (!top || top > 1ull << 32 || !dynamic) {
		snprintf(error, error_size, "no loadable segments");
		return false;
	}
	object->bytes = (top + 4095) & ~4095ull;
	object->memory = aligned_alloc(65536, (object->bytes + 65535) & ~65535ull);
	if (!object->memory) return false;
	memset(object->memory, 0, object->bytes);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (program[i].p_type != PT_LOAD) continue;
		memcpy(object->memory + program[i].p_vaddr, (const uint8_t *)elf + program[i].p_offset, program[i].p_filesz);
		if (!(program[i].p_flags & PF_X)) continue;
		object->code.start = (uint64_t)(uintptr_t)object->memory + program[i].p_vaddr;
		object->code.end = object->code.start + program[i].p_filesz;
	}
	memory_add(object->memory, object->bytes);
	if (!read_dynamic(object, (const void *)(object->memory + dynamic->p_vaddr), dynamic->p_memsz / sizeof(Elf64_Dyn), error, error_size)
		|| !find_kernels(object))
		return false;
	if (!note || !read_metadata(object, (const uint8_t *)elf + note->p_offset, note->p_filesz)) {
		snprintf(error, error_size, "no metadata note, or one that cannot be read");
		return false;
	}
	object->code.cache = calloc((object->code.end - object->code.start) / 4 + 1, sizeof *object->code.cache);
	object->code.lock = &object->lock;
	return object->code.cache != NULL;
}

static void start_llvm(void)
{
	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUDisassembler();
}

struct code_object *code_object_load(const void *elf, size_t size, char *error, size_t error_size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const Elf64_Ehdr *header = elf;
	struct code_object *object;

	if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_machine != EM_AMD_GPU
		|| header->e_ident[EI_OSABI] != OSABI_HSA || header->e_type != ET_DYN
		|| header->e_phoff + (size_t)header->e_phnum * sizeof(Elf64_Phdr) > size) {
		snprintf(error, error_size, "not a loadable AMDGPU code object");
		return NULL;
	}
	object = calloc(1, sizeof *object);
	if (!object) return NULL;
	pthread_mutex_init(&object->lock, NULL);
	object->gpu = gpu_model_of_machine(header->e_flags & MACHINE_MASK);
	if (!object->gpu) {
		snprintf(error, error_size, "the emulator has no GPU of machine number 0x%x", header->e_flags & MACHINE_MASK);
		free(object);
		return NULL;
	}
	pthread_once(&once, start_llvm);
	if (!load(object, elf, size, error, error_size)) {
		code_object_destroy(object);
		return NULL;
	}
	object->code.disassembler = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", object->gpu->name,
		object->gpu->generation >= 10 && object->kernel_count && object->kernels[0].wave_size == 64 ? "+wavefrontsize64,-wavefrontsize32" : "",
		NULL, 0, NULL, NULL);
	if (!object->code.disassembler) {
		snprintf(error, error_size, "LLVM has no disassembler for %s", object->gpu->name);
		code_object_destroy(object);
		return NULL;
	}
	return object;
}

void code_object_destroy(struct code_object *object)
{
	if (!object) return;
	if (object->memory) memory_remove(object->memory);
	for (uint64_t i = 0; object->code.cache && i < (object->code.end - object->code.start) / 4; i++)
		if (object->code.cache[i]) instruction_destroy(object->code.cache[i]);
	free((void *)object->code.cache);
	if (object->code.disassembler) LLVMDisasmDispose(object->code.disassembler);
	for (unsigned i = 0; i < object->kernel_count; i++) {
		free(object->kernels[i].name);
		free(object->kernels[i].arguments);
	}
	free(object->kernels);
	free(object->memory);
	pthread_mutex_destroy(&object->lock);
	free(object);
}

const struct kernel *code_object_kernel(struct code_object *object, const char *name)
{
	for (unsigned i = 0; i < object->kernel_count; i++)
		if (!strcmp(object->kernels[i].name, name)) return &object->kernels[i];
	return NULL;
}

void *code_object_variable(struct code_object *object, const char *name, size_t *size)
{
	for (unsigned i = 1; i < object->symbol_count; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];

		if (strcmp(object->strings + symbol->st_name, name) || symbol->st_shndx == SHN_UNDEF
			|| ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT)
			continue;
		if (size) *size = symbol->st_size;
		return object->memory + symbol->st_value;
	}
	return NULL;
}
