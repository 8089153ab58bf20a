/* The cache's entries and its folder (see cache.h). File format, all little-endian as the machine that wrote it:
 *     struct entry_header, then kernel name, target, symbols, object, one behind the other.
 * The file's time of modification is that of its last use, so that the oldest is known even where the system
 * does not keep times of access. */
#define _GNU_SOURCE
#include "cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FORMAT = 2, NAME_BYTES = 64 + 1, STALE_SECONDS = 600, LARGEST_ENTRY = 128 << 20 };

struct entry_header {
	char magic[8]; /* "DRAGOCC\1" */
	uint32_t format, header_bytes;
	uint8_t key[32];
	uint64_t payload_hash[2];
	uint64_t kernel_bytes, target_bytes, symbols_bytes, object_bytes;
	struct kernel_info info;
};
static const char magic[8] = "DRAGOCC";

/* ---- the folder --------------------------------------------------------------------------------- */

static char folder[PATH_MAX];
static int folder_fd = -1;
static const char *folder_why = "not opened";
static pthread_once_t folder_once = PTHREAD_ONCE_INIT;
static uint64_t written_since_look; /* bytes; guarded by trim_lock */
static pthread_mutex_t trim_lock = PTHREAD_MUTEX_INITIALIZER;

static bool folder_path(void)
{
	const char *own = env_get("DRAGOMAN_CACHE_DIR"), *shared = env_get("XDG_CACHE_HOME"), *home = env_get("HOME");
	int length = -1;
	/* As XDG's base directory specification has it, a path that is not absolute does not count. */
	if (own)
		length = snprintf(folder, sizeof folder, "%s", own);
	else if (shared && *shared == '/')
		length = snprintf(folder, sizeof folder, "%s/dragoman", shared);
	else if (home && *home == '/')
		length = snprintf(folder, sizeof folder, "%s/.cache/dragoman", home);
	return length > 0 && length < (int)sizeof folder;
}

/* The folder and, where they are missing, those above it. */
static bool make_folders(void)
{
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		int made = mkdir(folder, 0700);
		int error = errno;
		*slash = '/';
		if (made && error != EEXIST)
			return false;
	}
	return !mkdir(folder, 0700) || errno == EEXIST;
}

static void folder_open(void)
{
	struct stat status;
	const char *setting = env_get("DRAGOMAN_CACHE");
	if ((setting && !strcmp(setting, "off")) || !cache_limit()) {
		folder_why = "switched off";
		return;
	}
	if (!folder_path()) {
		folder_why = "no home folder";
		return;
	}
	int fd = make_folders() ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd < 0) {
		folder_why = "the folder cannot be made or opened";
	} else if (fstat(fd, &status) || status.st_uid != geteuid()) {
		folder_why = "the folder belongs to somebody else";
	} else if (status.st_mode & 022) {
		folder_why = "others can write to the folder";
	} else {
		folder_fd = fd;
		return;
	}
	if (fd >= 0)
		close(fd);
	log_warn("compiled kernels are not kept: %s: %s", folder, folder_why);
}

static bool cache_open(void)
{
	pthread_once(&folder_once, folder_open);
	return folder_fd >= 0;
}

const char *cache_folder(const char **why)
{
	if (cache_open())
		return folder;
	*why = folder_why;
	return NULL;
}

uint64_t cache_limit(void)
{
	const uint64_t usual = UINT64_C(1) << 30;
	const char *text = env_get("DRAGOMAN_CACHE_SIZE");
	if (!text)
		return usual;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	int shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : *end == 'G' || *end == 'g' ? 30 : 0;
	if (end == text || errno || *text == '-' || end[shift ? 1 : 0] || value > UINT64_MAX >> shift) {
		log_warn("DRAGOMAN_CACHE_SIZE=%s is not a size such as 512M: ignored", text);
		return usual;
	}
	return (uint64_t)value << shift;
}

/* ---- keys --------------------------------------------------------------------------------------- */

static void add_text(struct sha256 *sha, const char *text)
{
	/* With its NUL, and absent told from empty: no two lists of texts look alike. */
	sha256_update(sha, text ? "+" : "-", 1);
	if (text)
		sha256_update(sha, text, strlen(text) + 1);
}

void cache_key_make(struct cache_key *key, const struct cache_subject *subject)
{
	const struct compile_options *o = subject->options;
	const uint32_t numbers[] = { FORMAT,     subject->abi, o->lanes,    o->vector,   o->opt_level,
				     o->small_grid, o->check_alignment, o->exact_products, o->fast_products, o->cluster, o->fibers, o->block[0], o->block[1], o->block[2] };
	struct sha256 sha;
	sha256_init(&sha);
	sha256_update(&sha, subject->text_hash, 32);
	sha256_update(&sha, numbers, sizeof numbers);
	sha256_update(&sha, &subject->features, sizeof subject->features);
	add_text(&sha, subject->kernel);
	add_text(&sha, o->cpu);
	add_text(&sha, o->features);
	add_text(&sha, o->target);
	add_text(&sha, compiler_identity());
	sha256_final(&sha, key->bytes);
}

static void entry_name(const struct cache_key *key, char name[NAME_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	for (int i = 0; i < 32; i++) {
		name[2 * i] = digits[key->bytes[i] >> 4];
		name[2 * i + 1] = digits[key->bytes[i] & 15];
	}
	name[64] = 0;
}

static bool is_entry_name(const char *name)
{
	return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

/* ---- reading ------------------------------------------------------------------------------------ */

enum { STREAMS = 4 };

/* Every fourth word on its own: a chain of multiplications for all of them takes four times as long. */
static void hash_streams(const char *payload, size_t size, uint64_t out[STREAMS])
{
	memset(out, 0, STREAMS * sizeof *out);
	for (; size >= STREAMS * sizeof *out; size -= STREAMS * sizeof *out)
		for (unsigned i = 0; i < STREAMS; i++, payload += sizeof *out) {
			uint64_t word;
			memcpy(&word, payload, sizeof word);
			out[i] = (out[i] ^ word) * UINT64_C(0xD6E8FEB86659FD93);
			out[i] ^= out[i] >> 32;
		}
	out[0] = hash_bytes(payload, size, out[0]);
}

static void payload_hash(const void *payload, size_t size, const struct entry_header *header, uint64_t out[2])
{
	/* Of the header too, but for the hash itself. */
	struct entry_header copy = *header;
	uint64_t streams[STREAMS];
	memset(copy.payload_hash, 0, sizeof copy.payload_hash);
	hash_streams(payload, size, streams);
	for (uint64_t i = 0; i < 2; i++)
		out[i] = hash_bytes(streams, sizeof streams, hash_bytes(&copy, sizeof copy, i + 1));
}

static bool read_all(int fd, void *out, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, (char *)out + done, size - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool header_is_sound(const struct entry_header *h, uint64_t file_size)
{
	if (memcmp(h->magic, magic, sizeof magic) || h->format != FORMAT || h->header_bytes != sizeof *h)
		return false;
	uint64_t left = file_size - sizeof *h;
	const uint64_t parts[] = { h->kernel_bytes, h->target_bytes, h->symbols_bytes, h->object_bytes };
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
		if (parts[i] > left)
			return false;
		left -= parts[i];
	}
	return !left;
}

/* The whole entry in memory, checked; NULL where it is missing (*missing) or damaged. */
static char *entry_read(const char *name, struct entry_header *header, bool *missing)
{
	struct stat status;
	char *payload = NULL;
	int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	*missing = fd < 0;
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size >= (off_t)sizeof *header &&
	    status.st_size <= LARGEST_ENTRY && read_all(fd, header, sizeof *header) &&
	    header_is_sound(header, (uint64_t)status.st_size)) {
		size_t size = (size_t)status.st_size - sizeof *header;
		uint64_t hash[2];
		payload = malloc(size + 1);
		if (payload && read_all(fd, payload, size))
			payload_hash(payload, size, header, hash);
		if (!payload || memcmp(hash, header->payload_hash, sizeof hash)) {
			free(payload);
			payload = NULL;
		}
	}
	if (payload)
		futimens(fd, (struct timespec[2]){ { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } });
	close(fd);
	return payload;
}

static void *copy_of(const void *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);
	return copy ? memcpy(copy, bytes, size) : NULL;
}

static bool symbols_are_sound(const char *symbols, size_t size, uint32_t count)
{
	uint32_t found = 0;
	for (size_t i = 0; i < size; i++)
		found += !symbols[i];
	return found == count && (!size || !symbols[size - 1]);
}

bool cache_get(const struct cache_key *key, struct compile_result *result)
{
	char name[NAME_BYTES];
	struct entry_header header;
	bool missing = false;
	*result = (struct compile_result){ 0 };
	if (!cache_open())
		return false;
	entry_name(key, name);
	char *payload = entry_read(name, &header, &missing);
	if (missing)
		return false;
	const char *symbols = payload ? payload + header.kernel_bytes + header.target_bytes : NULL;
	if (!payload || memcmp(header.key, key->bytes, sizeof header.key) ||
	    !symbols_are_sound(symbols, header.symbols_bytes, header.info.symbol_count)) {
		log_warn("a damaged entry of the cache is discarded: %s", name);
		cache_remove(key);
		free(payload);
		return false;
	}
	result->info = header.info;
	result->symbols = copy_of(symbols, header.symbols_bytes);
	result->symbols_size = header.symbols_bytes;
	/* The object is nearly all there is: it stays where it was read to. */
	result->object = memmove(payload, symbols + header.symbols_bytes, header.object_bytes);
	result->object_size = header.object_bytes;
	if (result->symbols)
		return true;
	compile_result_fini(result);
	return false;
}

void cache_remove(const struct cache_key *key)
{
	char name[NAME_BYTES];
	if (!cache_open())
		return;
	entry_name(key, name);
	unlinkat(folder_fd, name, 0);
}

/* ---- writing ------------------------------------------------------------------------------------ */

static bool write_all(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t put = write(fd, (const char *)bytes + done, size - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

struct seen_entry {
	char name[NAME_BYTES];
	int64_t used;
	uint64_t bytes;
};

static int compare_used(const void *a, const void *b)
{
	const struct seen_entry *x = a, *y = b;
	return (x->used > y->used) - (x->used < y->used);
}

/* A directory stream of its own: the position of folder_fd is shared by all threads. */
static DIR *open_listing(void)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	if (!listing && fd >= 0)
		close(fd);
	return listing;
}

static bool is_stale(const struct stat *status)
{
	return time(NULL) - status->st_mtime > STALE_SECONDS;
}

/* Removes those unused for longest until three quarters of the limit are left, and what crashed writers left behind. */
static void trim(void)
{
	VEC(struct seen_entry) entries = { 0 };
	uint64_t total = 0, limit = cache_limit();
	DIR *listing = open_listing();
	struct dirent *file;
	while (listing && (file = readdir(listing))) {
		struct stat status;
		if (fstatat(folder_fd, file->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
			continue;
		if (!strncmp(file->d_name, "new-", 4) && is_stale(&status)) {
			unlinkat(folder_fd, file->d_name, 0);
		} else if (is_entry_name(file->d_name)) {
			struct seen_entry entry = { .used = status.st_mtime, .bytes = (uint64_t)status.st_blocks * 512 };
			memcpy(entry.name, file->d_name, sizeof entry.name);
			total += entry.bytes;
			if (!vec_push(&entries, entry))
				break;
		}
	}
	if (listing)
		closedir(listing);
	if (total > limit) {
		qsort(entries.data, entries.count, sizeof *entries.data, compare_used);
		for (size_t i = 0; i < entries.count && total > limit / 4 * 3; i++) {
			unlinkat(folder_fd, entries.data[i].name, 0);
			total -= entries.data[i].bytes;
		}
	}
	vec_fini(&entries);
}

/* Looks at the whole folder on the first entry written, and then after each sixteenth of the limit. */
static void trim_now_and_then(uint64_t bytes)
{
	static bool looked;
	pthread_mutex_lock(&trim_lock);
	written_since_look += bytes;
	bool due = !looked || written_since_look > cache_limit() / 16;
	if (due) {
		looked = true;
		written_since_look = 0;
		trim();
	}
	pthread_mutex_unlock(&trim_lock);
}

/* Beside its place, then renamed into it: others see the whole file or none. */
static bool file_write(const char *name, const void *head, size_t head_size, const void *body, size_t size)
{
	static _Atomic unsigned counter;
	char temporary[64];
	snprintf(temporary, sizeof temporary, "new-%d-%u-%08lx", (int)getpid(), counter++, (unsigned long)clock_ns() & 0xffffffff);
	int fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	bool ok = write_all(fd, head, head_size) && write_all(fd, body, size);
	ok = !close(fd) && ok;
	ok = ok && !renameat(folder_fd, temporary, folder_fd, name);
	if (!ok)
		unlinkat(folder_fd, temporary, 0);
	return ok;
}

static const char last_compiler[] = "compiler";

bool cache_last_compiler(char *identity, size_t size)
{
	int fd = cache_open() ? openat(folder_fd, last_compiler, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd < 0)
		return false;
	ssize_t length = read(fd, identity, size - 1);
	close(fd);
	identity[length > 0 ? length : 0] = 0;
	return length > 0;
}

static void remember_compiler(void)
{
	char last[128];
	const char *now = compiler_identity();
	if (!cache_last_compiler(last, sizeof last) || strcmp(last, now))
		file_write(last_compiler, now, strlen(now), "", 0);
}

void cache_put(const struct cache_key *key, const struct compile_result *result, const char *kernel, const char *target)
{
	char name[NAME_BYTES];
	if (!cache_open())
		return;
	struct entry_header header;
	memset(&header, 0, sizeof header);
	memcpy(header.magic, magic, sizeof magic);
	header.format = FORMAT;
	header.header_bytes = sizeof header;
	memcpy(header.key, key->bytes, sizeof header.key);
	header.kernel_bytes = strlen(kernel) + 1;
	header.target_bytes = strlen(target) + 1;
	header.symbols_bytes = result->symbols_size;
	header.object_bytes = result->object_size;
	header.info = result->info;
	struct text payload = { 0 };
	text_add(&payload, kernel, header.kernel_bytes);
	text_add(&payload, target, header.target_bytes);
	text_add(&payload, result->symbols ? result->symbols : "", result->symbols_size);
	text_add(&payload, result->object, result->object_size);
	size_t size = header.kernel_bytes + header.target_bytes + result->symbols_size + result->object_size;
	if (payload.count == size && size < LARGEST_ENTRY - sizeof header && size + sizeof header <= cache_limit()) {
		payload_hash(payload.data, size, &header, header.payload_hash);
		entry_name(key, name);
		if (file_write(name, &header, sizeof header, payload.data, size)) {
			remember_compiler();
			trim_now_and_then(size + sizeof header);
		} else {
			log_info("the cache cannot be written: %s: %s", folder, strerror(errno));
		}
	}
	text_fini(&payload);
}

/* ---- for the dragoman command -------------------------------------------------------------------- */

static bool see_entry(const char *name, const struct stat *status, bool (*see)(const struct cache_item *, void *), void *context)
{
	struct entry_header header;
	bool missing;
	struct stat before = *status;
	struct cache_item item = { .file = name, .kernel = "?", .target = "?", .bytes = (uint64_t)status->st_size };
	char *payload = entry_read(name, &header, &missing);
	item.damaged = !payload;
	item.used = before.st_mtime;
	if (payload && header.kernel_bytes && header.target_bytes && !payload[header.kernel_bytes - 1] &&
	    !payload[header.kernel_bytes + header.target_bytes - 1]) {
		item.kernel = payload;
		item.target = payload + header.kernel_bytes;
	}
	/* Looking is no use of it. */
	utimensat(folder_fd, name, (struct timespec[2]){ before.st_atim, before.st_mtim }, AT_SYMLINK_NOFOLLOW);
	bool go_on = missing || see(&item, context);
	free(payload);
	return go_on;
}

long cache_each(bool (*see)(const struct cache_item *item, void *context), void *context)
{
	long count = 0;
	DIR *listing = cache_open() ? open_listing() : NULL;
	struct dirent *file;
	if (!listing)
		return -1;
	while ((file = readdir(listing))) {
		struct stat status;
		if (!is_entry_name(file->d_name) || fstatat(folder_fd, file->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		count++;
		if (!see_entry(file->d_name, &status, see, context))
			break;
	}
	closedir(listing);
	return count;
}

long cache_clear(void)
{
	long count = 0;
	DIR *listing = cache_open() ? open_listing() : NULL;
	struct dirent *file;
	if (!listing)
		return -1;
	while ((file = readdir(listing))) {
		bool entry = is_entry_name(file->d_name);
		struct stat status;
		bool left_over = !strncmp(file->d_name, "new-", 4) && !fstatat(folder_fd, file->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
				 is_stale(&status);
		if ((entry || left_over || !strcmp(file->d_name, last_compiler)) && !unlinkat(folder_fd, file->d_name, 0))
			count += entry;
	}
	closedir(listing);
	return count;
}
