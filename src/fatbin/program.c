/* What is inside a host program or library: the loader and libraries it asks for, whether NVIDIA's
 * runtime is linked into it, and its device code. Nothing of it is run or loaded.
 *
 * Follows the System V ABI ("Program Loading and Dynamic Linking") and the Linux Standard Base's
 * "Symbol Versioning". */
#include "fatbin/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the dynamic section ---------------------------------------------------------------------- */

struct dynamic {
	const uint8_t *strings, *versions;
	size_t strings_size, versions_size;
	uint64_t needed[1024], rpath, runpath, version_count;
	size_t needed_count;
};

static void dynamic_entry(struct dynamic *dynamic, const struct elf_file *elf, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_NEEDED:
		if (dynamic->needed_count < ARRAY_LENGTH(dynamic->needed))
			dynamic->needed[dynamic->needed_count++] = entry->d_un.d_val;
		break;
	case DT_STRTAB:
		dynamic->strings = elf_at_address(elf, entry->d_un.d_ptr, &dynamic->strings_size);
		break;
	case DT_VERNEED:
		dynamic->versions = elf_at_address(elf, entry->d_un.d_ptr, &dynamic->versions_size);
		break;
	case DT_VERNEEDNUM:
		dynamic->version_count = entry->d_un.d_val;
		break;
	case DT_RPATH:
		dynamic->rpath = entry->d_un.d_val;
		break;
	case DT_RUNPATH:
		dynamic->runpath = entry->d_un.d_val;
		break;
	}
}

/* A string of the dynamic string table; NULL for offset 0 and where it is none. */
static const char *dynamic_string(const struct dynamic *dynamic, uint64_t offset)
{
	return offset ? elf_string(dynamic->strings, dynamic->strings_size, offset) : NULL;
}

static struct program_need *find_need(struct program_info *info, const char *soname)
{
	for (size_t i = 0; i < info->needs.count; i++)
		if (!strcmp(info->needs.data[i].soname, soname))
			return &info->needs.data[i];
	return NULL;
}

/* One library's versions: a chain of Elf64_Vernaux from `offset` on. */
static void read_versions(const struct dynamic *dynamic, uint64_t offset, unsigned count, struct program_need *need)
{
	Elf64_Vernaux version;
	for (; count-- && offset <= dynamic->versions_size && dynamic->versions_size - offset >= sizeof version;
	     offset += version.vna_next) {
		memcpy(&version, dynamic->versions + offset, sizeof version);
		const char *name = dynamic_string(dynamic, version.vna_name);
		if (name)
			(void)vec_push(&need->versions, name);
		if (!version.vna_next)
			break;
	}
}

static void read_needs(struct program_info *info, const struct dynamic *dynamic)
{
	for (size_t i = 0; i < dynamic->needed_count; i++) {
		struct program_need need = { .soname = dynamic_string(dynamic, dynamic->needed[i]) };
		if (need.soname && !find_need(info, need.soname))
			(void)vec_push(&info->needs, need);
	}
	uint64_t offset = 0;
	/* A chain that damage has bent cannot go on for longer than its table has room. */
	for (size_t left = dynamic->versions_size / sizeof(Elf64_Verneed);
	     dynamic->versions && left && dynamic->version_count; left--) {
		Elf64_Verneed file;
		if (offset > dynamic->versions_size || dynamic->versions_size - offset < sizeof file)
			break;
		memcpy(&file, dynamic->versions + offset, sizeof file);
		const char *soname = elf_string(dynamic->strings, dynamic->strings_size, file.vn_file);
		struct program_need *need = soname ? find_need(info, soname) : NULL;
		if (need && !need->versions.count)
			read_versions(dynamic, offset + file.vn_aux, file.vn_cnt, need);
		if (!file.vn_next)
			break;
		offset += file.vn_next;
	}
}

static void read_segments(struct program_info *info, const struct elf_file *elf)
{
	struct dynamic dynamic = { 0 };
	Elf64_Phdr segment;
	for (uint32_t i = 0; elf_segment(elf, i, &segment); i++) {
		if (segment.p_offset > elf->size || segment.p_filesz > elf->size - segment.p_offset) {
			info->cut_off |= segment.p_type == PT_LOAD;
			continue;
		}
		const uint8_t *data = elf->data + segment.p_offset;
		if (segment.p_type == PT_INTERP && elf_string(data, segment.p_filesz, 0))
			info->interpreter = (const char *)data;
		if (segment.p_type != PT_DYNAMIC)
			continue;
		for (uint64_t at = 0; segment.p_filesz - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn)) {
			Elf64_Dyn entry;
			memcpy(&entry, data + at, sizeof entry);
			if (entry.d_tag == DT_NULL)
				break;
			dynamic_entry(&dynamic, elf, &entry);
		}
	}
	info->rpath = dynamic_string(&dynamic, dynamic.rpath);
	info->runpath = dynamic_string(&dynamic, dynamic.runpath);
	read_needs(info, &dynamic);
}

/* ---- device code ------------------------------------------------------------------------------- */

/* Every copy of NVIDIA's runtime asks the driver for this table (see src/driver on what it is). */
static bool holds_runtime(const struct elf_file *elf)
{
	static const uint8_t table[16] = { 0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7, 0x4A,
					   0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9 };
	struct elf_section section;
	return elf_find_section(elf, ".rodata", &section) && section.data &&
	       memmem(section.data, section.header.sh_size, table, sizeof table);
}

/* With relocatable units there, containers of machine code alone are what nvcc linked from them. */
static void set_linked_apart(struct fatbin *code)
{
	bool *has_source = calloc(code->unit_count, sizeof *has_source);
	uint32_t *renumbered = calloc(code->unit_count, sizeof *renumbered);
	size_t kept = 0;
	uint32_t units = 0;
	for (size_t i = 0; has_source && i < code->entries.count; i++)
		if (code->entries.data[i].kind != FATBIN_CUBIN)
			has_source[code->entries.data[i].unit] = true;
	for (uint32_t i = 0; has_source && renumbered && i < code->unit_count; i++)
		renumbered[i] = has_source[i] ? units++ : 0;
	for (size_t i = 0; units && i < code->entries.count; i++) {
		struct fatbin_entry entry = code->entries.data[i];
		if (!has_source[entry.unit]) {
			(void)vec_push(&code->linked, entry);
			continue;
		}
		entry.unit = renumbered[entry.unit];
		code->entries.data[kept++] = entry;
	}
	if (units) {
		code->entries.count = kept;
		code->unit_count = units;
	}
	free(renumbered);
	free(has_source);
}

static void read_elf(struct program_info *info, const struct elf_file *elf)
{
	info->kind = PROGRAM_ELF;
	info->elf_type = elf->header.e_type;
	read_segments(info, elf);
	info->damage.status = object_scan(&info->code, elf, &info->damage);
	if (info->code.relocatable)
		set_linked_apart(&info->code);
	info->static_runtime = holds_runtime(elf);
}

static bool note_kernel(void *argument, const char *name UNUSED)
{
	*(bool *)argument = true;
	return false;
}

bool program_unit_runs(const struct program_info *info, uint32_t unit)
{
	bool needs_ptx = false;
	size_t end;
	if (fatbin_best_ptx(&info->code, unit, 0) || fatbin_unit_is_device_runtime(&info->code, unit))
		return true;
	for (size_t i = fatbin_unit_begin(&info->code, unit, &end); i < end && !needs_ptx; i++) {
		const struct fatbin_entry *entry = &info->code.entries.data[i];
		if (entry->kind == FATBIN_CUBIN)
			program_kernels(entry, note_kernel, &needs_ptx);
		else
			needs_ptx = true;
	}
	return !needs_ptx;
}

/* ---- kernels ------------------------------------------------------------------------------------ */

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
	       c == '%' || c == '.';
}

/* The end of the comment, string or single character at `at`. */
static char *text_step(char *at, char *end)
{
	char *to = NULL;
	if (end - at >= 2 && at[0] == '/' && at[1] == '/')
		to = memchr(at, '\n', (size_t)(end - at));
	else if (end - at >= 4 && at[0] == '/' && at[1] == '*')
		to = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
	else if (*at == '"')
		to = memchr(at + 1, '"', (size_t)(end - at) - 1);
	else
		return at + 1;
	return to ? to + 1 : end;
}

/* The names after `.entry`: PTX need not be sound for that. */
static void text_kernels(char *at, char *end, bool (*each)(void *argument, const char *name), void *argument)
{
	static const char word[] = ".entry";
	while (at < end) {
		if (!is_name(*at)) {
			at = text_step(at, end);
			continue;
		}
		char *start = at;
		while (at < end && is_name(*at))
			at++;
		if ((size_t)(at - start) != sizeof word - 1 || memcmp(start, word, sizeof word - 1))
			continue;
		while (at < end && !is_name(*at))
			at = text_step(at, end);
		start = at;
		while (at < end && is_name(*at))
			at++;
		char kept = *at; /* `end` is the text's NUL, so there is always one to overwrite */
		*at = 0;
		if (at > start && !each(argument, start))
			return;
		*at = kept;
	}
}

void program_kernels(const struct fatbin_entry *entry, bool (*each)(void *argument, const char *name), void *argument)
{
	char *bytes;
	size_t size;
	struct elf_file elf;
	if ((entry->kind != FATBIN_PTX && entry->kind != FATBIN_CUBIN) || fatbin_payload(entry, &bytes, &size, NULL))
		return;
	if (entry->kind == FATBIN_PTX)
		text_kernels(bytes, bytes + size, each, argument);
	else if (elf_open(&elf, bytes, size))
		elf_cubin_kernels(&elf, each, argument);
	free(bytes);
}

/* ---- files --------------------------------------------------------------------------------------- */

static void read_script(struct program_info *info, const char *text, size_t size)
{
	info->kind = PROGRAM_SCRIPT;
	size_t start = 2, end;
	while (start < size && (text[start] == ' ' || text[start] == '\t'))
		start++;
	for (end = start; end < size && !strchr(" \t\r\n", text[end]); end++)
		;
	if (end > start)
		info->interpreter = info->script_interpreter = strndup(text + start, end - start);
}

static void read_file(struct program_info *info)
{
	const uint8_t *data = info->map;
	struct elf_file elf;
	info->kind = PROGRAM_OTHER;
	if (info->map_size >= 2 && !memcmp(data, "#!", 2)) {
		read_script(info, info->map, info->map_size);
		return;
	}
	if (elf_is(data, info->map_size) && info->map_size >= 20) {
		info->elf_class = data[EI_CLASS];
		info->machine =
			(unsigned)(data[EI_DATA] == ELFDATA2MSB ? data[18] << 8 | data[19] : data[18] | data[19] << 8);
		if (!elf_open(&elf, data, info->map_size) || info->machine != EM_CUDA) {
			info->kind = PROGRAM_ELF;
			if (elf.header.e_type)
				read_elf(info, &elf);
			return;
		}
	}
	info->damage.status = fatbin_open(info->map, info->map_size, &info->code, &info->damage);
	if (!info->damage.status || container_is(data, info->map_size) || archive_is(data, info->map_size))
		info->kind = PROGRAM_DEVICE;
}

bool program_scan(const char *path, struct program_info *info, struct fatbin_error *error)
{
	*info = (struct program_info){ 0 };
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool ok = fd >= 0 && !fstat(fd, &status);
	const char *why = NULL;
	if (ok && !S_ISREG(status.st_mode))
		why = S_ISDIR(status.st_mode) ? strerror(EISDIR) : "it is no regular file";
	ok = ok && !why;
	if (ok && status.st_size > 0) {
		info->map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		info->map_size = (size_t)status.st_size;
		ok = info->map != MAP_FAILED;
	}
	if (!ok)
		fatbin_fail(error, FATBIN_INVALID, "cannot read %s: %s", path, why ? why : strerror(errno));
	if (fd >= 0)
		close(fd);
	if (!ok)
		return false;
	if (info->map_size)
		read_file(info);
	else
		info->kind = PROGRAM_OTHER;
	return true;
}

void program_fini(struct program_info *info)
{
	for (size_t i = 0; i < info->needs.count; i++)
		vec_fini(&info->needs.data[i].versions);
	vec_fini(&info->needs);
	fatbin_close(&info->code);
	free(info->script_interpreter);
	if (info->map_size)
		munmap((void *)(uintptr_t)info->map, info->map_size);
	*info = (struct program_info){ 0 };
}
