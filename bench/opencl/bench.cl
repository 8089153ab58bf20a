/* The benchmark's rows in OpenCL C, work-group for work-group as bench.cu has them; see ../rows.h. */

kernel void nothing(void) {}

kernel void triad(global const float *b, global const float *c, global float *a)
{
	int i = get_global_id(0);
	a[i] = b[i] + 3.0f * c[i];
}

kernel void saxpy(global const float *x, global float *y)
{
	int i = get_global_id(0);
	y[i] = 0.25f * x[i] + y[i];
}

kernel void stencil(global const float *in, global float *out)
{
	int x = get_global_id(0), y = get_global_id(1);
	if (x < 1 || x >= GRID_N - 1 || y < 1 || y >= GRID_N - 1)
		return;
	int i = y * GRID_N + x;
	out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - GRID_N] + in[i + GRID_N]);
}

kernel void transpose(global const float *in, global float *out)
{
	local float tile[32][33];
	int x = get_local_id(0), y = get_local_id(1), bx = get_group_id(0) * 32, by = get_group_id(1) * 32;
	for (int j = 0; j < 32; j += 8)
		tile[y + j][x] = in[(by + y + j) * GRID_N + bx + x];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int j = 0; j < 32; j += 8)
		out[(bx + y + j) * GRID_N + by + x] = tile[x][y + j];
}

kernel void matmul(global const float *a, global const float *b, global float *c)
{
	int row = get_global_id(1), column = get_global_id(0);
	float sum = 0.0f;
	for (int k = 0; k < MATRIX_N; k++)
		sum += a[row * MATRIX_N + k] * b[k * MATRIX_N + column];
	c[row * MATRIX_N + column] = sum;
}

kernel void sgemm_tiled(global const float *a, global const float *b, global float *c)
{
	local float as[16][16], bs[16][16];
	int tx = get_local_id(0), ty = get_local_id(1), row = get_global_id(1), column = get_global_id(0);
	float sum = 0.0f;
	for (int start = 0; start < MATRIX_N; start += 16) {
		as[ty][tx] = a[row * MATRIX_N + start + tx];
		bs[ty][tx] = b[(start + ty) * MATRIX_N + column];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < 16; k++)
			sum += as[ty][k] * bs[k][tx];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[row * MATRIX_N + column] = sum;
}

kernel void nbody(global const float4 *bodies, global float4 *forces)
{
	local float4 tile[256];
	int t = get_local_id(0), i = get_global_id(0);
	float4 me = bodies[i];
	float ax = 0.0f, ay = 0.0f, az = 0.0f;
	for (int start = 0; start < BODIES; start += 256) {
		tile[t] = bodies[start + t];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int j = 0; j < 256; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float inverse = 1.0f / sqrt(dx * dx + dy * dy + dz * dz + 0.01f);
			float pull = tile[j].w * inverse * inverse * inverse;
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	forces[i] = (float4)(ax, ay, az, 0.0f);
}

kernel void mandelbrot(global int *rounds)
{
	int column = get_global_id(0), row = get_global_id(1), n = 0;
	float cx = -2.0f + column * (3.0f / MANDELBROT_N), cy = -1.5f + row * (3.0f / MANDELBROT_N), x = 0.0f, y = 0.0f;
	while (n < MANDELBROT_ROUNDS) {
		float xx = x * x, yy = y * y;
		if (xx + yy > 4.0f)
			break;
		y = 2.0f * x * y + cy;
		x = xx - yy + cx;
		n++;
	}
	rounds[row * MANDELBROT_N + column] = n;
}

float normal(float x)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
	float tail = 0.39894228f * exp(-0.5f * x * x) *
		     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
	return x > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float *price, global const float *strike, global const float *years,
			  global float *call, global float *put)
{
	const float rate = 0.02f, volatility = 0.3f;
	int i = get_global_id(0);
	float root = sqrt(years[i]);
	float d1 = (log(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
	float d2 = d1 - volatility * root, n1 = normal(d1), n2 = normal(d2);
	float discounted = strike[i] * exp(-rate * years[i]);
	call[i] = price[i] * n1 - discounted * n2;
	put[i] = discounted * (1.0f - n2) - price[i] * (1.0f - n1);
}

/* OpenCL 1.2 has no shuffles: neighbours exchange values through local memory. */
kernel void warp_reduce(global const float *in, global float *out)
{
	local float values[256];
	int t = get_local_id(0), i = get_global_id(0);
	values[t] = in[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int distance = 16; distance; distance >>= 1) {
		if (t % 32 < distance)
			values[t] += values[t + distance];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (t % 32 == 0)
		out[i / 32] = values[t];
}

kernel void block_reduce(global const float *in, global float *out)
{
	local float sums[256];
	int t = get_local_id(0);
	sums[t] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int half_size = 128; half_size > 0; half_size >>= 1) {
		if (t < half_size)
			sums[t] += sums[t + half_size];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (t == 0)
		out[get_group_id(0)] = sums[0];
}

kernel void histogram(global const int *values, global int *counts)
{
	local int mine[256];
	int t = get_local_id(0);
	mine[t] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = get_global_id(0); i < HISTOGRAM_N; i += 256 * HISTOGRAM_BLOCKS)
		atomic_add(&mine[values[i] & 255], 1);
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&counts[t], mine[t]);
}

kernel void bitonic(global const int *in, global int *out)
{
	local int keys[512];
	int t = get_local_id(0);
	keys[t] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int k = 2; k <= 512; k <<= 1)
		for (int j = k >> 1; j > 0; j >>= 1) {
			int other = t ^ j;
			if (other > t) {
				int a = keys[t], b = keys[other];
				if ((t & k) == 0 ? a > b : a < b) {
					keys[t] = b;
					keys[other] = a;
				}
			}
			barrier(CLK_LOCAL_MEM_FENCE);
		}
	out[get_global_id(0)] = keys[t];
}

kernel void spmv(global const int *starts, global const int *columns, global const float *values, global const float *x,
		 global float *y)
{
	int row = get_global_id(0);
	float sum = 0.0f;
	for (int i = starts[row]; i < starts[row + 1]; i++)
		sum += values[i] * x[columns[i]];
	y[row] = sum;
}

kernel void bfs(global const int *starts, global const int *edges, global int *levels)
{
	int node = get_global_id(0);
	if (levels[node] != 3)
		return;
	for (int i = starts[node]; i < starts[node + 1]; i++)
		if (levels[edges[i]] < 0)
			levels[edges[i]] = 4;
}
