// One thread computes one pixel of one output channel: the formula as it is written. Threads beside
// each other read pixels beside each other, and all of a block read the same filter.
__global__ void conv2dDirect(const real *X, const real *W, const real *b, real *Y, int C, int K, int H,
                             int R)
{
    int tiles = (H + blockDim.x - 1) / blockDim.x;
    int x = blockIdx.x % tiles * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    long long plane = blockIdx.x / tiles;  // of the output: image * K + channel
    long long image = plane / K;
    int channel = plane % K;
    if (x < H && y < H) {
        accum sum = (accum)b[channel];
        for (int c = 0; c < C; c++) {
            long long from = (image * C + c) * H * H;
            long long filter = ((long long)channel * C + c) * R * R;
            for (int r = 0; r < R; r++) {
                for (int s = 0; s < R; s++) {
                    int row = y + r - R / 2;
                    int col = x + s - R / 2;
                    if (row >= 0 && row < H && col >= 0 && col < H) {
                        sum += (accum)X[from + row * H + col] * (accum)W[filter + r * R + s];
                    }
                }
            }
        }
        Y[plane * H * H + y * H + x] = (real)sum;
    }
}
