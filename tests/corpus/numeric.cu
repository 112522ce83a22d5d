// Monte Carlo, many bodies, normalisation, sorting, graphs, numbers of other kinds.
#include <cuda_runtime.h>
#include <cfloat>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define EPS2 1e-3f

__device__ unsigned int lcg(unsigned int &state)
{
    state = state * 1664525u + 1013904223u;
    return state;
}

__global__ void estimatePi(unsigned int *counts, int trials)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int state = 1234567u + i * 7919u, inside = 0;
    for (int t = 0; t < trials; t++) {
        float x = (lcg(state) >> 8) * (1.0f / 16777216.0f);
        float y = (lcg(state) >> 8) * (1.0f / 16777216.0f);
        if (x * x + y * y <= 1.0f) inside++;
    }
    counts[i] = inside;
}

__host__ __device__ inline uint32_t xorshift32(uint32_t x)
{
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

__global__ void fillRandom(uint32_t *out, uint32_t seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = xorshift32(xorshift32(seed + i));
}

__device__ float3 bodyBodyInteraction(float4 bi, float4 bj, float3 ai)
{
    float3 r;
    r.x = bj.x - bi.x;
    r.y = bj.y - bi.y;
    r.z = bj.z - bi.z;
    float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + EPS2;
    float distSixth = distSqr * distSqr * distSqr;
    float invDistCube = 1.0f / sqrtf(distSixth);
    float s = bj.w * invDistCube;
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}

__device__ float3 tile_calculation(float4 myPosition, float3 accel)
{
    extern __shared__ float4 shPosition[];
    for (int i = 0; i < blockDim.x; i++)
        accel = bodyBodyInteraction(myPosition, shPosition[i], accel);
    return accel;
}

__global__ void calculateForces(const float4 *X, float4 *A, int N)
{
    extern __shared__ float4 shPosition[];
    float3 acc = {0.0f, 0.0f, 0.0f};
    int gtid = blockIdx.x * blockDim.x + threadIdx.x;
    float4 myPosition = X[gtid];
    for (int i = 0, tile = 0; i < N; i += blockDim.x, tile++) {
        int idx = tile * blockDim.x + threadIdx.x;
        shPosition[threadIdx.x] = X[idx];
        __syncthreads();
        acc = tile_calculation(myPosition, acc);
        __syncthreads();
    }
    float4 acc4 = {acc.x, acc.y, acc.z, 0.0f};
    A[gtid] = acc4;
}

__global__ void softmaxRows(const float *in, float *out, int cols)
{
    extern __shared__ float buffer[];
    const float *x = in + blockIdx.x * cols;
    float *y = out + blockIdx.x * cols;
    int tid = threadIdx.x;
    float most = -INFINITY;
    for (int c = tid; c < cols; c += blockDim.x) most = fmaxf(most, x[c]);
    buffer[tid] = most;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) buffer[tid] = fmaxf(buffer[tid], buffer[tid + s]);
        __syncthreads();
    }
    most = buffer[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = tid; c < cols; c += blockDim.x) {
        y[c] = expf(x[c] - most);
        sum += y[c];
    }
    buffer[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) buffer[tid] += buffer[tid + s];
        __syncthreads();
    }
    for (int c = tid; c < cols; c += blockDim.x) y[c] /= buffer[0];
}

__inline__ __device__ float warpAllReduceSum(float val)
{
    for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(0xffffffff, val, mask, 32);
    return val;
}

__global__ void layerNorm(const float *x, const float *gamma, const float *beta, float *y, int cols,
                          float eps)
{
    __shared__ float mean_s, inv_s;
    const float *row = x + blockIdx.x * cols;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) {
        sum += row[c];
        squares += row[c] * row[c];
    }
    sum = warpAllReduceSum(sum);
    squares = warpAllReduceSum(squares);
    if (threadIdx.x == 0) {
        mean_s = sum / cols;
        inv_s = rsqrtf(squares / cols - mean_s * mean_s + eps);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 32)
        y[blockIdx.x * cols + c] = (row[c] - mean_s) * inv_s * __ldg(&gamma[c]) + __ldg(beta + c);
}

__global__ void geluForward(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i], cube = 0.044715f * v * v * v;
        y[i] = 0.5f * v * (1.0f + tanhf(sqrtf(2.0f / M_PI) * (v + cube)));
    }
}

__global__ void bitonicSort(int *data)
{
    __shared__ int s[128];
    unsigned int t = threadIdx.x;
    s[t] = data[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned int k = 2; k <= blockDim.x; k *= 2) {
        for (unsigned int j = k / 2; j > 0; j /= 2) {
            unsigned int ixj = t ^ j;
            if (ixj > t) {
                if ((t & k) == 0 ? s[t] > s[ixj] : s[t] < s[ixj]) {
                    int swap = s[t];
                    s[t] = s[ixj];
                    s[ixj] = swap;
                }
            }
            __syncthreads();
        }
    }
    data[blockIdx.x * blockDim.x + t] = s[t];
}

__global__ void oddEvenSort(float *x, int n)
{
    int i = threadIdx.x;
    for (int phase = 0; phase < n; phase++) {
        int at = 2 * i + (phase & 1);
        if (at + 1 < n && x[at] > x[at + 1]) {
            float t = x[at];
            x[at] = x[at + 1];
            x[at + 1] = t;
        }
        __syncthreads();
    }
}

__global__ void rankSort(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int rank = 0;
    for (int k = 0; k < n; k++) rank += in[k] < in[i] || (in[k] == in[i] && k < i);
    out[rank] = in[i];
}

__device__ int lowerBound(const int *a, int n, int key)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (a[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

__global__ void mergeByRanks(const int *a, const int *b, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i + lowerBound(b, n, a[i])] = a[i];
        out[i + lowerBound(a, n, b[i] + 1)] = b[i];
    }
}

__global__ void bfsLevel(const int *rowPtr, const int *cols, int *level, int current, int *changed,
                         int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != current) return;
    for (int e = rowPtr[v]; e < rowPtr[v + 1]; e++)
        if (atomicCAS(&level[cols[e]], -1, current + 1) == -1) *changed = 1;
}

__global__ void relaxEdges(const int *from, const int *to, const float *weight, float *distance,
                           float *next, int edges)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    float through = distance[from[e]] + weight[e];
    atomicMin((int *)&next[to[e]], __float_as_int(through));
}

__global__ void floydStep(int *d, int k, int n)
{
    int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int ik;
    if (j >= n) return;
    if (threadIdx.x == 0) ik = d[i * n + k];
    __syncthreads();
    if (ik + d[k * n + j] < d[i * n + j]) d[i * n + j] = ik + d[k * n + j];
}

__global__ void timedLoop(float *x, long long *cycles, int n)
{
    int i = threadIdx.x;
    long long start = clock64();
    float v = x[i];
    for (int k = 0; k < n; k++) v = 0.5f * v + 1.0f;
    x[i] = v;
    long long stop = clock64();
    cycles[i] = stop >= start ? 1 : -1;
}

__global__ void matVecDynamic(const float *A, const float *x, float *y, int n)
{
    extern __shared__ char raw[];
    float *xs = (float *)raw;
    int *used = (int *)(raw + n * sizeof(float));
    for (int i = threadIdx.x; i < n; i += blockDim.x) xs[i] = x[i];
    if (threadIdx.x == 0) *used = 1;
    __syncthreads();
    for (int r = threadIdx.x; r < n; r += blockDim.x) {
        float sum = 0;
        for (int c = 0; c < n; c++) sum += A[r * n + c] * xs[c];
        y[r] = sum * *used;
    }
}

__global__ void kmeansAssign(const float2 *points, const float2 *centres, int *label, float *sums,
                             int *counts, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = FLT_MAX;
    int at = 0;
    for (int c = 0; c < k; ++c) {
        float dx = points[i].x - centres[c].x, dy = points[i].y - centres[c].y;
        float d = dx * dx + dy * dy;
        if (d < best) {
            best = d;
            at = c;
        }
    }
    label[i] = at;
    atomicAdd(&sums[2 * at], points[i].x);
    atomicAdd(&sums[2 * at + 1], points[i].y);
    atomicAdd(&counts[at], 1);
}

int main()
{
    unsigned int *counts;
    cudaMalloc(&counts, 1024 * sizeof(unsigned int));
    estimatePi<<<4, 256>>>(counts, 1000);
    cudaDeviceSynchronize();
    return 0;
}
