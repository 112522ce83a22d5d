// Stencils and images: neighbours in one to three dimensions, filters, colours.
#include <cuda_runtime.h>
#include <stdio.h>

#define RADIUS 2
#define BLOCK 64
#define FILTER 3
#define IN_TILE 16
#define OUT_TILE ((IN_TILE) - 2)

__constant__ float weights[2 * RADIUS + 1] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
__constant__ float kernel3[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
__device__ const int offsets[4][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};

__global__ void stencil_1d(int *in, int *out, int n)
{
    __shared__ int temp[BLOCK + 2 * RADIUS];
    int gindex = threadIdx.x + blockIdx.x * blockDim.x + RADIUS;
    int lindex = threadIdx.x + RADIUS;
    temp[lindex] = in[gindex];
    if (threadIdx.x < RADIUS) {
        temp[lindex - RADIUS] = in[gindex - RADIUS];
        temp[lindex + BLOCK] = in[gindex + BLOCK];
    }
    __syncthreads();
    int result = 0;
    for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
    if (gindex - RADIUS < n) out[gindex - RADIUS] = result;
}

__global__ void convolve1d(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; ++k) {
        int at = i + k;
        if (at >= 0 && at < n) sum += in[at] * weights[k + RADIUS];
    }
    out[i] = sum;
}

__global__ void heat2d(float *next, const float *now, int nx, int ny, float c)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int i = y * nx + x;
    if (x == 0 || y == 0 || x == nx - 1 || y == ny - 1) {
        next[i] = now[i];
        return;
    }
    next[i] = now[i] + c * (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] - 4.0f * now[i]);
}

__global__ void neighboursByTable(const int *in, int *out, int n)
{
    int x = threadIdx.x, y = threadIdx.y;
    int sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int px = (x + offsets[k][0] + n) % n, py = (y + offsets[k][1] + n) % n;
        sum += in[py * n + px];
    }
    out[y * n + x] = sum;
}

__global__ void blurTiled(const float *in, float *out, int width, int height)
{
    __shared__ float tile[IN_TILE][IN_TILE];
    int col = blockIdx.x * OUT_TILE + threadIdx.x - 1;
    int row = blockIdx.y * OUT_TILE + threadIdx.y - 1;
    if (row >= 0 && row < height && col >= 0 && col < width)
        tile[threadIdx.y][threadIdx.x] = in[row * width + col];
    else
        tile[threadIdx.y][threadIdx.x] = 0.0f;
    __syncthreads();
    int tileCol = threadIdx.x - 1, tileRow = threadIdx.y - 1;
    if (col >= 0 && col < width && row >= 0 && row < height)
        if (tileCol >= 0 && tileCol < OUT_TILE && tileRow >= 0 && tileRow < OUT_TILE) {
            float sum = 0.0f;
            for (int fRow = 0; fRow < FILTER; fRow++)
                for (int fCol = 0; fCol < FILTER; fCol++)
                    sum += kernel3[fRow * FILTER + fCol] * tile[tileRow + fRow][tileCol + fCol];
            out[row * width + col] = sum / 16.0f;
        }
}

__global__ void stencil3d(const double *in, double *out, unsigned int N)
{
    unsigned int i = blockIdx.z * blockDim.z + threadIdx.z;
    unsigned int j = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < N - 1 && j >= 1 && j < N - 1 && k >= 1 && k < N - 1)
        out[i * N * N + j * N + k] = in[i * N * N + j * N + k] - in[i * N * N + j * N + (k - 1)]
            + in[i * N * N + j * N + (k + 1)] - in[i * N * N + (j - 1) * N + k]
            + in[i * N * N + (j + 1) * N + k] - in[(i - 1) * N * N + j * N + k]
            + in[(i + 1) * N * N + j * N + k];
}

__global__ void colorToGreyscale(unsigned char *Pout, unsigned char *Pin, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) {
        int greyOffset = row * width + col;
        int rgbOffset = greyOffset * 3;
        unsigned char r = Pin[rgbOffset];
        unsigned char g = Pin[rgbOffset + 1];
        unsigned char b = Pin[rgbOffset + 2];
        Pout[greyOffset] = 0.21f * r + 0.71f * g + 0.07f * b;
    }
}

__global__ void sobel(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    const float *p = in + y * w + x;
    float gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[-1 + w];
    float gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[-w + 1];
    out[y * w + x] = hypotf(gx, gy);
}

__device__ void sort2(float &a, float &b)
{
    if (a > b) {
        float t = a;
        a = b;
        b = t;
    }
}

__global__ void median3(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 || i >= n - 1) return;
    float v[3] = {in[i - 1], in[i], in[i + 1]};
    sort2(v[0], v[1]);
    sort2(v[1], v[2]);
    sort2(v[0], v[1]);
    out[i] = v[1];
}

__global__ void gameOfLife(const unsigned char *now, unsigned char *next, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            if (dx == 0 && dy == 0) continue;
            alive += now[(y + dy + n) % n * n + (x + dx + n) % n];
        }
    bool me = now[y * n + x];
    next[y * n + x] = alive == 3 || (me && alive == 2);
}

__global__ void mandelbrot(int *out, int width, int height, float x0, float y0, float step)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
    int i = 0;
    for (; i < 30 && x * x + y * y <= 4.0f; i++) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
    }
    out[py * width + px] = i;
}

int main()
{
    int *in, *out;
    cudaMalloc(&in, (1024 + 2 * RADIUS) * sizeof(int));
    cudaMalloc(&out, 1024 * sizeof(int));
    stencil_1d<<<1024 / BLOCK, BLOCK>>>(in, out, 1024);
    cudaDeviceSynchronize();
}
