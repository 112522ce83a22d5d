// As in online, but a thread answers QUERIES queries and takes KEYS keys at a time. The scores of
// such a tile are summed in registers: an element of K serves QUERIES of them, one of Q serves KEYS.
// What was summed so far is put right once a tile instead of once a key.
//
// A thread's queries lie blockDim.x apart. Keys past the end repeat the last one and weigh nothing.
// Places that all threads share walk along d in 64 bits: a CPU computes them once for a whole vector.
__global__ void attentionTiled(const real *Q, const real *K, const real *V, real *O, int S, int D,
                               accum scale)
{
    extern __shared__ accum kept[];
    int width = blockDim.x;
    int x = threadIdx.x;
    int side = width * QUERIES;  // queries of the block
    int sums = D * side;         // where they begin, behind the queries
    int first = blockIdx.y * side + x;
    long long head = (long long)blockIdx.x * S * D;

    accum largest[QUERIES];
    accum total[QUERIES];
    for (int q = 0; q < QUERIES; q++) {
        long long mine = head + (long long)min(first + q * width, S - 1) * D;
        for (int d = 0; d < D; d++) {
            kept[d * side + q * width + x] = (accum)Q[mine + d] * scale;
            kept[sums + d * side + q * width + x] = 0;
        }
    }
#pragma unroll
    for (int q = 0; q < QUERIES; q++) {
        largest[q] = -INFINITY;
        total[q] = 0;
    }

    for (int start = 0; start < S; start += KEYS) {
        long long rows[KEYS];  // where the keys of this tile begin
        accum powers[QUERIES][KEYS];
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            rows[k] = head + (long long)min(start + k, S - 1) * D;
#pragma unroll
            for (int q = 0; q < QUERIES; q++) {
                powers[q][k] = 0;
            }
        }
        long long asked = 0;  // where the queries' elements of this d stand
        for (int d = 0; d < D; d++) {
            accum mine[QUERIES];
#pragma unroll
            for (int q = 0; q < QUERIES; q++) {
                mine[q] = kept[asked + q * width + x];
            }
            asked += side;
#pragma unroll
            for (int k = 0; k < KEYS; k++) {
                accum key = (accum)K[rows[k] + d];
#pragma unroll
                for (int q = 0; q < QUERIES; q++) {
                    powers[q][k] += mine[q] * key;
                }
            }
        }

        accum shrink[QUERIES];
#pragma unroll
        for (int q = 0; q < QUERIES; q++) {
            accum larger = largest[q];
#pragma unroll
            for (int k = 0; k < KEYS; k++) {
                powers[q][k] = start + k < S ? powers[q][k] : -INFINITY;
                larger = max(larger, powers[q][k]);
            }
            shrink[q] = exp(largest[q] - larger);
            largest[q] = larger;
            total[q] *= shrink[q];
#pragma unroll
            for (int k = 0; k < KEYS; k++) {
                powers[q][k] = exp(powers[q][k] - larger);
                total[q] += powers[q][k];
            }
        }

        long long summed = sums;
        for (int d = 0; d < D; d++) {
            accum sum[QUERIES];
#pragma unroll
            for (int q = 0; q < QUERIES; q++) {
                sum[q] = kept[summed + q * width + x] * shrink[q];
            }
#pragma unroll
            for (int k = 0; k < KEYS; k++) {
                accum value = (accum)V[rows[k] + d];
#pragma unroll
                for (int q = 0; q < QUERIES; q++) {
                    sum[q] += powers[q][k] * value;
                }
            }
#pragma unroll
            for (int q = 0; q < QUERIES; q++) {
                kept[summed + q * width + x] = sum[q];
            }
            summed += side;
        }
    }

#pragma unroll
    for (int q = 0; q < QUERIES; q++) {
        int query = first + q * width;
        if (query < S) {
            accum share = (accum)1 / total[q];
            for (int d = 0; d < D; d++) {
                O[head + (long long)query * D + d] =
                    (real)(kept[sums + d * side + q * width + x] * share);
            }
        }
    }
}
