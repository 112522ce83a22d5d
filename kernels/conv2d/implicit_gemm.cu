// A convolution is a product: the filters, K rows of C * R * R numbers, times a matrix that has a
// column for each pixel with everything the filters see around it. That matrix is R * R times as large
// as the images and is never written to memory: the block gathers DEPTH rows of its columns into
// shared memory, and each thread computes ROWS channels of COLS pixels from them in registers.
__global__ void conv2dImplicitGemm(const real *X, const real *W, const real *b, real *Y, int C, int K,
                                   int H, int R)
{
    extern __shared__ real panel[];  // DEPTH rows of width * COLS elements
    int width = blockDim.x;
    int x = threadIdx.x;
    int pixels = H * H;
    int terms = C * R * R;  // of each sum
    int tiles = (pixels + width * COLS - 1) / (width * COLS);
    long long image = blockIdx.x / tiles;
    int first = blockIdx.x % tiles * width * COLS + x;
    int channel = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;

    accum sums[ROWS][COLS];
    int rows[COLS];  // where the thread's pixels lie in their image
    int cols[COLS];
#pragma unroll
    for (int j = 0; j < COLS; j++) {
        int pixel = min(first + j * width, pixels - 1);
        rows[j] = pixel / H;
        cols[j] = pixel % H;
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            sums[i][j] = 0;
        }
    }

    for (int start = 0; start < terms; start += DEPTH) {
        int depth = min(DEPTH, terms - start);
        for (int k = threadIdx.y; k < depth; k += blockDim.y) {
            int c = (start + k) / (R * R);
            int down = (start + k) / R % R - R / 2;
            int right = (start + k) % R - R / 2;
            long long from = (image * C + c) * pixels;
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                int row = rows[j] + down;
                int col = cols[j] + right;
                bool inside = row >= 0 && row < H && col >= 0 && col < H;
                int at = min(first + j * width, pixels - 1) + down * H + right;
                panel[(k * COLS + j) * width + x] = inside ? X[from + at] : (real)0;
            }
        }
        __syncthreads();  // now the panel is complete

        // Sums of this panel alone: no barrier stands in their way, so they stay in registers
        // where a CPU runs the block's threads one after the other.
        accum part[ROWS][COLS];
        int begins[ROWS];  // where the thread's filters begin in this panel
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            begins[i] = min(channel + i, K - 1) * terms + start;
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                part[i][j] = 0;
            }
        }
        for (int k = 0; k < depth; k++) {
            accum pixel[COLS];
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                pixel[j] = (accum)panel[(k * COLS + j) * width + x];
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                accum weight = (accum)W[begins[i] + k];
#pragma unroll
                for (int j = 0; j < COLS; j++) {
                    part[i][j] += weight * pixel[j];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                sums[i][j] += part[i][j];
            }
        }
        __syncthreads();  // now nobody needs the panel any more
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            if (channel + i < K && first + j * width < pixels) {
                long long plane = (image * K + channel + i) * pixels;
                Y[plane + first + j * width] = (real)(sums[i][j] + (accum)b[channel + i]);
            }
        }
    }
}
