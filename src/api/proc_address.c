/* Functions by name and version: what stands behind cuGetProcAddress and, by way of it,
 * cudaGetDriverEntryPoint. CUDA Driver API, "Driver Entry Point Access". */
#include "api/proc_address.h"

/* The first row that is not before `name`. */
static const struct api_proc *lower_bound(const struct api_proc *rows, unsigned count, const char *name)
{
	unsigned low = 0, high = count;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (strcmp(rows[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return rows + low;
}

/* Rows of one name are few: at most four versions and their per-thread variants. */
static const struct api_proc *newest(const struct api_proc *first, const char *name, int version,
				     bool per_thread)
{
	const struct api_proc *best = NULL, *end = api_procs + api_proc_count;
	for (const struct api_proc *row = first; row < end && !strcmp(row->name, name); row++)
		if (row->per_thread == per_thread && row->version <= version &&
		    (!best || row->version >= best->version))
			best = row;
	return best;
}

const struct api_proc *api_find_proc(const char *name, int version, bool per_thread,
				     enum api_proc_result *result)
{
	enum api_proc_result ignored;
	if (!result)
		result = &ignored;
	*result = API_PROC_FOUND;
	const struct api_proc *first = lower_bound(api_procs, api_proc_count, name);
	bool known = first < api_procs + api_proc_count && !strcmp(first->name, name);
	if (known) {
		const struct api_proc *plain = newest(first, name, version, false);
		const struct api_proc *own = per_thread ? newest(first, name, version, true) : NULL;
		/* A newer variant without streams of its own replaces an older one with them. */
		if (own && plain && plain->version > own->version)
			own = NULL;
		if (own || plain)
			return own ? own : plain;
		*result = API_PROC_VERSION_TOO_OLD;
		return NULL;
	}
	const struct api_proc *exact = lower_bound(api_exports, api_export_count, name);
	if (exact < api_exports + api_export_count && !strcmp(exact->name, name))
		return exact;
	*result = API_PROC_NOT_FOUND;
	return NULL;
}
