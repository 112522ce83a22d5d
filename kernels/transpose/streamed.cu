// As in in_registers, but every access moves 16 bytes, and what is written goes past the caches:
// nobody here needs it again, and a CPU would fetch each line of B before it writes to it. PAST = 0
// writes through the caches: for rows that do not begin with a line, of which parts are written.
//
// A thread turns ROWS x COLS elements around. The threads along x stand below each other in A, so
// that they write neighbouring parts of B's rows, one whole line after the other.
#define PIECE (128 / REAL_BITS)  // elements in 16 bytes

// Turns PIECE x PIECE elements around, 16 bytes a row.
#if REAL_BITS == 64
__device__ __forceinline__ void turn(uint4 *rows)
{
    uint4 a = rows[0], b = rows[1];
    rows[0] = make_uint4(a.x, a.y, b.x, b.y);
    rows[1] = make_uint4(a.z, a.w, b.z, b.w);
}
#elif REAL_BITS == 32
__device__ __forceinline__ void turn(uint4 *rows)
{
    uint4 a = rows[0], b = rows[1], c = rows[2], d = rows[3];
    rows[0] = make_uint4(a.x, b.x, c.x, d.x);
    rows[1] = make_uint4(a.y, b.y, c.y, d.y);
    rows[2] = make_uint4(a.z, b.z, c.z, d.z);
    rows[3] = make_uint4(a.w, b.w, c.w, d.w);
}
#else
// In quarters of 4 x 4, whose elements move whole: words would have to be taken apart first.
__device__ __forceinline__ void turn(uint4 *rows)
{
    alignas(16) ushort4 parts[16], turned[16];
#pragma unroll
    for (int y = 0; y < 8; y++) {
        *(uint4 *)(parts + 2 * y) = rows[y];
    }
#pragma unroll
    for (int y = 0; y < 2; y++) {
#pragma unroll
        for (int x = 0; x < 2; x++) {
            const ushort4 *from = parts + 8 * y + x;
            ushort4 *to = turned + 8 * x + y;
            ushort4 a = from[0], b = from[2], c = from[4], d = from[6];
            to[0] = make_ushort4(a.x, b.x, c.x, d.x);
            to[2] = make_ushort4(a.y, b.y, c.y, d.y);
            to[4] = make_ushort4(a.z, b.z, c.z, d.z);
            to[6] = make_ushort4(a.w, b.w, c.w, d.w);
        }
    }
#pragma unroll
    for (int y = 0; y < 8; y++) {
        rows[y] = *(const uint4 *)(turned + 2 * y);
    }
}
#endif

__global__ void transposeStreamed(const real *A, real *B, int N)
{
    int row = (blockIdx.y * blockDim.x + threadIdx.x) * ROWS;
    int col = (blockIdx.x * blockDim.y + threadIdx.y) * COLS;
    if (row + ROWS <= N && col + COLS <= N && N % PIECE == 0) {
#pragma unroll 1  // spares registers
        for (int start = col; start < col + COLS; start += PIECE) {
            uint4 pieces[ROWS];
#pragma unroll
            for (int y = 0; y < ROWS; y++) {
                pieces[y] = *(const uint4 *)(A + (row + y) * N + start);
            }
#pragma unroll
            for (int y = 0; y < ROWS; y += PIECE) {
                turn(pieces + y);
            }
#pragma unroll
            for (int x = 0; x < PIECE; x++) {
#pragma unroll
                for (int y = 0; y < ROWS; y += PIECE) {
                    uint4 *to = (uint4 *)(B + (start + x) * N + row + y);
#if PAST
                    __stcs(to, pieces[y + x]);
#else
                    *to = pieces[y + x];
#endif
                }
            }
        }
    } else {  // at the edges, where the tile is not whole, or where rows do not begin with 16 bytes
        for (int y = row; y < min(row + ROWS, N); y++) {
            for (int x = col; x < min(col + COLS, N); x++) {
                B[x * N + y] = A[y * N + x];
            }
        }
    }
}
