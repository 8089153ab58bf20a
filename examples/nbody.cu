/* All-pairs gravity: each block walks the bodies in tiles kept in shared memory, then the leapfrog step moves them.
 * Checked by what physics keeps: momentum, and the energy to within the step's error. */
#include "example.h"
#include <cmath>
#include <vector>

constexpr int BODIES = 1024, BLOCK = 128, STEPS = 20;
constexpr float SOFTENING = 0.01f, STEP = 0.002f;

__global__ void accelerate(const float4 *bodies, float4 *velocities)
{
	__shared__ float4 tile[BLOCK];
	int i = blockIdx.x * BLOCK + threadIdx.x;
	float4 me = bodies[i];
	float ax = 0.0f, ay = 0.0f, az = 0.0f;
	for (int start = 0; start < BODIES; start += BLOCK) {
		tile[threadIdx.x] = bodies[start + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < BLOCK; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
			float pull = tile[j].w * inverse * inverse * inverse;
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		__syncthreads();
	}
	velocities[i].x += STEP * ax;
	velocities[i].y += STEP * ay;
	velocities[i].z += STEP * az;
}

__global__ void drift(float4 *bodies, const float4 *velocities)
{
	int i = blockIdx.x * BLOCK + threadIdx.x;
	bodies[i].x += STEP * velocities[i].x;
	bodies[i].y += STEP * velocities[i].y;
	bodies[i].z += STEP * velocities[i].z;
}

static double energy(const std::vector<float4> &bodies, const std::vector<float4> &velocities)
{
	double sum = 0.0;
	for (int i = 0; i < BODIES; i++) {
		const float4 &p = bodies[i], &v = velocities[i];
		sum += 0.5 * p.w * ((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
		for (int j = 0; j < i; j++) {
			double dx = bodies[j].x - p.x, dy = bodies[j].y - p.y, dz = bodies[j].z - p.z;
			sum -= (double)p.w * bodies[j].w / std::sqrt(dx * dx + dy * dy + dz * dz + (double)SOFTENING);
		}
	}
	return sum;
}

static double momentum(const std::vector<float4> &bodies, const std::vector<float4> &velocities)
{
	double x = 0.0, y = 0.0, z = 0.0;
	for (int i = 0; i < BODIES; i++) {
		x += (double)bodies[i].w * velocities[i].x;
		y += (double)bodies[i].w * velocities[i].y;
		z += (double)bodies[i].w * velocities[i].z;
	}
	return std::sqrt(x * x + y * y + z * z);
}

/* A number in [-1, 1); the generator is the one of Numerical Recipes, so every machine starts alike. */
static float random_number()
{
	static unsigned state = 12345;
	state = state * 1664525u + 1013904223u;
	return (float)(int)(state >> 8) / 8388608.0f - 1.0f;
}

int main()
{
	std::vector<float4> bodies(BODIES), velocities(BODIES);
	for (float4 &body : bodies) {
		body.x = random_number(), body.y = random_number(), body.z = random_number();
		body.w = 1.0f / BODIES;
	}
	double energy_before = energy(bodies, velocities);

	const size_t bytes = BODIES * sizeof(float4);
	float4 *device_bodies, *device_velocities;
	CHECK(cudaMalloc((void **)&device_bodies, bytes));
	CHECK(cudaMalloc((void **)&device_velocities, bytes));
	CHECK(cudaMemcpy(device_bodies, bodies.data(), bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemset(device_velocities, 0, bytes));
	for (int step = 0; step < STEPS; step++) {
		accelerate<<<BODIES / BLOCK, BLOCK>>>(device_bodies, device_velocities);
		drift<<<BODIES / BLOCK, BLOCK>>>(device_bodies, device_velocities);
	}
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(bodies.data(), device_bodies, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(velocities.data(), device_velocities, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_bodies));
	CHECK(cudaFree(device_velocities));

	double drifted = std::fabs(energy(bodies, velocities) / energy_before - 1.0), moved = momentum(bodies, velocities);
	double speed = std::sqrt((double)velocities[0].x * velocities[0].x + (double)velocities[0].y * velocities[0].y);
	std::printf("%d bodies, %d steps: energy off by %.1e, momentum %.1e\n", BODIES, STEPS, drifted, moved);
	/* Rounding only for the momentum, first order in the step for the energy; and the bodies must have moved. */
	return finish("nbody", drifted < 5e-3 && moved < 1e-6 && speed > 1e-4);
}
