/* Damaged PTX crashes nothing: bytes changed, cut off, and words moved, dropped and doubled in the files
 * given as arguments, from a fixed seed, so that every run tests the same.
 *
 *     mutate_ptx FILE…        DRAGOMAN_TEST_MUTATIONS sets how many (10,000)
 */
#include "ptx_input.h"

static uint64_t random_state = 0x2545F4914F6CDD1D;

static size_t random_below(size_t limit) /* xorshift64* (Vigna 2016) */
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return limit ? (size_t)((random_state * UINT64_C(0x2545F4914F6CDD1D) >> 32) % limit) : 0;
}

static bool read_file(const char *path, struct text *out)
{
	char block[4096];
	size_t got;
	FILE *file = fopen(path, "rb");
	if (!file)
		return false;
	while ((got = fread(block, 1, sizeof block, file)) > 0)
		text_add(out, block, got);
	fclose(file);
	return true;
}

/* The word (or single mark) around or after a random place: its begin and length. */
static size_t random_word(const struct text *text, size_t *length)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%.";
	size_t begin = random_below(text->count);
	while (begin && strchr(letters, text->data[begin - 1]) && text->data[begin - 1])
		begin--;
	*length = strspn(text->data + begin, letters);
	if (!*length)
		*length = 1;
	if (begin + *length > text->count)
		*length = text->count - begin;
	return begin;
}

static void replace(struct text *text, size_t begin, size_t length, const char *with, size_t with_length)
{
	struct text out = { 0 };
	text_add(&out, text->data, begin);
	text_add(&out, with, with_length);
	text_add(&out, text->data + begin + length, text->count - begin - length);
	text_fini(text);
	*text = out;
}

static void mutate(struct text *text, const struct text *donor)
{
	static const char *const words[] = { "{",     "}",          "(",      ")",     "[",   "]",
					     ";",     ",",          ":",      "@",     "-",   "!",
					     "|",     ".reg",       ".b32",   "%r1",   "0",   "18446744073709551615",
					     "-1",    "0f3F800000", ".param", ".func", ".v8", "_",
					     "99999", "\"" };
	size_t a_length, b_length, a = random_word(text, &a_length);
	if (!text->count)
		return;
	switch (random_below(7)) {
	case 0:
		text->data[random_below(text->count)] ^= (char)(1 << random_below(8));
		break;
	case 1:
		text->data[random_below(text->count)] = (char)random_below(256);
		break;
	case 2:
		text->count = random_below(text->count);
		text->data[text->count] = 0;
		break;
	case 3: { /* one word instead of another */
		size_t b = random_word(donor, &b_length);
		replace(text, a, a_length, donor->data + b, b_length);
		break;
	}
	case 4:
		replace(text, a, a_length, "", 0);
		break;
	case 5: {
		const char *word = words[random_below(ARRAY_LENGTH(words))];
		replace(text, a, random_below(2) ? a_length : 0, word, strlen(word));
		break;
	}
	default: { /* a stretch of text doubled elsewhere */
		size_t begin = random_below(donor->count), length = random_below(200);
		if (length > donor->count - begin)
			length = donor->count - begin;
		replace(text, a, 0, donor->data + begin, length);
		break;
	}
	}
}

int main(int argc, char **argv)
{
	const char *setting = getenv("DRAGOMAN_TEST_MUTATIONS");
	long count = setting ? strtol(setting, NULL, 10) : 10000, modules = 0;
	struct text *seeds = calloc((size_t)argc, sizeof *seeds);
	int seed_count = 0;
	for (int i = 1; seeds && i < argc; i++)
		if (!read_file(argv[i], &seeds[seed_count++])) {
			fprintf(stderr, "cannot read %s\n", argv[i]);
			return 2;
		}
	for (int i = 0; i < seed_count; i++)
		if (!ptx_input_check(seeds[i].data, seeds[i].count)) {
			fprintf(stderr, "%s is to be good PTX\n", argv[i + 1]);
			return 1;
		}
	for (long i = 0; i < count && seed_count; i++) {
		struct text text = { 0 };
		const struct text *seed = &seeds[random_below((size_t)seed_count)];
		text_add(&text, seed->data, seed->count);
		for (size_t n = 1 + random_below(3); n--;)
			mutate(&text, &seeds[random_below((size_t)seed_count)]);
		modules += ptx_input_check(text.data, text.count);
		text_fini(&text);
	}
	for (int i = 0; i < seed_count; i++)
		text_fini(&seeds[i]);
	free(seeds);
	printf("%ld mutations of %d files: %ld were still PTX\n", count, seed_count, modules);
	return seed_count ? 0 : 2;
}
