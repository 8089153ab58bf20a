/* The device functions of mathematics against the host's in double precision, over their whole ranges: within the bounds
 * that the CUDA C++ Programming Guide states (appendix "Mathematical Functions"): 2 ulp for these, none for sqrtf. */
#include "example.h"
#include <cmath>
#include <cstring>
#include <vector>

enum { SIN, COS, EXP, LOG, EXP2, SQRT, RSQRT, POINTS = 1 << 16 };

__global__ void evaluate(int function, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	switch (function) {
	case SIN: y[i] = sinf(x[i]); break;
	case COS: y[i] = cosf(x[i]); break;
	case EXP: y[i] = expf(x[i]); break;
	case LOG: y[i] = logf(x[i]); break;
	case EXP2: y[i] = exp2f(x[i]); break;
	case SQRT: y[i] = sqrtf(x[i]); break;
	case RSQRT: y[i] = rsqrtf(x[i]); break;
	}
}

static double exact(int function, double x)
{
	switch (function) {
	case SIN: return std::sin(x);
	case COS: return std::cos(x);
	case EXP: return std::exp(x);
	case LOG: return std::log(x);
	case EXP2: return std::exp2(x);
	case SQRT: return std::sqrt(x);
	default: return 1.0 / std::sqrt(x);
	}
}

/* The distance in units of the exact value's last place; subnormal results in units of the smallest number. */
static double distance(float value, double wanted)
{
	float rounded = (float)wanted;
	if (std::isnan(wanted) || std::isinf(rounded))
		return (std::isnan(wanted) && std::isnan(value)) || value == rounded ? 0.0 : 1e9;
	int exponent;
	std::frexp(wanted, &exponent);
	double unit = std::ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
	return std::fabs((double)value - wanted) / unit;
}

static bool check_function(const char *name, int function, double low, double high, bool logarithmic, double bound)
{
	std::vector<float> x(POINTS), y(POINTS);
	for (int i = 0; i < POINTS; i++) {
		double t = (i + 0.5) / POINTS;
		x[i] = (float)(logarithmic ? low * std::pow(high / low, t) : low + (high - low) * t);
	}
	float *dx, *dy;
	CHECK(cudaMalloc((void **)&dx, POINTS * 4));
	CHECK(cudaMalloc((void **)&dy, POINTS * 4));
	CHECK(cudaMemcpy(dx, x.data(), POINTS * 4, cudaMemcpyHostToDevice));
	evaluate<<<POINTS / 256, 256>>>(function, dx, dy);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(y.data(), dy, POINTS * 4, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(dx));
	CHECK(cudaFree(dy));
	double worst = 0.0, at = 0.0;
	for (int i = 0; i < POINTS; i++)
		if (distance(y[i], exact(function, x[i])) > worst)
			worst = distance(y[i], exact(function, x[i])), at = x[i];
	std::printf("%-6s %10g to %-10g worst %.3f ulp at %.9g\n", name, low, high, worst, at);
	return worst <= bound;
}

int main()
{
	bool right = true;
	right &= check_function("sinf", SIN, -100.0, 100.0, false, 2.0);
	right &= check_function("sinf", SIN, 1e5, 1e9, true, 2.0);
	right &= check_function("cosf", COS, -100.0, 100.0, false, 2.0);
	right &= check_function("cosf", COS, 1e5, 1e9, true, 2.0);
	right &= check_function("expf", EXP, -120.0, 100.0, false, 2.0);
	right &= check_function("logf", LOG, 1e-45, 3e38, true, 2.0);
	right &= check_function("logf", LOG, 0.5, 2.0, false, 2.0);
	right &= check_function("exp2f", EXP2, -120.0, 127.0, false, 2.0);
	right &= check_function("sqrtf", SQRT, 1e-44, 3e38, true, 0.5);
	right &= check_function("rsqrtf", RSQRT, 1e-37, 3e38, true, 2.0);
	return finish("math", right);
}
