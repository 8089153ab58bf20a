/* Compiled kernels on disk, shared by all processes of a user, and the way to the compiler for those that are not there.
 *
 * One file an entry, in $DRAGOMAN_CACHE_DIR, or $XDG_CACHE_HOME/dragoman, or ~/.cache/dragoman. The folder is private (0700)
 * and is not used if it is anybody else's or others can write to it: what is in it gets executed. An entry is written
 * beside its place and renamed into it, so that there are only whole ones; what is damaged nevertheless is noticed by its
 * hash, removed, and compiled again. DRAGOMAN_CACHE_SIZE (bytes; K, M, G; default 1G; 0: no cache) bounds it: those unused for
 * longest go. A full disk costs nothing but the entry. DRAGOMAN_CACHE=off: not used. */
#ifndef DRAGOMAN_CACHE_H
#define DRAGOMAN_CACHE_H

#include "codegen/codegen.h"

/* Everything that the code of a kernel depends on. */
struct cache_subject {
	const uint8_t *text_hash;      /* 32 bytes: SHA-256 of the module's PTX */
	const char *kernel;
	const struct compile_options *options;
	uint64_t features;             /* of the CPU that it is compiled for */
	uint32_t abi;                  /* CPU_ABI */
};

struct cache_key {
	uint8_t bytes[32];
};
void cache_key_make(struct cache_key *key, const struct cache_subject *subject);

/* false where it is not there; `result` is then empty. Takes well under 0.2 ms for a usual kernel. */
bool cache_get(const struct cache_key *key, struct compile_result *result);
/* Keeps a result; failing to is no error. `kernel` and `target` are for cache_each(). */
void cache_put(const struct cache_key *key, const struct compile_result *result, const char *kernel, const char *target);
/* The entry turned out not to load. */
void cache_remove(const struct cache_key *key);

/* ---- for the dragoman command ---------------------------------------------------------------- */

struct cache_item {
	const char *file;    /* name within the folder */
	const char *kernel;  /* "?" where the entry is damaged */
	const char *target;
	uint64_t bytes;
	int64_t used;        /* seconds since 1970 of the last use */
	bool damaged;
};
/* The folder, or NULL and why not in `why`. */
const char *cache_folder(const char **why);
uint64_t cache_limit(void);
/* Calls `see` for each entry until it returns false; the number of entries seen, -1 where there is no cache. */
long cache_each(bool (*see)(const struct cache_item *item, void *context), void *context);
/* Removes all entries (and what crashed writers left behind); how many, -1 where there is no cache. */
long cache_clear(void);

/* ---- compiler.c -------------------------------------------------------------------------------- */

/* libdragoman-compiler.so beside the library that this code is in (or DRAGOMAN_COMPILER), opened on the first call. NULL and a
 * CUresult in `status` where there is none; why is logged once. Safe from several threads. */
const struct compiler *compiler_load(int *status);
/* The identity of the compiler that last put something into the cache; false where nobody has. */
bool cache_last_compiler(char *identity, size_t size);
/* What tells one build of the compiler from another without opening it; part of every cache key. */
const char *compiler_identity(void);

#endif
