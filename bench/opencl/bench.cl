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

#define SGEMM(name, SIDE)                                                                                              \
	kernel void name(global const float *a, global const float *b, global float *c)                                \
	{                                                                                                              \
		local float as[SIDE][SIDE], bs[SIDE][SIDE];                                                            \
		int tx = get_local_id(0), ty = get_local_id(1), row = get_global_id(1), column = get_global_id(0);     \
		float sum = 0.0f;                                                                                      \
		for (int start = 0; start < MATRIX_N; start += SIDE) {                                                 \
			as[ty][tx] = a[row * MATRIX_N + start + tx];                                                   \
			bs[ty][tx] = b[(start + ty) * MATRIX_N + column];                                              \
			barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
			for (int k = 0; k < SIDE; k++)                                                                 \
				sum += as[ty][k] * bs[k][tx];                                                          \
			barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
		}                                                                                                      \
		c[row * MATRIX_N + column] = sum;                                                                      \
	}
SGEMM(sgemm_tiled, 16)
SGEMM(sgemm_tiled_32, 32)

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
	return 0.5f * erfc(-x * 0.70710678f);
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

kernel void nbody_double(global const double4 *bodies, global double4 *forces)
{
	local double4 tile[128];
	int t = get_local_id(0), i = get_global_id(0);
	double4 me = bodies[i];
	double ax = 0.0, ay = 0.0, az = 0.0;
	for (int start = 0; start < BODIES_DOUBLE; start += 128) {
		tile[t] = bodies[start + t];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int j = 0; j < 128; j++) {
			double dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			double inverse = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 0.01);
			double pull = tile[j].w * inverse * inverse * inverse;
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	forces[i] = (double4)(ax, ay, az, 0.0);
}

int reversed(int i)
{
	int to = 0;
	for (int bit = 1; bit < FFT_POINTS; bit *= 2)
		to = 2 * to + ((i & bit) != 0);
	return to;
}

kernel void fft(global const float2 *in, global const float2 *roots, global float2 *out)
{
	local float2 points[FFT_POINTS];
	int t = get_local_id(0), base = get_group_id(0) * FFT_POINTS;
	for (int i = t; i < FFT_POINTS; i += FFT_POINTS / 2)
		points[reversed(i)] = in[base + i];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int half_size = 1; half_size < FFT_POINTS; half_size *= 2) {
		int k = t & (half_size - 1), low = 2 * t - k, high = low + half_size;
		float2 root = roots[k * (FFT_POINTS / 2 / half_size)], a = points[low], b = points[high];
		float x = b.x * root.x - b.y * root.y, y = b.x * root.y + b.y * root.x;
		points[low] = (float2)(a.x + x, a.y + y);
		points[high] = (float2)(a.x - x, a.y - y);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (int i = t; i < FFT_POINTS; i += FFT_POINTS / 2)
		out[base + i] = points[i];
}

kernel void scan(global const int *in, global int *out)
{
	local int sums[256];
	int t = get_local_id(0), i = get_global_id(0);
	sums[t] = in[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int distance = 1; distance < 256; distance *= 2) {
		int other = t >= distance ? sums[t - distance] : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		sums[t] += other;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	out[i] = sums[t];
}

/* Without votes, which OpenCL 1.2 does not have, the zeros in front are counted by a scan. */
kernel void radix_sort(global const int *in, global int *out)
{
	local int keys[512], zeros[512];
	int t = get_local_id(0);
	keys[t] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int bit = 0; bit < RADIX_BITS; bit++) {
		int key = keys[t], one = key >> bit & 1;
		zeros[t] = !one;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int distance = 1; distance < 512; distance *= 2) {
			int other = t >= distance ? zeros[t - distance] : 0;
			barrier(CLK_LOCAL_MEM_FENCE);
			zeros[t] += other;
			barrier(CLK_LOCAL_MEM_FENCE);
		}
		keys[one ? zeros[511] + t - zeros[t] : zeros[t] - 1] = key;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	out[get_global_id(0)] = keys[t];
}

#define REACH (FILTER / 2)

kernel void convolution(global const float *in, global const float *filter, global float *out)
{
	local float tile[8 + 2 * REACH][32 + 2 * REACH], weights[FILTER * FILTER];
	int tx = get_local_id(0), ty = get_local_id(1), t = ty * 32 + tx;
	int x0 = (int)get_group_id(0) * 32 - REACH, y0 = (int)get_group_id(1) * 8 - REACH;
	if (t < FILTER * FILTER)
		weights[t] = filter[t];
	for (int y = ty; y < 8 + 2 * REACH; y += 8)
		for (int x = tx; x < 32 + 2 * REACH; x += 32) {
			bool inside = x0 + x >= 0 && x0 + x < GRID_N && y0 + y >= 0 && y0 + y < GRID_N;
			tile[y][x] = inside ? in[(y0 + y) * GRID_N + x0 + x] : 0.0f;
		}
	barrier(CLK_LOCAL_MEM_FENCE);
	float sum = 0.0f;
	for (int y = 0; y < FILTER; y++)
		for (int x = 0; x < FILTER; x++)
			sum += weights[y * FILTER + x] * tile[ty + y][tx + x];
	out[get_global_id(1) * GRID_N + get_global_id(0)] = sum;
}

kernel void softmax(global const float *in, global float *out)
{
	local float values[256];
	int t = get_local_id(0);
	global const float *row = in + get_group_id(0) * NORM_COLUMNS;
	float most = row[t], sum = 0.0f;
	for (int i = t + 256; i < NORM_COLUMNS; i += 256)
		most = fmax(most, row[i]);
	values[t] = most;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int half_size = 128; half_size > 0; half_size >>= 1) {
		if (t < half_size)
			values[t] = fmax(values[t], values[t + half_size]);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	most = values[0];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = t; i < NORM_COLUMNS; i += 256)
		sum += exp(row[i] - most);
	values[t] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int half_size = 128; half_size > 0; half_size >>= 1) {
		if (t < half_size)
			values[t] += values[t + half_size];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	sum = 1.0f / values[0];
	for (int i = t; i < NORM_COLUMNS; i += 256)
		out[get_group_id(0) * NORM_COLUMNS + i] = exp(row[i] - most) * sum;
}

float group_sum(local float *values, int t, float value)
{
	values[t] = value;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int distance = 16; distance; distance >>= 1) {
		if (t % 32 < distance)
			values[t] += values[t + distance];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	float sum = values[t & ~31];
	barrier(CLK_LOCAL_MEM_FENCE);
	return sum;
}

kernel void layer_norm(global const float *in, global const float *weights, global const float *biases, global float *out)
{
	local float values[256];
	int t = get_local_id(0), lane = t & 31, row = get_group_id(0) * 8 + (t >> 5);
	float sum = 0.0f, squares = 0.0f;
	for (int i = lane; i < NORM_COLUMNS; i += 32)
		sum += in[row * NORM_COLUMNS + i];
	float mean = group_sum(values, t, sum) / NORM_COLUMNS;
	for (int i = lane; i < NORM_COLUMNS; i += 32) {
		float off = in[row * NORM_COLUMNS + i] - mean;
		squares += off * off;
	}
	float scale = 1.0f / sqrt(group_sum(values, t, squares) / NORM_COLUMNS + 1e-5f);
	for (int i = lane; i < NORM_COLUMNS; i += 32)
		out[row * NORM_COLUMNS + i] = (in[row * NORM_COLUMNS + i] - mean) * scale * weights[i] + biases[i];
}

kernel void attention(global const float *queries, global const float *keys, global const float *values, global float *out)
{
	local float k[16][HEAD_SIZE], v[16][HEAD_SIZE];
	int t = get_local_id(0), base = get_group_id(1) * HEAD_ROWS * HEAD_SIZE, row = base + get_global_id(0) * HEAD_SIZE;
	float query[HEAD_SIZE], sums[HEAD_SIZE], most = -1e30f, total = 0.0f;
	for (int i = 0; i < HEAD_SIZE; i++) {
		query[i] = queries[row + i] * 0.125f;
		sums[i] = 0.0f;
	}
	for (int start = 0; start < HEAD_ROWS; start += 16) {
		for (int i = 0; i < 16; i++) {
			k[i][t] = keys[base + (start + i) * HEAD_SIZE + t];
			v[i][t] = values[base + (start + i) * HEAD_SIZE + t];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int j = 0; j < 16; j++) {
			float score = 0.0f;
			for (int i = 0; i < HEAD_SIZE; i++)
				score += query[i] * k[j][i];
			float larger = fmax(most, score), fade = exp(most - larger), weight = exp(score - larger);
			total = total * fade + weight;
			for (int i = 0; i < HEAD_SIZE; i++)
				sums[i] = sums[i] * fade + weight * v[j][i];
			most = larger;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (int i = 0; i < HEAD_SIZE; i++)
		out[row + i] = sums[i] / total;
}
