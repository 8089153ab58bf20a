/* What examples/vector_add.cu does, without a device: the work that its warm start is measured against. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes)
{
	void *memory = malloc(bytes);
	if (!memory)
		exit(2);
	return memory;
}

int main(void)
{
	const int n = 1000003;
	const size_t bytes = (size_t)n * sizeof(float);
	float *a = allocate(bytes), *b = allocate(bytes), *c = allocate(bytes);
	memset(a, 0, bytes); /* as std::vector does */
	memset(b, 0, bytes);
	memset(c, 0, bytes);
	for (int i = 0; i < n; i++) {
		a[i] = (float)(i % 1000);
		b[i] = 0.5f * (float)(i % 77);
	}
	float *da = allocate(bytes), *db = allocate(bytes), *dc = allocate(bytes);
	memcpy(da, a, bytes);
	memcpy(db, b, bytes);
#pragma omp parallel for simd
	for (int i = 0; i < n; i++)
		dc[i] = da[i] + db[i];
	memcpy(c, dc, bytes);

	int wrong = 0;
	for (int i = 0; i < n; i++)
		wrong += c[i] != a[i] + b[i];
	printf("%d elements, %d wrong\n", n, wrong);
	return wrong != 0;
}
