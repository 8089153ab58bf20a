"""CuPy's core, unmodified from PyPI, with NVRTC as its compiler: arrays, elementwise kernels, reductions, kernels of the program's
own, streams, events, pools, random numbers of its own kernels. Each result is compared with numpy's."""
import unittest

import cupy
import numpy as np


def same(actual, expected, **tolerance):
    np.testing.assert_allclose(cupy.asnumpy(actual), expected, **(tolerance or {'rtol': 1e-6}))


class Arrays(unittest.TestCase):
    def setUp(self):
        self.n = np.random.RandomState(1).rand(37, 53).astype(np.float32)
        self.c = cupy.asarray(self.n)

    def test_round_trip(self):
        for kind in '?bhilqBHILQefdFD':
            a = (np.arange(24) % 7).astype(kind).reshape(2, 3, 4)
            np.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(a)), a)

    def test_slices(self):
        same(self.c[3:30:4, ::-2], self.n[3:30:4, ::-2])
        same(self.c.T[5], self.n.T[5])
        self.c[2:5, 7] = -1
        self.n[2:5, 7] = -1
        same(self.c, self.n)

    def test_shapes(self):
        same(self.c.reshape(53, 37).transpose(), self.n.reshape(53, 37).transpose())
        same(cupy.concatenate([self.c, self.c], axis=1), np.concatenate([self.n, self.n], axis=1))
        same(cupy.stack([self.c, self.c + 1]), np.stack([self.n, self.n + 1]))
        same(cupy.broadcast_to(self.c[:1], (4, 53)), np.broadcast_to(self.n[:1], (4, 53)))

    def test_fancy_indices(self):
        rows = np.array([3, 1, 36, 3])
        same(self.c[cupy.asarray(rows)], self.n[rows])
        same(self.c[self.c > 0.5], self.n[self.n > 0.5])
        same(cupy.where(self.c > 0.5, self.c, 0), np.where(self.n > 0.5, self.n, 0))
        same(cupy.take(self.c, cupy.asarray(rows), axis=1), np.take(self.n, rows, axis=1))

    def test_ranges(self):
        same(cupy.arange(10, 100, 3), np.arange(10, 100, 3))
        same(cupy.linspace(0, 1, 17), np.linspace(0, 1, 17), rtol=1e-12, atol=1e-15)
        same(cupy.eye(5), np.eye(5))


class Elementwise(unittest.TestCase):
    def test_arithmetic(self):
        a, b = np.random.RandomState(2).rand(2, 1000) + 0.5
        for operation in ('add', 'subtract', 'multiply', 'divide', 'power', 'fmod', 'maximum', 'minimum', 'arctan2', 'hypot'):
            same(getattr(cupy, operation)(cupy.asarray(a), cupy.asarray(b)), getattr(np, operation)(a, b), rtol=1e-12)

    def test_functions(self):
        a = np.random.RandomState(3).rand(1000) * 0.9 + 0.05
        for function in ('sin', 'cos', 'tan', 'exp', 'log', 'sqrt', 'tanh', 'arcsin', 'expm1', 'log1p', 'floor', 'ceil', 'sign'):
            same(getattr(cupy, function)(cupy.asarray(a)), getattr(np, function)(a), rtol=1e-12, atol=1e-14)

    def test_single_and_half(self):
        a = np.random.RandomState(4).rand(1000)
        same(cupy.exp(cupy.asarray(a, cupy.float32)), np.exp(a.astype(np.float32)), rtol=1e-6)
        same(cupy.asarray(a, cupy.float16) * 2, a.astype(np.float16) * 2, rtol=1e-3)

    def test_integers(self):
        a, b = np.random.RandomState(5).randint(-1000, 1000, (2, 1000))
        b[b == 0] = 7
        for operation in ('bitwise_and', 'bitwise_xor', 'floor_divide', 'remainder', 'left_shift'):
            right = np.abs(b) % 20 if operation == 'left_shift' else b
            same(getattr(cupy, operation)(cupy.asarray(a), cupy.asarray(right)), getattr(np, operation)(a, right))

    def test_complex(self):
        a = np.random.RandomState(6).rand(100) + 1j
        same(cupy.abs(cupy.asarray(a)), np.abs(a), rtol=1e-12)
        same(cupy.exp(cupy.asarray(a)), np.exp(a), rtol=1e-12)

    def test_own_kernel(self):
        squared = cupy.ElementwiseKernel('T x, T y', 'T z', 'z = (x - y) * (x - y)', 'squared_difference')
        a, b = np.random.RandomState(7).rand(2, 333)
        same(squared(cupy.asarray(a), cupy.asarray(b)), (a - b) ** 2, rtol=1e-12)

    def test_fusion(self):
        @cupy.fuse()
        def fused(x, y):
            return cupy.sqrt(x * x + y * y)
        a, b = np.random.RandomState(8).rand(2, 333)
        same(fused(cupy.asarray(a), cupy.asarray(b)), np.hypot(a, b), rtol=1e-12)


class Reductions(unittest.TestCase):
    def setUp(self):
        self.n = np.random.RandomState(9).rand(40, 300)
        self.c = cupy.asarray(self.n)

    def test_sums(self):
        for axis in (None, 0, 1):
            for function in ('sum', 'mean', 'max', 'min', 'prod', 'std', 'argmax', 'argmin'):
                same(getattr(self.c, function)(axis=axis), getattr(self.n, function)(axis=axis), rtol=1e-10, atol=1e-300)

    def test_logic(self):
        self.assertTrue(bool((self.c < 2).all()))
        self.assertFalse(bool((self.c > 2).any()))
        self.assertEqual(int(cupy.count_nonzero(self.c > 0.5)), int(np.count_nonzero(self.n > 0.5)))

    def test_scans(self):
        same(cupy.cumsum(self.c.ravel()), np.cumsum(self.n.ravel()), rtol=1e-10)
        same(cupy.cumprod(self.c[0, :50]), np.cumprod(self.n[0, :50]), rtol=1e-10)

    def test_own_reduction(self):
        norm = cupy.ReductionKernel('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', 'length_of')
        same(norm(self.c, axis=1), np.sqrt((self.n ** 2).sum(axis=1)), rtol=1e-12)

    def test_sorting(self):
        same(cupy.sort(self.c, axis=1), np.sort(self.n, axis=1))
        same(cupy.argsort(self.c[0]), np.argsort(self.n[0]))
        same(cupy.unique(cupy.asarray([3, 1, 3, 2])), [1, 2, 3])

    def test_histogram(self):
        same(cupy.bincount(cupy.asarray([1, 1, 5])), [0, 2, 0, 0, 0, 1])


class Kernels(unittest.TestCase):
    def test_raw(self):
        kernel = cupy.RawKernel(r'''
            extern "C" __global__ void add(const float *x, const float *y, float *z) {
                int i = blockDim.x * blockIdx.x + threadIdx.x;
                z[i] = x[i] + y[i];
            }''', 'add')
        a, b = np.random.RandomState(10).rand(2, 640).astype(np.float32)
        out = cupy.zeros(640, cupy.float32)
        kernel((10,), (64,), (cupy.asarray(a), cupy.asarray(b), out))
        same(out, a + b)
        self.assertGreater(kernel.num_regs, 0)

    def test_module_of_templates(self):
        module = cupy.RawModule(code=r'''
            template<typename T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
            ''', name_expressions=['scale<float>', 'scale<long long>'], options=('-std=c++17',))
        a = cupy.arange(32, dtype=cupy.float32)
        module.get_function('scale<float>')((1,), (32,), (a, np.float32(3)))
        same(a, np.arange(32) * 3)
        b = cupy.arange(32, dtype=cupy.int64)
        module.get_function('scale<long long>')((1,), (32,), (b, 5))
        same(b, np.arange(32) * 5)

    def test_shared_memory(self):
        kernel = cupy.RawKernel(r'''
            extern "C" __global__ void turn(int *x) {
                extern __shared__ int s[];
                s[threadIdx.x] = x[threadIdx.x];
                __syncthreads();
                x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
            }''', 'turn')
        a = cupy.arange(256, dtype=cupy.int32)
        kernel((1,), (256,), (a,), shared_mem=1024)
        same(a, np.arange(256)[::-1])

    def test_constant(self):
        module = cupy.RawModule(code=r'''
            extern "C" { __constant__ float factor; __global__ void by(float *x) { x[threadIdx.x] *= factor; } }''')
        pointer = module.get_global('factor')
        cupy.ndarray((1,), cupy.float32, pointer)[...] = 4
        a = cupy.ones(8, cupy.float32)
        module.get_function('by')((1,), (8,), (a,))
        same(a, np.full(8, 4))


class Device(unittest.TestCase):
    def test_streams_and_events(self):
        stream, start, end = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event(), cupy.cuda.Event()
        with stream:
            start.record()
            a = cupy.arange(1000) * 2
            end.record()
        stream.synchronize()
        same(a, np.arange(1000) * 2)
        self.assertGreaterEqual(cupy.cuda.get_elapsed_time(start, end), 0)

    def test_pool(self):
        pool = cupy.get_default_memory_pool()
        a = cupy.zeros(1 << 20, cupy.uint8)
        self.assertGreaterEqual(pool.used_bytes(), 1 << 20)
        del a
        pool.free_all_blocks()

    def test_async_pool(self):
        with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
            same(cupy.ones(100).sum(), 100)

    def test_managed(self):
        with cupy.cuda.using_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc):
            same(cupy.arange(100).sum(), 4950)

    def test_pinned(self):
        memory = cupy.cuda.alloc_pinned_memory(400)
        array = np.frombuffer(memory, np.int32, 100)
        array[...] = np.arange(100)
        same(cupy.asarray(array), np.arange(100))

    def test_graph(self):
        stream = cupy.cuda.Stream(non_blocking=True)
        a = cupy.zeros(10)
        a += 0  # compiled before the capture
        with stream:
            stream.begin_capture()
            a += 1
            graph = stream.end_capture()
            for _ in range(3):
                graph.launch()
        stream.synchronize()
        same(a, np.full(10, 3))

    def test_properties(self):
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        self.assertEqual(properties['warpSize'], 32)
        self.assertGreaterEqual(int(cupy.cuda.Device().compute_capability), 80)
        self.assertTrue(cupy.cuda.is_available())


if __name__ == '__main__':
    unittest.main(verbosity=2)
