/* The short vector types of CUDA C++ (CUDA C++ Programming Guide, "Built-in vector types"; its
 * table of alignments), and dim3. */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__

#include "host_defines.h"

/* Vectors of one, two, three and four `type`; those of two and four have alignments of their own. */
#define DRAGOMAN_VECTOR(name, type, align2, align4)                                                \
	struct name##1 {                                                                           \
		type x;                                                                            \
	};                                                                                         \
	struct __align__(align2) name##2 {                                                         \
		type x, y;                                                                         \
	};                                                                                         \
	struct name##3 {                                                                           \
		type x, y, z;                                                                      \
	};                                                                                         \
	struct __align__(align4) name##4 {                                                         \
		type x, y, z, w;                                                                   \
	};                                                                                         \
	typedef struct name##1 name##1;                                                            \
	typedef struct name##2 name##2;                                                            \
	typedef struct name##3 name##3;                                                            \
	typedef struct name##4 name##4;

/* Vectors of four 64-bit elements come in two alignments, named by them, since CUDA 13. */
#define DRAGOMAN_VECTOR4_ALIGNED(name, type)                                                       \
	struct __align__(16) name##4_16a {                                                         \
		type x, y, z, w;                                                                   \
	};                                                                                         \
	struct __align__(32) name##4_32a {                                                         \
		type x, y, z, w;                                                                   \
	};                                                                                         \
	typedef struct name##4_16a name##4_16a;                                                    \
	typedef struct name##4_32a name##4_32a;

DRAGOMAN_VECTOR(char, signed char, 2, 4)
DRAGOMAN_VECTOR(uchar, unsigned char, 2, 4)
DRAGOMAN_VECTOR(short, short, 4, 8)
DRAGOMAN_VECTOR(ushort, unsigned short, 4, 8)
DRAGOMAN_VECTOR(int, int, 8, 16)
DRAGOMAN_VECTOR(uint, unsigned int, 8, 16)
DRAGOMAN_VECTOR(float, float, 8, 16)
DRAGOMAN_VECTOR(longlong, long long int, 16, 16)
DRAGOMAN_VECTOR(ulonglong, unsigned long long int, 16, 16)
DRAGOMAN_VECTOR(double, double, 16, 16)
#ifdef _WIN32 /* where long has 32 bits */
DRAGOMAN_VECTOR(long, long int, 8, 16)
DRAGOMAN_VECTOR(ulong, unsigned long int, 8, 16)
#else
DRAGOMAN_VECTOR(long, long int, 16, 16)
DRAGOMAN_VECTOR(ulong, unsigned long int, 16, 16)
#endif
DRAGOMAN_VECTOR4_ALIGNED(long, long int)
DRAGOMAN_VECTOR4_ALIGNED(ulong, unsigned long int)
DRAGOMAN_VECTOR4_ALIGNED(longlong, long long int)
DRAGOMAN_VECTOR4_ALIGNED(ulonglong, unsigned long long int)
DRAGOMAN_VECTOR4_ALIGNED(double, double)

#undef DRAGOMAN_VECTOR
#undef DRAGOMAN_VECTOR4_ALIGNED

struct dim3 {
	unsigned int x, y, z;
#ifdef __cplusplus
	__host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
		: x(vx), y(vy), z(vz)
	{
	}
	__host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
	{
	}
	__host__ __device__ constexpr operator uint3() const
	{
		return uint3{ x, y, z };
	}
#endif
};
typedef struct dim3 dim3;

#endif
