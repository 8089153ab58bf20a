/* Arrays, channel descriptors, and what texture and surface objects say of themselves. Expectations: CUDA Runtime API
 * reference manual, "Texture Object Management", "Memory Management". For libcudart.so.13 and libcudart.so.12. */
#include <cuda_runtime_api.h>

#include "check.h"

static void test_arrays(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 32, 0, 0, cudaChannelFormatKindFloat), found;
	struct cudaExtent extent;
	unsigned flags = 9;
	cudaArray_t array;
	float in[8 * 4 * 2], out[8 * 4 * 2];
	for (int i = 0; i < 64; i++)
		in[i] = (float)i;
	CHECK_OK(cudaMallocArray(&array, &desc, 8, 4, cudaArrayDefault));
	CHECK_OK(cudaArrayGetInfo(&found, &extent, &flags, array));
	CHECK(found.x == 32 && found.y == 32 && found.z == 0 && found.w == 0);
	CHECK_INT(found.f, cudaChannelFormatKindFloat);
	CHECK(extent.width == 8 && extent.height == 4 && extent.depth == 0);
	CHECK_INT(flags, 0);
	CHECK_OK(cudaMemcpy2DToArray(array, 0, 0, in, 64, 64, 4, cudaMemcpyHostToDevice));
	memset(out, 0, sizeof out);
	/* Two elements of eight bytes from the second column of rows 1 and 2. */
	CHECK_OK(cudaMemcpy2DFromArray(out, 16, array, 8, 1, 16, 2, cudaMemcpyDeviceToHost));
	CHECK(out[0] == 18.0f && out[3] == 21.0f && out[4] == 34.0f && out[7] == 37.0f && out[8] == 0.0f);
	/* 1D copies go on in the next row: 24 bytes from byte 56 of row 0. */
	memset(out, 0, sizeof out);
	CHECK_OK(cudaMemcpyFromArray(out, array, 56, 0, 24, cudaMemcpyDeviceToHost));
	CHECK(out[0] == 14.0f && out[1] == 15.0f && out[2] == 16.0f && out[5] == 19.0f);
	CHECK_INT(cudaMemcpy2DToArray(array, 0, 0, in, 64, 65, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
	CHECK_INT(cudaMemcpy2DToArray(array, 8, 0, in, 64, 64, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_OK(cudaFreeArray(array));
	CHECK_OK(cudaFreeArray(NULL));
	desc.z = 32;
	CHECK_INT(cudaMallocArray(&array, &desc, 8, 4, 0), cudaErrorInvalidChannelDescriptor); /* three channels */
	desc = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
	CHECK_INT(cudaMallocArray(&array, &desc, 8, 4, 0), cudaErrorInvalidChannelDescriptor);
	cudaGetLastError();
}

/* Extents of copies with arrays are in elements. */
static void test_volume(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindSigned);
	short in[3][4][5], out[3][4][5];
	cudaArray_t array;
	struct cudaMemcpy3DParms copy = { 0 };
	for (int i = 0; i < 60; i++)
		(&in[0][0][0])[i] = (short)(i - 30);
	memset(out, 0, sizeof out);
	CHECK_OK(cudaMalloc3DArray(&array, &desc, (struct cudaExtent){ 5, 4, 3 }, cudaArrayDefault));
	copy.srcPtr = (struct cudaPitchedPtr){ in, 10, 5, 4 };
	copy.dstArray = array;
	copy.extent = (struct cudaExtent){ 5, 4, 3 };
	copy.kind = cudaMemcpyHostToDevice;
	CHECK_OK(cudaMemcpy3D(&copy));
	memset(&copy, 0, sizeof copy);
	copy.srcArray = array;
	copy.srcPos = (struct cudaPos){ 2, 1, 1 };
	copy.dstPtr = (struct cudaPitchedPtr){ out, 10, 5, 4 };
	copy.dstPos = (struct cudaPos){ 2, 0, 0 }; /* bytes: the second short */
	copy.extent = (struct cudaExtent){ 3, 2, 2 };
	copy.kind = cudaMemcpyDeviceToHost;
	CHECK_OK(cudaMemcpy3D(&copy));
	for (int z = 0; z < 2; z++)
		for (int y = 0; y < 2; y++)
			for (int x = 0; x < 3; x++)
				CHECK_INT(out[z][y][x + 1], in[z + 1][y + 1][x + 2]);
	CHECK_INT(out[0][0][0], 0);
	CHECK_OK(cudaFreeArray(array));
}

static void test_objects(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
	struct cudaResourceDesc resource = { .resType = cudaResourceTypeArray }, found_resource;
	struct cudaTextureDesc texture = { .addressMode = { cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap },
					   .filterMode = cudaFilterModeLinear,
					   .readMode = cudaReadModeNormalizedFloat,
					   .borderColor = { 1.0f, 0.5f, 0.25f, 0.125f },
					   .normalizedCoords = 1 },
			       found;
	cudaTextureObject_t object = 0, second = 0;
	cudaArray_t array;
	void *memory;
	CHECK_OK(cudaMallocArray(&array, &desc, 16, 16, cudaArraySurfaceLoadStore));
	resource.res.array.array = array;
	CHECK_OK(cudaCreateTextureObject(&object, &resource, &texture, NULL));
	CHECK_OK(cudaGetTextureObjectTextureDesc(&found, object));
	CHECK_INT(found.filterMode, cudaFilterModeLinear);
	CHECK_INT(found.readMode, cudaReadModeNormalizedFloat);
	CHECK_INT(found.addressMode[1], cudaAddressModeBorder);
	CHECK_INT(found.normalizedCoords, 1);
	CHECK(found.borderColor[3] == 0.125f);
	CHECK_OK(cudaGetTextureObjectResourceDesc(&found_resource, object));
	CHECK_INT(found_resource.resType, cudaResourceTypeArray);
	CHECK(found_resource.res.array.array == array);
	CHECK_OK(cudaDestroyTextureObject(object));
	CHECK_OK(cudaDestroyTextureObject(0));

	texture.readMode = cudaReadModeElementType; /* integers as they are cannot be filtered */
	CHECK_INT(cudaCreateTextureObject(&second, &resource, &texture, NULL), cudaErrorInvalidFilterSetting);
	texture.filterMode = cudaFilterModePoint;
	CHECK_OK(cudaCreateTextureObject(&second, &resource, &texture, NULL));
	CHECK_OK(cudaDestroyTextureObject(second));

	CHECK_OK(cudaMalloc(&memory, 4096));
	memset(&resource, 0, sizeof resource);
	resource.resType = cudaResourceTypeLinear;
	resource.res.linear.devPtr = memory;
	resource.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
	resource.res.linear.sizeInBytes = 4096;
	memset(&texture, 0, sizeof texture);
	texture.readMode = cudaReadModeNormalizedFloat; /* 32-bit integers have no normalized form */
	CHECK_INT(cudaCreateTextureObject(&object, &resource, &texture, NULL), cudaErrorInvalidNormSetting);
	texture.readMode = cudaReadModeElementType;
	CHECK_OK(cudaCreateTextureObject(&object, &resource, &texture, NULL));
	CHECK_OK(cudaGetTextureObjectResourceDesc(&found_resource, object));
	CHECK_INT(found_resource.resType, cudaResourceTypeLinear);
	CHECK(found_resource.res.linear.devPtr == memory);
	CHECK_INT(found_resource.res.linear.desc.x, 32);
	CHECK_INT(found_resource.res.linear.desc.f, cudaChannelFormatKindSigned);
	CHECK_OK(cudaDestroyTextureObject(object));
	CHECK_INT(cudaCreateTextureObject(NULL, &resource, &texture, NULL), cudaErrorInvalidValue);
	CHECK_OK(cudaFree(memory));

	cudaSurfaceObject_t surface = 0;
	memset(&resource, 0, sizeof resource);
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	CHECK_OK(cudaCreateSurfaceObject(&surface, &resource));
	CHECK_OK(cudaGetSurfaceObjectResourceDesc(&found_resource, surface));
	CHECK(found_resource.res.array.array == array);
	CHECK_OK(cudaDestroySurfaceObject(surface));
	resource.resType = cudaResourceTypeLinear;
	CHECK(cudaCreateSurfaceObject(&surface, &resource) != cudaSuccess);
	cudaGetLastError();
	CHECK_OK(cudaFreeArray(array));
}

int main(void)
{
	test_arrays();
	test_volume();
	test_objects();
	return check_end();
}
