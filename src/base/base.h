/* What every part of Dragoman shares: memory arenas, growable arrays, interned strings,
 * string maps, logging and the environment. Nothing in here knows about CUDA.
 *
 * The C library's allocator is used for single objects; an arena holds the many small
 * objects that live and die together (one arena a PTX module, one a compilation). */
#ifndef DRAGOMAN_BASE_H
#define DRAGOMAN_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define UNUSED __attribute__((unused))
/* For small thread-local variables that every call reads: no call of the loader's to find them, no memory on first use, so
 * that signal handlers may read them too. The C library keeps some 1600 bytes for such variables of libraries that are opened
 * later: bytes, not arrays. */
#define STATIC_TLS __attribute__((tls_model("initial-exec")))

static inline size_t align_up(size_t value, size_t align)
{
	return (value + align - 1) & ~(align - 1);
}

/* ---- arena ---------------------------------------------------------------------------- */

struct arena_chunk;
struct arena {
	struct arena_chunk *chunks;
	char *next, *end;
	size_t bytes; /* taken from the system so far */
};

void arena_init(struct arena *arena);
void arena_fini(struct arena *arena); /* releases everything; the arena is empty and usable again */
/* Zeroed memory, aligned to 16. Never NULL: running out of memory ends in arena_exhausted(). */
void *arena_alloc(struct arena *arena, size_t size);
/* Not zeroed, aligned to 8: for text. */
char *arena_text(struct arena *arena, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_array(arena, type, count) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))

/* ---- growable array: struct { T *data; size_t count, capacity; } ------------------------ */

/* Makes room for one more element of `size` bytes; false where memory is gone (data stays). */
bool vec_reserve(void *data_pointer, size_t *capacity, size_t count, size_t size);
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t count, capacity;                                                            \
	}
#define vec_push(v, value)                                                                         \
	(vec_reserve(&(v)->data, &(v)->capacity, (v)->count, sizeof *(v)->data) ?                  \
		 ((v)->data[(v)->count++] = (value), true) :                                       \
		 false)
#define vec_fini(v) (vec_free((v)->data), (v)->data = NULL, (v)->count = (v)->capacity = 0)
void vec_free(void *data);

/* ---- text buffer ------------------------------------------------------------------------ */

struct text {
	char *data; /* always NUL-terminated once anything was added */
	size_t count, capacity;
};
void text_add(struct text *text, const char *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_vprintf(struct text *text, const char *format, va_list arguments);
void text_fini(struct text *text);

/* ---- maps ------------------------------------------------------------------------------- */

/* String -> pointer. Keys are not copied: they must outlive the map. */
struct map_slot {
	const char *key;
	uint32_t hash, length;
	void *value;
};
struct map {
	struct map_slot *slots;
	size_t count, capacity;
};
void map_fini(struct map *map);
void *map_get(const struct map *map, const char *key);
void *map_get_n(const struct map *map, const char *key, size_t length);
/* Sets, returning the former value or NULL. */
void *map_put(struct map *map, const char *key, void *value);
void *map_put_n(struct map *map, const char *key, size_t length, void *value);
void *map_remove(struct map *map, const char *key);
void *map_remove_n(struct map *map, const char *key, size_t length);

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed); /* fast, not cryptographic */

/* ---- SHA-256, for cache keys (FIPS 180-4) ------------------------------------------------ */

struct sha256 {
	uint32_t state[8];
	uint64_t length;
	uint8_t block[64];
};
void sha256_init(struct sha256 *sha);
void sha256_update(struct sha256 *sha, const void *bytes, size_t length);
void sha256_final(struct sha256 *sha, uint8_t digest[32]);

/* ---- log -------------------------------------------------------------------------------- */

/* DRAGOMAN_LOG = error | warn (default) | info | debug, optionally ":file". Each line goes out
 * with one write, prefixed "dragoman: ". */
enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
bool log_enabled(enum log_level level);
void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) (log_enabled(LOG_INFO) ? log_line(LOG_INFO, __VA_ARGS__) : (void)0)
#define log_debug(...) (log_enabled(LOG_DEBUG) ? log_line(LOG_DEBUG, __VA_ARGS__) : (void)0)

/* ---- environment ------------------------------------------------------------------------- */

/* A DRAGOMAN_ variable (pass the full name); NULL where unset, empty, or the program is set-uid. */
const char *env_get(const char *name);
bool env_is(const char *name, const char *value);
bool env_flag(const char *name);                       /* set to anything but "", "0", "no", "off" */
long env_long(const char *name, long fallback, long low, long high);
bool env_dump(const char *what);                       /* DRAGOMAN_DUMP=ptx,ir,llvm,asm,object holds `what` */
/* The folder that holds our own libraries (that of the object this code is in). Static text or NULL. */
const char *env_library_folder(void);

uint64_t clock_ns(void); /* CLOCK_MONOTONIC */

#endif
