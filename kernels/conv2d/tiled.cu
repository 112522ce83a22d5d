// The block copies the part of one input channel that its pixels need, with the border around it, to
// shared memory; each thread computes its pixel of CHANNELS output channels from it, so that a pixel
// is fetched once for all of them and nothing has to be asked about borders while adding up.
__global__ void conv2dTiled(const real *X, const real *W, const real *b, real *Y, int C, int K, int H,
                            int R)
{
    extern __shared__ real patch[];  // blockDim.y + R - 1 rows of blockDim.x + R - 1 pixels
    int x = threadIdx.x;
    int y = threadIdx.y;
    int width = blockDim.x + R - 1;
    int height = blockDim.y + R - 1;
    int tiles = (H + blockDim.x - 1) / blockDim.x;
    int firstCol = blockIdx.x % tiles * blockDim.x;
    int firstRow = blockIdx.y * blockDim.y;
    int groups = (K + CHANNELS - 1) / CHANNELS;
    long long image = blockIdx.x / tiles / groups;
    int channel = blockIdx.x / tiles % groups * CHANNELS;

    accum sums[CHANNELS];
#pragma unroll
    for (int k = 0; k < CHANNELS; k++) {
        sums[k] = 0;
    }
    for (int c = 0; c < C; c++) {
        long long from = (image * C + c) * H * H;
        for (int row = y; row < height; row += blockDim.y) {
            int down = firstRow + row - R / 2;
            for (int start = 0; start < width; start += blockDim.x) {
                int right = firstCol + start + x - R / 2;
                bool inside = down >= 0 && down < H && right >= 0 && right < H;
                if (start + x < width) {
                    patch[row * width + start + x] = inside ? X[from + down * H + right] : (real)0;
                }
            }
        }
        __syncthreads();  // now the patch is complete

        for (int r = 0; r < R; r++) {
            for (int s = 0; s < R; s++) {
                accum pixel = (accum)patch[(y + r) * width + x + s];
#pragma unroll
                for (int k = 0; k < CHANNELS; k++) {
                    long long filter = (long long)min(channel + k, K - 1) * C + c;
                    sums[k] += pixel * (accum)W[filter * R * R + r * R + s];
                }
            }
        }
        __syncthreads();  // now nobody needs it any more
    }

    int row = firstRow + y;
    int col = firstCol + x;
#pragma unroll
    for (int k = 0; k < CHANNELS; k++) {
        if (row < H && col < H && channel + k < K) {
            long long plane = (image * K + channel + k) * H * H;
            Y[plane + row * H + col] = (real)(sums[k] + (accum)b[channel + k]);
        }
    }
}
