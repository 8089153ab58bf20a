/* What the examples share: a check that names the failing call, and the last line. */
#ifndef DRAGOMAN_EXAMPLE_H
#define DRAGOMAN_EXAMPLE_H

#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		cudaError_t status_ = (call);                                                                          \
		if (status_ != cudaSuccess) {                                                                          \
			std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call,                        \
				     cudaGetErrorString(status_), cudaGetErrorName(status_));                          \
			std::exit(2);                                                                                  \
		}                                                                                                      \
	} while (0)

/* A launch reports nothing itself: bad configurations come from cudaGetLastError, faults from the synchronisation. */
#define CHECK_LAUNCH()                                                                                                 \
	do {                                                                                                           \
		CHECK(cudaGetLastError());                                                                             \
		CHECK(cudaDeviceSynchronize());                                                                        \
	} while (0)

static inline int finish(const char *name, bool right)
{
	std::printf("%s: %s\n", name, right ? "PASS" : "FAIL");
	return right ? 0 : 1;
}

#endif
