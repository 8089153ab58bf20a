/* Profiler control of the driver API; cuProfilerStart() and cuProfilerStop() are in cuda.h too. */
#ifndef CUDA_PROFILER_H
#define CUDA_PROFILER_H

#include "cuda.h"

#endif
