/* Which PTX of an image to compile for a device, and what to say where there is none.
 *
 * NVCC's manual ("GPU Compilation", "Just-in-Time Compilation"): a driver takes the PTX of the highest
 * virtual architecture that the device is not older than. Where all are newer, as in wheels that carry
 * compute_120 alone, we take the lowest: our compiler is not tied to the device's age. */
#include "fatbin/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Is `a` better than `b` for a device? Also orders machine code, for the advice in messages. */
static bool better(const struct fatbin_entry *a, const struct fatbin_entry *b, unsigned sm)
{
	if (!b)
		return true;
	bool a_fits = a->sm <= sm, b_fits = b->sm <= sm;
	if (a_fits != b_fits)
		return a_fits;
	if (a->sm != b->sm)
		return a_fits ? a->sm > b->sm : a->sm < b->sm;
	return !a->suffix && b->suffix;
}

static const struct fatbin_entry *best(const struct fatbin *fatbin, uint32_t unit, unsigned sm, bool ptx)
{
	const struct fatbin_entry *found = NULL;
	size_t end;
	for (size_t i = fatbin_unit_begin(fatbin, unit, &end); i < end; i++) {
		const struct fatbin_entry *entry = &fatbin->entries.data[i];
		if ((entry->kind == FATBIN_PTX) == ptx && better(entry, found, sm))
			found = entry;
	}
	return found;
}

const struct fatbin_entry *fatbin_best_ptx(const struct fatbin *fatbin, uint32_t unit, unsigned sm)
{
	return best(fatbin, unit, sm, true);
}

enum { LONGEST_LIST = 200 }; /* letters */

/* "sm_80, sm_90" of the unit's entries of one kind, each once, in order of appearance. */
static bool list_targets(const struct fatbin *fatbin, uint32_t unit, enum fatbin_kind kind, struct text *out)
{
	size_t start = out->count, end, first = fatbin_unit_begin(fatbin, unit, &end);
	for (size_t i = first; i < end && out->count - start < LONGEST_LIST; i++) {
		const struct fatbin_entry *entry = &fatbin->entries.data[i], *other = &fatbin->entries.data[first];
		if (entry->kind != kind)
			continue;
		while (other < entry &&
		       (other->kind != kind || other->sm != entry->sm || other->suffix != entry->suffix))
			other++;
		if (other == entry)
			text_printf(out, "%ssm_%u%.1s", out->count > start ? ", " : "", entry->sm, &entry->suffix);
	}
	return out->count > start;
}

enum fatbin_status fatbin_unit_error(const struct fatbin *fatbin, uint32_t unit, unsigned sm,
				     struct fatbin_error *error)
{
	struct text what = { 0 }, list = { 0 };
	static const struct {
		enum fatbin_kind kind;
		const char *name;
	} kinds[] = { { FATBIN_CUBIN, "machine code" },
		      { FATBIN_LTO_IR, "link-time code (nvcc -dlto)" },
		      { FATBIN_OTHER, "unknown code" } };
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		list.count = 0;
		if (list_targets(fatbin, unit, kinds[i].kind, &list))
			text_printf(&what, "%s%s for %s", what.count ? " and " : "", kinds[i].name, list.data);
	}
	const struct fatbin_entry *entry = best(fatbin, unit, sm, false);
	if (entry)
		fatbin_fail(error, FATBIN_NO_BINARY,
			    "only %s here; rebuild with -gencode arch=compute_%u,code=compute_%u",
			    what.data ? what.data : "unknown code", entry->sm, entry->sm);
	else
		fatbin_fail(error, FATBIN_NO_BINARY, "the fat binary is empty");
	text_fini(&list);
	text_fini(&what);
	return FATBIN_NO_BINARY;
}

bool fatbin_unit_is_device_runtime(const struct fatbin *fatbin, uint32_t unit)
{
	size_t end, size;
	for (size_t i = fatbin_unit_begin(fatbin, unit, &end); i < end; i++) {
		const struct fatbin_entry *entry = &fatbin->entries.data[i];
		struct elf_file elf;
		char *bytes;
		if (entry->kind != FATBIN_CUBIN || fatbin_payload(entry, &bytes, &size, NULL))
			continue;
		bool is = elf_open(&elf, bytes, size) && elf_cubin_is_device_runtime(&elf);
		free(bytes);
		return is; /* what is there for other devices has the same functions */
	}
	return false;
}

enum fatbin_status fatbin_choose_ptx(const struct fatbin *fatbin, unsigned sm, struct fatbin_choice *choice,
				     struct fatbin_error *error)
{
	*choice = (struct fatbin_choice){ 0 };
	if (!fatbin->unit_count)
		return fatbin_fail(error, FATBIN_NO_BINARY, "no device code in it");
	choice->units = calloc(fatbin->unit_count, sizeof *choice->units);
	if (!choice->units)
		return fatbin_fail(error, FATBIN_NO_MEMORY, "no memory for a list of %u parts of a program",
				   fatbin->unit_count);
	enum fatbin_status status = FATBIN_OK;
	for (uint32_t unit = 0; !status && unit < fatbin->unit_count; unit++) {
		struct fatbin_ptx *ptx = &choice->units[choice->count];
		ptx->entry = fatbin_best_ptx(fatbin, unit, sm);
		if (!ptx->entry && fatbin_unit_is_device_runtime(fatbin, unit))
			continue;
		status = ptx->entry ? fatbin_payload(ptx->entry, &ptx->text, &ptx->length, error)
				    : fatbin_unit_error(fatbin, unit, sm, error);
		if (!status)
			choice->count++;
	}
	if (status)
		fatbin_choice_fini(choice);
	return status;
}

void fatbin_choice_fini(struct fatbin_choice *choice)
{
	for (uint32_t i = 0; i < choice->count; i++)
		free(choice->units[i].text);
	free(choice->units);
	*choice = (struct fatbin_choice){ 0 };
}
