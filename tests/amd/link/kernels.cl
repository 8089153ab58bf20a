/* What the linker test links, made by clang for each target: code with every kind of relocation, symbol and section that LLVM makes of
 * kernels. -DPART chooses, so that there are several objects. */

#if PART == 0 /* one kernel that needs nothing: as Dragoman's own mostly are */

kernel void saxpy(global float *y, global const float *x, float a, uint n)
{
	size_t i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
	if (i < n)
		y[i] += a * x[i];
}

#elif PART == 1 /* constants beside the code, shared memory, several kernels */

constant float weights[64] = { 1, 2, 3, 5, 8, 13, 21, 34, 55 };
constant int rows[4][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 }, { 10, 11, 12 } };

kernel void weigh(global float *out, global const float *in)
{
	local float tile[256];
	uint t = __builtin_amdgcn_workitem_id_x();
	tile[t] = in[t];
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	out[t] = tile[255 - t] * weights[t & 63];
}

kernel void pick(global int *out, uint n)
{
	out[n & 7] = rows[n & 3][(n >> 2) % 3];
}

kernel void choose(global int *out, int which, int value)
{
	switch (which) {
	case 0: *out = value * 3; break;
	case 1: *out = value / 7; break;
	case 2: *out = value ^ 0x55; break;
	case 3: *out = value << 3; break;
	case 4: *out = -value; break;
	case 5: *out = 9; break;
	default: *out = 0;
	}
}

#elif PART == 2 /* variables: initialised, zero, found by name or only from here, and the addresses of others */

#define NAMED __attribute__((visibility("default")))
NAMED global int counter = 7;
NAMED global int zeros[1000];
global double pair[2] = { 0.5, 2.25 };
static global int hidden_counter = 3;
NAMED global int *global to_counter = &counter;
__attribute__((visibility("protected"))) global int *global into_zeros = &zeros[17];
static global int *global to_hidden = &hidden_counter;
constant int table[3] = { 10, 20, 30 };
constant int *constant to_table[2] = { &table[1], &table[2] };

kernel void count(global int *out, uint i)
{
	counter++;
	hidden_counter += counter;
	zeros[i & 511] = *to_counter + *to_hidden;
	out[0] = zeros[5] + *into_zeros + *to_table[i & 1];
	out[1] = (int)pair[i & 1];
}

#else /* functions that are called, also from one kernel to what another uses, through a pointer, and recursively */

#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

__attribute__((noinline, visibility("default"))) int triple(int x)
{
	return x * 3 + 1;
}
__attribute__((noinline)) static int ackermann(int m, int n)
{
	return m ? ackermann(m - 1, n ? ackermann(m, n - 1) : 1) : n + 1;
}
__attribute__((noinline)) static int half_of(int x)
{
	return x / 2;
}

kernel void call(global int *out, int n)
{
	*out = triple(n) + ackermann(2, n);
}

kernel void call_by_address(global int *out, int n)
{
	int (*which)(int) = n & 1 ? triple : half_of;
	*out = which(n);
}

#endif
