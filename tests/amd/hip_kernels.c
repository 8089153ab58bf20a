/* The kernels of test_hip.c. */
typedef unsigned int u32;
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define THREAD (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())

__attribute__((visibility("protected"))) GLOBAL u32 variable[3] = { 11, 22, 33 };

KERNEL fill(GLOBAL u32 *out, u32 value, u32 count)
{
	u32 i = THREAD;

	if (i < count) out[i] = value;
}

KERNEL spin(GLOBAL u32 *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) __builtin_amdgcn_s_sleep(1);
}

KERNEL fault(GLOBAL u32 *out, u32 value, u32 count)
{
	out[(1ul << 40) + count] = value;
}

KERNEL trapping(GLOBAL u32 *out, u32 value, u32 count)
{
	if (value && count) __builtin_trap();
	out[0] = 1;
}

KERNEL counted(GLOBAL u32 *counter, u32 blocks)
{
	if (__builtin_amdgcn_workitem_id_x()) return;
	__atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < blocks) __builtin_amdgcn_s_sleep(1);
}

KERNEL shared_kernel(GLOBAL u32 *out, u32 value, u32 count)
{
	static SHARED u32 words[256] __attribute__((loader_uninitialized));

	words[__builtin_amdgcn_workitem_id_x()] = value;
	out[0] = words[count & 255];
}
