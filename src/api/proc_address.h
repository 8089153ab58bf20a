/* The table behind api_find_proc(), made from spec/cuda.api and sorted by name, per_thread and
 * version; and the exported functions, sorted by their own names. */
#ifndef DRAGOMAN_API_PROC_ADDRESS_H
#define DRAGOMAN_API_PROC_ADDRESS_H

#include "api/api.h"

extern const struct api_proc api_procs[];
extern const unsigned api_proc_count;
extern const struct api_proc api_exports[];
extern const unsigned api_export_count;

#endif
