// 2D heat equation, one explicit Euler step.
#include <stdio.h>
#include <math.h>

#define IDX(i, j) ((j) * nx + (i))

__device__ double laplacian(const double *u, int i, int j, int nx, double inv_h2)
{
    return (u[IDX(i + 1, j)] + u[IDX(i - 1, j)] + u[IDX(i, j + 1)] + u[IDX(i, j - 1)]
            - 4.0 * u[IDX(i, j)]) * inv_h2;
}

__global__ void heat_step(const double *u, double *u_new, int nx, int ny, double alpha, double dt,
                          double inv_h2)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= nx || j >= ny)
        return;
    if (i == 0 || j == 0 || i == nx - 1 || j == ny - 1) {
        u_new[IDX(i, j)] = u[IDX(i, j)];
        return;
    }
    u_new[IDX(i, j)] = u[IDX(i, j)] + alpha * dt * laplacian(u, i, j, nx, inv_h2);
}

int main(void)
{
    const int nx = 512, ny = 256, steps = 100;
    const double alpha = 0.1, h = 1.0, dt = 0.25 * h * h / alpha;
    size_t bytes = (size_t)nx * ny * sizeof(double);
    double *u = (double *)malloc(bytes), *d_u, *d_new;
    for (int k = 0; k < nx * ny; ++k) u[k] = k % 7;
    cudaMalloc(&d_u, bytes);
    cudaMalloc(&d_new, bytes);
    cudaMemcpy(d_u, u, bytes, cudaMemcpyHostToDevice);
    dim3 block(32, 8), grid((nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y);
    for (int s = 0; s < steps; ++s) {
        heat_step<<<grid, block>>>(d_u, d_new, nx, ny, alpha, dt, 1.0 / (h * h));
        double *t = d_u; d_u = d_new; d_new = t;
    }
    cudaMemcpy(u, d_u, bytes, cudaMemcpyDeviceToHost);
    printf("%g\n", u[nx * ny / 2]);
    return 0;
}
