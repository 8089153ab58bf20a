/* The cache of compiled kernels: what is put in comes out, keys tell everything apart that matters, damage is noticed, the folder
 * is private, the size bounded, several processes at once do no harm. Each test runs in a process of its own, because the folder
 * is chosen once in a program's life. */
#define _GNU_SOURCE
#include "cache/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

static char folder[64];

static int folder_begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/dragoman-cache-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("DRAGOMAN_CACHE_DIR", folder, 1);
	unsetenv("DRAGOMAN_CACHE_SIZE");
	unsetenv("DRAGOMAN_CACHE");
	return 0;
}

static int folder_end(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	return system(command);
}

/* In a child, whose failed assertions end it with a status of its own. */
static void in_child(void (*body)(void))
{
	int status;
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define NEED(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

static struct compile_options options = { .lanes = 32, .block = { 256, 1, 1 }, .cpu = "cpu", .features = "+a" };
static uint8_t text_hash[32] = { 1, 2, 3 };

static void make_key(struct cache_key *key, const char *kernel)
{
	struct cache_subject subject = { text_hash, kernel, &options, 77, 1 };
	cache_key_make(key, &subject);
}

static void put(const char *kernel, size_t size)
{
	struct cache_key key;
	struct compile_result result = { .info = { .abi = 1, .lanes = 32, .symbol_count = 2 }, .object_size = size, .symbols_size = 8 };
	result.object = malloc(size);
	result.symbols = malloc(8);
	memset(result.object, kernel[0], size);
	memcpy(result.symbols, "abc\0xyz", 8);
	make_key(&key, kernel);
	cache_put(&key, &result, kernel, "a CPU");
	compile_result_fini(&result);
}

static bool get(const char *kernel, size_t size)
{
	struct cache_key key;
	struct compile_result result;
	make_key(&key, kernel);
	if (!cache_get(&key, &result))
		return false;
	NEED(result.info.abi == 1 && result.info.lanes == 32 && result.info.symbol_count == 2);
	NEED(result.symbols_size == 8 && !memcmp(result.symbols, "abc\0xyz", 8));
	NEED(result.object_size == size);
	for (size_t i = 0; i < size; i++)
		NEED(((char *)result.object)[i] == kernel[0]);
	compile_result_fini(&result);
	return true;
}

/* But for "compiler", which is no entry. */
static long count_files(void)
{
	long count = 0;
	DIR *listing = opendir(folder);
	for (struct dirent *file; listing && (file = readdir(listing));)
		count += file->d_name[0] != '.' && strcmp(file->d_name, "compiler");
	if (listing)
		closedir(listing);
	return count;
}

static void check_round_trip(void)
{
	NEED(!get("k", 5000));
	put("k", 5000);
	NEED(get("k", 5000));
	NEED(!get("other", 5000));
	NEED(count_files() == 1);
	struct stat status;
	NEED(!stat(folder, &status) && (status.st_mode & 0777) == 0700);
}

static void check_second_process(void)
{
	NEED(get("k", 5000));
}

static void round_trip(void **state)
{
	(void)state;
	in_child(check_round_trip);
	in_child(check_second_process);
}

static void check_keys(void)
{
	struct cache_key base, key;
	struct compile_options changed;
	make_key(&base, "k");
#define DIFFERS(hash, kernel, features, abi, ...)                                                                      \
	changed = options;                                                                                             \
	__VA_ARGS__;                                                                                                   \
	cache_key_make(&key, &(struct cache_subject){ hash, kernel, &changed, features, abi });                        \
	NEED(memcmp(&key, &base, sizeof key))
	static const uint8_t other[32] = { 1, 2, 4 };
	DIFFERS(other, "k", 77, 1, (void)0);
	DIFFERS(text_hash, "l", 77, 1, (void)0);
	DIFFERS(text_hash, "k", 78, 1, (void)0);
	DIFFERS(text_hash, "k", 77, 2, (void)0);
	DIFFERS(text_hash, "k", 77, 1, changed.lanes = 1);
	DIFFERS(text_hash, "k", 77, 1, changed.vector = 8);
	DIFFERS(text_hash, "k", 77, 1, changed.opt_level = 2);
	DIFFERS(text_hash, "k", 77, 1, changed.small_grid = true);
	DIFFERS(text_hash, "k", 77, 1, changed.check_alignment = true);
	DIFFERS(text_hash, "k", 77, 1, changed.exact_products = true);
	DIFFERS(text_hash, "k", 77, 1, changed.fast_products = true);
	DIFFERS(text_hash, "k", 77, 1, changed.cluster = true);
	DIFFERS(text_hash, "k", 77, 1, changed.fibers = true);
	DIFFERS(text_hash, "k", 77, 1, (changed.block[0] = 1, changed.block[1] = 256));
	DIFFERS(text_hash, "k", 77, 1, changed.cpu = "cpu+a");
	DIFFERS(text_hash, "k", 77, 1, (changed.cpu = "cp", changed.features = "u+a"));
	DIFFERS(text_hash, "k", 77, 1, changed.features = NULL);
	DIFFERS(text_hash, "k", 77, 1, changed.target = "gfx1100");
	cache_key_make(&key, &(struct cache_subject){ text_hash, "k", &options, 77, 1 });
	NEED(!memcmp(&key, &base, sizeof key));
}

static void keys_differ(void **state)
{
	(void)state;
	in_child(check_keys);
}

/* Every byte of an entry matters, and so does its length. */
static void check_damage(void)
{
	enum { SIZE = 3000, ROUNDS = 3000 };
	char path[512] = { 0 };
	uint64_t random = 3;
	freopen("/dev/null", "w", stderr);
	for (int round = 0; round < ROUNDS; round++) {
		struct stat status;
		put("k", SIZE);
		NEED(count_files() == 1);
		if (!path[0]) {
			DIR *listing = opendir(folder);
			for (struct dirent *file; (file = readdir(listing));)
				if (file->d_name[0] != '.' && strcmp(file->d_name, "compiler"))
					snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
			closedir(listing);
		}
		NEED(!stat(path, &status));
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		off_t at = (off_t)((random >> 20) % (uint64_t)status.st_size);
		int fd = open(path, O_RDWR);
		uint8_t byte;
		if (round % 10 == 9) {
			NEED(!ftruncate(fd, at));
		} else {
			NEED(pread(fd, &byte, 1, at) == 1);
			byte ^= (uint8_t)(1u << (random >> 61));
			NEED(pwrite(fd, &byte, 1, at) == 1);
		}
		close(fd);
		NEED(!get("k", SIZE));
		NEED(count_files() == 0); /* gone, so that the next one can take its place */
	}
}

static void damage_is_noticed(void **state)
{
	(void)state;
	in_child(check_damage);
}

static void check_open_folder(void)
{
	const char *why = NULL;
	freopen("/dev/null", "w", stderr);
	NEED(!chmod(folder, 0770));
	put("k", 100);
	NEED(!get("k", 100));
	NEED(count_files() == 0);
	NEED(!cache_folder(&why) && !strcmp(why, "others can write to the folder"));
	NEED(cache_clear() == -1);
}

static void check_foreign_folder(void)
{
	const char *why = NULL;
	freopen("/dev/null", "w", stderr);
	setenv("DRAGOMAN_CACHE_DIR", getuid() ? "/usr" : folder, 1);
	if (!getuid())
		NEED(!chown(folder, 12345, 12345));
	NEED(!cache_folder(&why) && !strcmp(why, "the folder belongs to somebody else"));
	put("k", 100);
}

static void check_link(void)
{
	char path[128];
	const char *why;
	freopen("/dev/null", "w", stderr);
	snprintf(path, sizeof path, "%s/link", folder);
	NEED(!symlink(folder, path));
	setenv("DRAGOMAN_CACHE_DIR", path, 1);
	NEED(!cache_folder(&why));
}

static void check_switched_off(void)
{
	const char *why;
	setenv("DRAGOMAN_CACHE", "off", 1);
	NEED(!cache_folder(&why) && !strcmp(why, "switched off"));
}

static void check_default_folder(void)
{
	char want[128];
	const char *why;
	unsetenv("DRAGOMAN_CACHE_DIR");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", folder, 1);
	snprintf(want, sizeof want, "%s/.cache/dragoman", folder);
	NEED(!strcmp(cache_folder(&why), want));
	put("k", 100);
	NEED(get("k", 100));
}

/* A limit on the size of files stands for a full disk. */
static void check_full_disk(void)
{
	struct rlimit limit = { 2000, 2000 };
	signal(SIGXFSZ, SIG_IGN);
	NEED(!setrlimit(RLIMIT_FSIZE, &limit));
	put("large", 5000);
	NEED(!get("large", 5000));
	NEED(count_files() == 0); /* nor is a part of it left */
	put("small", 100);
	NEED(get("small", 100));
}

static void check_folder_removed(void)
{
	put("k", 100);
	NEED(cache_clear() == 2 && !rmdir(folder)); /* with the small one of before */
	put("k", 100);
	NEED(!get("k", 100));
}

static void folders(void **state)
{
	(void)state;
	in_child(check_open_folder);
	chmod(folder, 0700);
	in_child(check_foreign_folder);
	if (!getuid())
		assert_int_equal(chown(folder, 0, 0), 0);
	in_child(check_link);
	in_child(check_switched_off);
	in_child(check_default_folder);
}

static void failing_writes(void **state)
{
	(void)state;
	in_child(check_full_disk);
	in_child(check_folder_removed);
}

static void check_bound(void)
{
	char name[16];
	setenv("DRAGOMAN_CACHE_SIZE", "1M", 1);
	NEED(cache_limit() == 1 << 20);
	put("first", 20000);
	for (int i = 0; i < 200; i++) {
		struct timespec old[2] = { { .tv_sec = 1000000 + i }, { .tv_sec = 1000000 + i } };
		struct cache_key key;
		char path[160];
		snprintf(name, sizeof name, "n%d", i);
		put(name, 20000);
		/* Its age, as if they had been made long ago, one a second. */
		make_key(&key, name);
		int used = snprintf(path, sizeof path, "%s/", folder);
		for (int k = 0; k < 32; k++)
			used += snprintf(path + used, sizeof path - (size_t)used, "%02x", key.bytes[k]);
		utimensat(AT_FDCWD, path, old, 0);
		NEED(get("first", 20000)); /* in use all the time: must stay */
	}
	long left = count_files();
	NEED(left >= 30 && left <= 56); /* 20,480 bytes each on disk at least; 1 MiB and a sixteenth at most */
	NEED(get("n199", 20000));
	NEED(!get("n0", 20000));
	setenv("DRAGOMAN_CACHE_SIZE", "12X", 1);
	freopen("/dev/null", "w", stderr);
	NEED(cache_limit() == 1 << 30);
}

static void size_is_bounded(void **state)
{
	(void)state;
	in_child(check_bound);
}

static bool see(const struct cache_item *item, void *context)
{
	int *seen = context;
	seen[0]++;
	seen[1] += item->damaged;
	seen[2] += !strcmp(item->kernel, "_Z6kernelv") && !strcmp(item->target, "a CPU") && item->bytes > 1000;
	return true;
}

static void check_listing(void)
{
	char path[160];
	int seen[3] = { 0 };
	put("_Z6kernelv", 1000);
	put("b", 1000);
	snprintf(path, sizeof path, "%s/%064d", folder, 5);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof path, "%s/README", folder);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	NEED(cache_each(see, seen) == 3);
	NEED(seen[0] == 3 && seen[1] == 1 && seen[2] == 1);
	NEED(cache_clear() == 3);
	NEED(count_files() == 1); /* what is not ours stays */
}

static void listing_and_clearing(void **state)
{
	(void)state;
	in_child(check_listing);
}

static void check_racing(void)
{
	char name[8];
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "%c", 'a' + i % 7);
		put(name, 40000);
		get(name, 40000); /* either whole or not there */
	}
}

static void several_processes(void **state)
{
	pid_t children[4];
	(void)state;
	fflush(NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(children); i++) {
		children[i] = fork();
		if (!children[i]) {
			check_racing();
			_exit(0);
		}
	}
	for (size_t i = 0; i < ARRAY_LENGTH(children); i++) {
		int status;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_files(), 7);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, folder_begin, folder_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(round_trip),
		TEST(keys_differ),
		TEST(damage_is_noticed),
		TEST(folders),
		TEST(failing_writes),
		TEST(size_is_bounded),
		TEST(listing_and_clearing),
		TEST(several_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
