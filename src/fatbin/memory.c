/* How far may memory be read whose size nobody gave us? A damaged length in a program's own fat
 * binary must end in an error of the CUDA call, not in a fault of the program.
 *
 * Device code nearly always lies in a loaded object, whose segments dl_iterate_phdr(3) knows without a
 * system call; what a program read or made itself is looked up in /proc/self/maps. */
#include "fatbin/internal.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

struct search {
	uintptr_t at, end;
};

static int search_object(struct dl_phdr_info *info, size_t size UNUSED, void *argument)
{
	struct search *search = argument;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R))
			continue;
		if (search->at >= start && search->at - start < segment->p_memsz) {
			search->end = start + segment->p_memsz;
			return 1;
		}
	}
	return 0;
}

static void search_maps(struct search *search)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	if (!maps) {
		search->end = UINTPTR_MAX; /* no way to know: the declared lengths must do */
		return;
	}
	char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, maps) > 0) {
		uintptr_t start, end;
		char readable;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c", &start, &end, &readable) != 3 || readable != 'r')
			continue;
		if (search->end ? start == search->end : search->at >= start && search->at < end)
			search->end = end;
		else if (search->end)
			break;
	}
	free(line);
	fclose(maps);
}

size_t memory_readable(const void *at)
{
	struct search search = { .at = (uintptr_t)at };
	if (!at)
		return 0;
	if (!dl_iterate_phdr(search_object, &search))
		search_maps(&search);
	return search.end ? search.end - search.at : 0;
}
