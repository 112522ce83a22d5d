#include <stdio.h>
#include <stdlib.h>
#define SOFTENING 1e-9f
#define BLOCK_SIZE 256

typedef struct { float4 *pos, *vel; } BodySystem;

__global__ void bodyForce(float4 *p, float4 *v, float dt, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    float4 own = i < n ? p[i] : make_float4(0, 0, 0, 0);
    float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
    __shared__ float3 spos[BLOCK_SIZE];
    for (int tile = 0; tile < gridDim.x; tile++) {
        int k = tile * blockDim.x + threadIdx.x;
        float4 tpos = k < n ? p[k] : own;
        spos[threadIdx.x] = make_float3(tpos.x, tpos.y, tpos.z);
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < BLOCK_SIZE; j++) {
            float dx = spos[j].x - own.x;
            float dy = spos[j].y - own.y;
            float dz = spos[j].z - own.z;
            float distSqr = dx*dx + dy*dy + dz*dz + SOFTENING;
            float invDist = rsqrtf(distSqr);
            float invDist3 = invDist * invDist * invDist;
            Fx += dx * invDist3; Fy += dy * invDist3; Fz += dz * invDist3;
        }
        __syncthreads();
    }
    if (i < n) {
        v[i].x += dt*Fx; v[i].y += dt*Fy; v[i].z += dt*Fz;
    }
}

int main(const int argc, const char** argv)
{
    int nBodies = 4096;
    if (argc > 1) nBodies = atoi(argv[1]);
    const float dt = 0.01f;
    int bytes = 2*nBodies*sizeof(float4);
    float *buf = (float*)malloc(bytes);
    BodySystem p = { (float4*)buf, ((float4*)buf) + nBodies };
    float *d_buf;
    cudaMalloc(&d_buf, bytes);
    BodySystem d_p = { (float4*)d_buf, ((float4*)d_buf) + nBodies };
    int nBlocks = (nBodies + BLOCK_SIZE - 1) / BLOCK_SIZE;
    cudaMemcpy(d_buf, buf, bytes, cudaMemcpyHostToDevice);
    bodyForce<<<nBlocks, BLOCK_SIZE>>>(d_p.pos, d_p.vel, dt, nBodies);
    cudaMemcpy(buf, d_buf, bytes, cudaMemcpyDeviceToHost);
    free(buf); cudaFree(d_buf);
}
