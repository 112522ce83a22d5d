// One thread answers one query, in a single pass over the keys: largest score so far, sum of powers
// and sum of weighted values go together. Where a larger score comes, what was summed with too small
// a maximum is put right by one factor. No score is ever written to memory.
//
// A thread's query and its sums lie in shared memory, D rows of blockDim.x each, so that neighbouring
// threads find theirs beside each other. Nobody reads another's: no barrier is needed.
__global__ void attentionOnline(const real *Q, const real *K, const real *V, real *O, int S, int D,
                                accum scale)
{
    extern __shared__ accum kept[];
    int width = blockDim.x;
    int x = threadIdx.x;
    int sums = D * width;  // where they begin, behind the queries
    int query = blockIdx.y * width + x;
    long long head = (long long)blockIdx.x * S * D;
    long long mine = head + (long long)min(query, S - 1) * D;

    for (int d = 0; d < D; d++) {
        kept[d * width + x] = (accum)Q[mine + d] * scale;
        kept[sums + d * width + x] = 0;
    }

    accum largest = -INFINITY;
    accum total = 0;
    for (int key = 0; key < S; key++) {
        long long row = head + (long long)key * D;
        accum score = 0;
        for (int d = 0; d < D; d++) {
            score += kept[d * width + x] * (accum)K[row + d];
        }
        accum larger = max(largest, score);
        accum shrink = exp(largest - larger);
        accum power = exp(score - larger);
        largest = larger;
        total = total * shrink + power;
        for (int d = 0; d < D; d++) {
            int at = sums + d * width + x;
            kept[at] = kept[at] * shrink + power * (accum)V[row + d];
        }
    }

    if (query < S) {
        accum share = (accum)1 / total;
        for (int d = 0; d < D; d++) {
            O[mine + d] = (real)(kept[sums + d * width + x] * share);
        }
    }
}
