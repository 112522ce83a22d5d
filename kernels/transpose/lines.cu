// Whole lines of a CPU's cache: LANES rows of LANES elements are turned around in as many vector
// registers of 64 bytes. Each line of A is read once and whole, and each line of B is written once
// and whole, PAST the caches: nobody here needs it again, and a CPU would fetch it before it writes.
// Where rows do not begin with a line, parts of two are moved, and B goes through the caches.
//
// A thread goes down DOWN squares, BESIDE squares wide, so that it writes along the rows of B, and does
// so ACROSS times side by side. Rows lie too far apart for a CPU to guess the next: lines are asked for
// that are AHEAD, to the right of each, where it goes next, or squares that are BELOW, where the caches
// cannot keep as many rows as it goes down.
#define LANES (512 / REAL_BITS)  // elements in 64 bytes
#if REAL_BITS == 64
typedef unsigned long long Bits;
#elif REAL_BITS == 32
typedef unsigned int Bits;
#else
typedef unsigned short Bits;
#endif
typedef Bits Lanes __attribute__((ext_vector_type(LANES)));
struct Line {
    Lanes native;
};
struct __attribute__((packed)) Unaligned {  // across two lines
    Lanes native;
};

// Squares of D x D beside the diagonal change places: lane j of the upper row and of the lower one.
#define UPPER(j, D) ((j) & (D) ? LANES + (j) - (D) : (j))
#define LOWER(j, D) ((j) & (D) ? LANES + (j) : (j) + (D))
#define OF_4(row, j, D) row(j, D), row(j + 1, D), row(j + 2, D), row(j + 3, D)
#define OF_8(row, j, D) OF_4(row, j, D), OF_4(row, j + 4, D)
#if LANES == 8
#define OF_ALL(row, D) OF_8(row, 0, D)
#elif LANES == 16
#define OF_ALL(row, D) OF_8(row, 0, D), OF_8(row, 8, D)
#else
#define OF_ALL(row, D) OF_8(row, 0, D), OF_8(row, 8, D), OF_8(row, 16, D), OF_8(row, 24, D)
#endif

template <int D> __device__ __forceinline__ void exchange(Line *rows)
{
#pragma unroll
    for (int y = 0; y < LANES; y++) {
        if ((y & D) == 0) {
            Lanes upper = rows[y].native, lower = rows[y + D].native;
            rows[y].native = __builtin_shufflevector(upper, lower, OF_ALL(UPPER, D));
            rows[y + D].native = __builtin_shufflevector(upper, lower, OF_ALL(LOWER, D));
        }
    }
}

__global__ void transposeLines(const real *A, real *B, int N)
{
    int top = (blockIdx.y * blockDim.y + threadIdx.y) * DOWN * LANES;
    int left = (blockIdx.x * blockDim.x + threadIdx.x) * ACROSS * BESIDE * LANES;
    int right = min(left + ACROSS * BESIDE * LANES, N);
    bool past = PAST && N % LANES == 0;  // each row begins with a line
#pragma unroll 1
    for (int first = left; first < right; first += BESIDE * LANES) {
#pragma unroll 1  // one loop over all squares: with two, compilers make this half as fast
        for (int i = 0; i < DOWN * BESIDE; i++) {
            int row = top + i / BESIDE * LANES, col = first + i % BESIDE * LANES;
            if (row + LANES > N || col + LANES > N) {  // at the edges, where the square is not whole
                for (int y = row; y < min(row + LANES, N); y++) {
                    for (int x = col; x < min(col + LANES, N); x++) {
                        B[x * N + y] = A[y * N + x];
                    }
                }
                continue;
            }
            Line rows[LANES];
#pragma unroll
            for (int y = 0; y < LANES; y++) {
                const real *line = A + (row + y) * N + col;
                rows[y].native = ((const Unaligned *)line)->native;
#if AHEAD
                __builtin_prefetch(line + AHEAD * LANES);
#endif
#if BELOW  // into the second cache: so many rows of a matrix share a few lines of the first
                __builtin_prefetch(line + BELOW * LANES * N, 0, 2);
#endif
            }
#if LANES == 32
            exchange<16>(rows);
#endif
#if LANES >= 16
            exchange<8>(rows);
#endif
            exchange<4>(rows);
            exchange<2>(rows);
            exchange<1>(rows);
#pragma unroll
            for (int x = 0; x < LANES; x++) {
                real *line = B + (col + x) * N + row;
                if (past) {
                    __stcs((Line *)line, rows[x]);
                } else {
                    ((Unaligned *)line)->native = rows[x].native;
                }
            }
        }
    }
}
