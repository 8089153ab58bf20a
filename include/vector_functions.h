/* make_int2() and its like (CUDA C++ Programming Guide, "Built-in vector types"). */
#ifndef __VECTOR_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

#define DRAGOMAN_MAKE_VECTOR(name, type)                                                           \
	static __inline__ __host__ __device__ name##1 make_##name##1(type x)                       \
	{                                                                                          \
		name##1 v = { x };                                                                 \
		return v;                                                                          \
	}                                                                                          \
	static __inline__ __host__ __device__ name##2 make_##name##2(type x, type y)               \
	{                                                                                          \
		name##2 v = { x, y };                                                              \
		return v;                                                                          \
	}                                                                                          \
	static __inline__ __host__ __device__ name##3 make_##name##3(type x, type y, type z)       \
	{                                                                                          \
		name##3 v = { x, y, z };                                                           \
		return v;                                                                          \
	}                                                                                          \
	static __inline__ __host__ __device__ name##4 make_##name##4(type x, type y, type z,       \
								     type w)                       \
	{                                                                                          \
		name##4 v = { x, y, z, w };                                                        \
		return v;                                                                          \
	}

#define DRAGOMAN_MAKE_VECTOR4(name, type)                                                          \
	static __inline__ __host__ __device__ name make_##name(type x, type y, type z, type w)     \
	{                                                                                          \
		name v = { x, y, z, w };                                                           \
		return v;                                                                          \
	}

DRAGOMAN_MAKE_VECTOR(char, signed char)
DRAGOMAN_MAKE_VECTOR(uchar, unsigned char)
DRAGOMAN_MAKE_VECTOR(short, short)
DRAGOMAN_MAKE_VECTOR(ushort, unsigned short)
DRAGOMAN_MAKE_VECTOR(int, int)
DRAGOMAN_MAKE_VECTOR(uint, unsigned int)
DRAGOMAN_MAKE_VECTOR(long, long int)
DRAGOMAN_MAKE_VECTOR(ulong, unsigned long int)
DRAGOMAN_MAKE_VECTOR(float, float)
DRAGOMAN_MAKE_VECTOR(longlong, long long int)
DRAGOMAN_MAKE_VECTOR(ulonglong, unsigned long long int)
DRAGOMAN_MAKE_VECTOR(double, double)
DRAGOMAN_MAKE_VECTOR4(long4_16a, long int)
DRAGOMAN_MAKE_VECTOR4(long4_32a, long int)
DRAGOMAN_MAKE_VECTOR4(ulong4_16a, unsigned long int)
DRAGOMAN_MAKE_VECTOR4(ulong4_32a, unsigned long int)
DRAGOMAN_MAKE_VECTOR4(longlong4_16a, long long int)
DRAGOMAN_MAKE_VECTOR4(longlong4_32a, long long int)
DRAGOMAN_MAKE_VECTOR4(ulonglong4_16a, unsigned long long int)
DRAGOMAN_MAKE_VECTOR4(ulonglong4_32a, unsigned long long int)
DRAGOMAN_MAKE_VECTOR4(double4_16a, double)
DRAGOMAN_MAKE_VECTOR4(double4_32a, double)

#undef DRAGOMAN_MAKE_VECTOR
#undef DRAGOMAN_MAKE_VECTOR4

#endif
