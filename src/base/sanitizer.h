/* Which sanitizer this is built with: gcc says it with a macro, clang 19 with a feature. */
#ifndef DRAGOMAN_BASE_SANITIZER_H
#define DRAGOMAN_BASE_SANITIZER_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#endif

#endif
