// Templates, functors, structures by value and what else C++ brings.
#include <cuda_runtime.h>
#include <stdio.h>

#define PI 3.14159265f

template <typename T> __global__ void addTemplate(const T *a, const T *b, T *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

template <typename T, int BLOCK> __global__ void reduceTemplate(const T *in, T *out, int n)
{
    __shared__ T s[BLOCK];
    int t = threadIdx.x;
    T sum = 0;
    for (int i = blockIdx.x * BLOCK + t; i < n; i += BLOCK * gridDim.x) sum += in[i];
    s[t] = sum;
    __syncthreads();
    if (BLOCK >= 128) {
        if (t < 64) s[t] += s[t + 64];
        __syncthreads();
    }
#pragma unroll
    for (int d = BLOCK >= 128 ? 32 : BLOCK / 2; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

template <unsigned int blockSize>
__device__ __forceinline__ float blockMax(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 16));
    v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 8));
    v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 4));
    v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 2));
    return fmaxf(v, __shfl_xor_sync(0xffffffff, v, 1));
}

__global__ void maxOfWarps(const float *in, float *out)
{
    float v = blockMax<32>(in[blockIdx.x * blockDim.x + threadIdx.x]);
    if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = v;
}

struct Square {
    __device__ float operator()(float x) const { return x * x; }
};

struct AddConstant {
    float value;
    __host__ __device__ explicit AddConstant(float v) : value(v) {}
    __host__ __device__ float operator()(float x) const { return x + value; }
};

template <typename F> __device__ void applyTo(float *y, const float *x, int i, F f)
{
    y[i] = f(x[i]);
}

__global__ void functors(const float *x, float *y, float *z, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    applyTo(y, x, i, Square());
    AddConstant add(by);
    applyTo(z, x, i, add);
}

__global__ void lambdas(const float *x, float *y, int n)
{
    auto clampUnit = [](float v) { return fminf(1.0f, fmaxf(-1.0f, v)); };
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto inside = [&](int k) { return k < n; };
    if (inside(i)) y[i] = clampUnit(x[i]);
}

struct Complex {
    float re, im;
    __device__ Complex(float a, float b) : re(a), im(b) {}
    __device__ float magnitude2() const { return re * re + im * im; }
    __device__ Complex operator*(const Complex &o) const
    {
        return Complex(re * o.re - im * o.im, im * o.re + re * o.im);
    }
    __device__ Complex operator+(const Complex &o) const { return Complex(re + o.re, im + o.im); }
};

__device__ int julia(int x, int y, int dim)
{
    const float scale = 1.5f;
    float jx = scale * (float)(dim / 2 - x) / (dim / 2);
    float jy = scale * (float)(dim / 2 - y) / (dim / 2);
    Complex c(-0.8f, 0.156f);
    Complex a(jx, jy);
    for (int i = 0; i < 50; i++) {
        a = a * a + c;
        if (a.magnitude2() > 1000) return 0;
    }
    return 1;
}

__global__ void juliaSet(unsigned char *ptr, int dim)
{
    int x = blockIdx.x;
    int y = blockIdx.y;
    int offset = x + y * gridDim.x;
    int juliaValue = julia(x, y, dim);
    ptr[offset * 4 + 0] = 255 * juliaValue;
    ptr[offset * 4 + 1] = 0;
    ptr[offset * 4 + 2] = 0;
    ptr[offset * 4 + 3] = 255;
}

struct Particle {
    float3 position;
    float3 velocity;
    int id;
};

__global__ void moveParticles(Particle *particles, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = particles[i];
    p.position.x += dt * p.velocity.x;
    p.position.y += dt * p.velocity.y;
    p.position.z += dt * p.velocity.z;
    p.id = -p.id;
    particles[i] = p;
}

enum Operation { ADD, MULTIPLY, SUBTRACT };

template <Operation OP> __device__ float combine(float a, float b)
{
    switch (OP) {
    case ADD:
        return a + b;
    case MULTIPLY:
        return a * b;
    default:
        return a - b;
    }
}

__global__ void operations(const float *a, const float *b, float *c, int n)
{
    int i = threadIdx.x;
    if (i < n) c[i] = combine<ADD>(a[i], b[i]) * combine<SUBTRACT>(a[i], b[i])
                    + combine<MULTIPLY>(a[i], b[i]);
}

namespace math {
constexpr float half_life = 0.5f;
__device__ inline float decay(float x, int steps)
{
    for (int s = 0; s < steps; ++s) x *= half_life;
    return x;
}
}

__global__ void namespaced(const float *x, float *y, int n)
{
    int i = threadIdx.x;
    if (i < n) y[i] = math::decay(x[i], i % 4);
}

__global__ void powers(const float *x, float *y, double *z, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        y[i] = pow(x[i], 2) + powf(fabsf(x[i]), 1.5f) + sqrt(4.0f * i);
        z[i] = pow((double)x[i], 3.0) + fmax((double)x[i], 0.25);
    }
}

int main()
{
    float *a, *b, *c;
    int n = 1000;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&b, n * 4);
    cudaMalloc(&c, n * 4);
    addTemplate<float><<<4, 256>>>(a, b, c, n);
    addTemplate<int><<<4, 256>>>((int *)a, (int *)b, (int *)c, n);
    reduceTemplate<float, 128><<<2, 128>>>(a, c, n);
    reduceTemplate<double, 64><<<2, 64>>>((double *)a, (double *)c, n / 2);
    cudaDeviceSynchronize();
}
