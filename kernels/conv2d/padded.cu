// Images get their border of zeros once, by a launch of their own, and filters are laid out anew for
// groups of ROWS output channels. After that nothing has to be asked about borders: a thread computes
// COLS pixels below each other of ROWS channels in registers, straight from memory, where the pixels
// of neighbouring threads lie beside each other. Halves are widened on the way, once.
__global__ void padImages(const real *X, accum *images, int H, int R)
{
    int x = threadIdx.x;
    int side = H + R - 1;
    long long plane = blockIdx.x;
    long long from = plane * H * H;
    long long to = plane * side * side;
    for (int row = 0; row < side; row++) {
        int down = row - R / 2;
        bool there = down >= 0 && down < H;
        for (int start = 0; start < side; start += blockDim.x) {
            int col = start + x;
            int right = col - R / 2;
            bool inside = there && right >= 0 && right < H;
            if (col < side) {
                images[to + row * side + col] = inside ? (accum)X[from + down * H + right] : (accum)0;
            }
        }
    }
}

__global__ void packFilters(const real *W, accum *filters, int K, int terms)
{
    int group = blockIdx.y;
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < terms) {
        long long to = ((long long)group * terms + k) * ROWS;
#pragma unroll
        for (int i = 0; i < ROWS; i++) {  // channels past the end repeat the last one
            filters[to + i] = (accum)W[(long long)min(group * ROWS + i, K - 1) * terms + k];
        }
    }
}

__global__ void conv2dPadded(const accum *images, const accum *filters, const real *b, real *Y, int C,
                             int K, int H, int R)
{
    int x = threadIdx.x;
    int side = H + R - 1;
    int wide = (H + blockDim.x - 1) / blockDim.x;  // blocks side by side
    int tall = (H + COLS - 1) / COLS;              // and below each other
    int left = blockIdx.x % wide * blockDim.x;
    int row = blockIdx.x / wide % tall * COLS;
    long long image = blockIdx.x / wide / tall;
    int group = blockIdx.y * blockDim.y + threadIdx.y;
    int channel = group * ROWS;
    if (channel >= K) {
        return;
    }

    accum sums[ROWS][COLS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        accum bias = (accum)b[min(channel + i, K - 1)];
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            sums[i][j] = bias;
        }
    }

    // Two places that all threads along x share walk over the terms: filters without a gap, images row
    // by row. Pixels past an image's end are those of the next one, or of the spare room behind all.
    long long weight = (long long)group * C * R * R * ROWS;
    long long from = (image * C * side + row) * side + left;
    for (int c = 0; c < C; c++) {
        for (int r = 0; r < R; r++) {
#pragma unroll 1
            for (int s = 0; s < R; s++) {
                accum pixel[COLS];
#pragma unroll
                for (int j = 0; j < COLS; j++) {
                    pixel[j] = images[from + j * side + x];
                }
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
#pragma unroll
                    for (int j = 0; j < COLS; j++) {
                        sums[i][j] += filters[weight + i] * pixel[j];
                    }
                }
                weight += ROWS;
                from++;
            }
            from += H - 1;  // the next row
        }
        from += side * (H - 1);  // the next channel
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            if (channel + i < K && row + j < H && left + x < H) {
                Y[((image * K + channel + i) * H + row + j) * H + left + x] = (real)sums[i][j];
            }
        }
    }
}
