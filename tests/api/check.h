/* Checks for the API tests: each failure is printed with its place, and the test's exit status is 1 where any failed.
 * 77 means that the test was skipped, with the reason as the last line. */
#ifndef DRAGOMAN_TEST_CHECK_H
#define DRAGOMAN_TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                        \
			check_failures++;                                                                              \
		}                                                                                                      \
	} while (0)

/* Both as long long: statuses, sizes, counts. */
#define CHECK_INT(actual, expected)                                                                                    \
	do {                                                                                                           \
		long long actual_ = (long long)(actual), expected_ = (long long)(expected);                            \
		if (actual_ != expected_) {                                                                            \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #actual, actual_,         \
				expected_);                                                                            \
			check_failures++;                                                                              \
		}                                                                                                      \
	} while (0)

#define CHECK_TEXT(actual, expected)                                                                                   \
	do {                                                                                                           \
		const char *actual_ = (actual), *expected_ = (expected);                                               \
		if (!actual_ || strcmp(actual_, expected_)) {                                                          \
			fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #actual,              \
				actual_ ? actual_ : "(null)", expected_);                                              \
			check_failures++;                                                                              \
		}                                                                                                      \
	} while (0)

#define CHECK_OK(call) CHECK_INT(call, 0)

static inline int check_end(void)
{
	if (check_failures)
		fprintf(stderr, "%d checks failed\n", check_failures);
	return check_failures != 0;
}

#endif
