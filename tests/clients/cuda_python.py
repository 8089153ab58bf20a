"""cuda.bindings of PyPI, unmodified: the driver API, the runtime that is linked into it, and NVRTC as the compiler. Each result is
compared with what numpy or the manual says."""
import ctypes
import os
import unittest

import numpy as np
from cuda.bindings import driver, nvrtc, runtime

SOURCE = b'''
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
__device__ int counter = 3;
extern "C" __global__ void count() { atomicAdd(&counter, 1); }
extern "C" __global__ void block_sum(const int *in, int *out)
{
    extern __shared__ int part[];
    part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (!threadIdx.x)
        out[blockIdx.x] = part[0];
}
'''


def good(result):
    """What a call returns beside its status, which must be success."""
    assert int(result[0]) == 0, result[0]
    return result[1] if len(result) == 2 else result[1:] if len(result) > 2 else None


def compiled():
    program = good(nvrtc.nvrtcCreateProgram(SOURCE, b'kernels.cu', 0, [], []))
    options = [b'--gpu-architecture=compute_80']
    status, = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status):
        log = b' ' * good(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise AssertionError(log.decode())
    ptx = b' ' * good(nvrtc.nvrtcGetPTXSize(program))
    good(nvrtc.nvrtcGetPTX(program, ptx))
    good(nvrtc.nvrtcDestroyProgram(program))
    return ptx


class Driver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        good(driver.cuInit(0))
        cls.device = good(driver.cuDeviceGet(0))
        cls.context = good(driver.cuDevicePrimaryCtxRetain(cls.device))
        good(driver.cuCtxSetCurrent(cls.context))
        cls.module = good(driver.cuModuleLoadData(np.char.array(compiled())))

    @classmethod
    def tearDownClass(cls):
        good(driver.cuModuleUnload(cls.module))
        good(driver.cuDevicePrimaryCtxRelease(cls.device))

    def function(self, name):
        return good(driver.cuModuleGetFunction(self.module, name))

    def to_device(self, array):
        pointer = good(driver.cuMemAlloc(array.nbytes))
        good(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
        return pointer

    def test_device(self):
        attribute = driver.CUdevice_attribute
        self.assertEqual(good(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE, self.device)), 32)
        self.assertTrue(good(driver.cuDeviceGetName(64, self.device)).strip(b'\0'))
        self.assertEqual(int(driver.cuDeviceGet(99)[0]), 101)

    def test_saxpy(self):
        n = 1000
        x, y, out = (np.random.rand(n).astype(np.float32) for _ in range(3))
        places = [self.to_device(a) for a in (x, y, out)]
        values = (2.5, *places, n)
        types = (ctypes.c_float, None, None, None, ctypes.c_int)
        stream = good(driver.cuStreamCreate(0))
        good(driver.cuLaunchKernel(self.function(b'saxpy'), 4, 1, 1, 256, 1, 1, 0, stream, (values, types), 0))
        good(driver.cuMemcpyDtoHAsync(out.ctypes.data, places[2], out.nbytes, stream))
        good(driver.cuStreamSynchronize(stream))
        np.testing.assert_allclose(out, np.float32(2.5) * x + y, rtol=1e-6)
        for place in places:
            good(driver.cuMemFree(place))
        good(driver.cuStreamDestroy(stream))

    def test_shared_memory(self):
        data, out = np.arange(1024, dtype=np.int32), np.zeros(8, np.int32)
        source, result = self.to_device(data), self.to_device(out)
        good(driver.cuLaunchKernel(self.function(b'block_sum'), 8, 1, 1, 128, 1, 1, 128 * 4, 0,
                                   ((source, result), (None, None)), 0))
        good(driver.cuMemcpyDtoH(out.ctypes.data, result, out.nbytes))
        np.testing.assert_array_equal(out, data.reshape(8, 128).sum(axis=1))
        good(driver.cuMemFree(source))
        good(driver.cuMemFree(result))

    def test_global_variable(self):
        place, size = good(driver.cuModuleGetGlobal(self.module, b'counter'))
        self.assertEqual(size, 4)
        good(driver.cuLaunchKernel(self.function(b'count'), 2, 1, 1, 50, 1, 1, 0, 0, 0, 0))
        value = np.zeros(1, np.int32)
        good(driver.cuMemcpyDtoH(value.ctypes.data, place, 4))
        self.assertEqual(value[0], 103)

    def test_statuses(self):
        self.assertEqual(driver.cuMemFree(12345)[0], driver.CUresult.CUDA_ERROR_INVALID_VALUE)
        self.assertEqual(driver.cuModuleGetFunction(self.module, b'nothing')[0], driver.CUresult.CUDA_ERROR_NOT_FOUND)
        self.assertEqual(good(driver.cuGetErrorName(driver.CUresult.CUDA_ERROR_INVALID_VALUE)), b'CUDA_ERROR_INVALID_VALUE')

    def test_pointers(self):
        attribute = driver.CUpointer_attribute
        place = good(driver.cuMemAlloc(256))
        kind = good(driver.cuPointerGetAttribute(attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place))
        self.assertEqual(kind, driver.CUmemorytype.CU_MEMORYTYPE_DEVICE)
        good(driver.cuMemFree(place))

    def test_linker(self):
        state = good(driver.cuLinkCreate(0, [], []))
        ptx = compiled()
        good(driver.cuLinkAddData(state, driver.CUjitInputType.CU_JIT_INPUT_PTX, ptx, len(ptx), b'kernels', 0, [], []))
        image, _size = good(driver.cuLinkComplete(state))
        module = good(driver.cuModuleLoadData(image))
        good(driver.cuModuleGetFunction(module, b'saxpy'))
        good(driver.cuModuleUnload(module))
        good(driver.cuLinkDestroy(state))


class Runtime(unittest.TestCase):
    def test_copies(self):
        data, back = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint8)
        place = good(runtime.cudaMalloc(256))
        kinds = runtime.cudaMemcpyKind
        good(runtime.cudaMemcpy(place, data.ctypes.data, 256, kinds.cudaMemcpyHostToDevice))
        good(runtime.cudaMemset(place, 7, 16))
        good(runtime.cudaMemcpy(back.ctypes.data, place, 256, kinds.cudaMemcpyDeviceToHost))
        data[:16] = 7
        np.testing.assert_array_equal(back, data)
        good(runtime.cudaFree(place))

    def test_properties(self):
        properties = good(runtime.cudaGetDeviceProperties(0))
        self.assertEqual(properties.warpSize, 32)
        self.assertGreaterEqual(properties.major, 8)
        self.assertEqual(good(runtime.cudaDeviceGetAttribute(runtime.cudaDeviceAttr.cudaDevAttrMultiProcessorCount, 0)),
                         properties.multiProcessorCount)

    def test_graph(self):
        graph = good(runtime.cudaGraphCreate(0))
        first = good(runtime.cudaGraphAddEmptyNode(graph, None, 0))
        good(runtime.cudaGraphAddEmptyNode(graph, [first], 1))
        self.assertEqual(good(runtime.cudaGraphGetNodes(graph))[1], 2)
        executable = good(runtime.cudaGraphInstantiate(graph, 0))
        stream = good(runtime.cudaStreamCreate())
        good(runtime.cudaGraphLaunch(executable, stream))
        good(runtime.cudaStreamSynchronize(stream))
        good(runtime.cudaGraphExecDestroy(executable))
        good(runtime.cudaGraphDestroy(graph))
        good(runtime.cudaStreamDestroy(stream))

    def test_pool(self):
        properties = runtime.cudaMemPoolProps()
        properties.allocType = runtime.cudaMemAllocationType.cudaMemAllocationTypePinned
        properties.location.type = runtime.cudaMemLocationType.cudaMemLocationTypeDevice
        properties.location.id = 0
        pool = good(runtime.cudaMemPoolCreate(properties))
        attribute = runtime.cudaMemPoolAttr.cudaMemPoolAttrReleaseThreshold
        good(runtime.cudaMemPoolSetAttribute(pool, attribute, driver.cuuint64_t(4096)))
        self.assertEqual(int(good(runtime.cudaMemPoolGetAttribute(pool, attribute))), 4096)
        good(runtime.cudaMemPoolDestroy(pool))

    def test_events(self):
        start, end = good(runtime.cudaEventCreate()), good(runtime.cudaEventCreate())
        good(runtime.cudaEventRecord(start, 0))
        good(runtime.cudaEventRecord(end, 0))
        good(runtime.cudaEventSynchronize(end))
        self.assertGreaterEqual(good(runtime.cudaEventElapsedTime(start, end)), 0)

    def test_last_error(self):
        self.assertEqual(runtime.cudaSetDevice(99)[0], runtime.cudaError_t.cudaErrorInvalidDevice)
        self.assertEqual(runtime.cudaGetLastError()[0], runtime.cudaError_t.cudaErrorInvalidDevice)
        self.assertEqual(runtime.cudaGetLastError()[0], runtime.cudaError_t.cudaSuccess)


if __name__ == '__main__':
    os.environ.pop('CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM', None)
    unittest.main(verbosity=2)
