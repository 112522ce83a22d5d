// One warp computes one row, and reads it twice instead of three times: the largest element so far
// and the sum so far go together. Where a larger element comes, the sum was made with too small a
// maximum, and one factor for EACH elements puts that right.
__global__ void softmaxOnline(const real *X, real *Y, int B, int D)
{
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row < B) {
        const real *x = X + (long long)row * D;
        real *y = Y + (long long)row * D;

        // All threads make the same rounds, so that a CPU's vector unit runs them together.
        accum largest = (accum)x[min(lane, D - 1)];
        accum sum = 0;
        int start = 0;
        for (; start + EACH * 32 <= D; start += EACH * 32) {
            accum seen[EACH];
            accum larger = largest;
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                seen[k] = (accum)x[start + k * 32 + lane];
                larger = max(larger, seen[k]);
            }
            sum *= exp(largest - larger);
            largest = larger;
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                sum += exp(seen[k] - largest);
            }
        }
        for (; start < D; start += 32) {
            if (start + lane < D) {
                accum one = (accum)x[start + lane];
                accum larger = max(largest, one);
                sum = sum * exp(largest - larger) + exp(one - larger);
                largest = larger;
            }
        }

        // The sums of two threads become one in the same way.
        for (int distance = 16; distance > 0; distance /= 2) {
            accum other = __shfl_xor_sync(0xffffffff, largest, distance);
            accum more = __shfl_xor_sync(0xffffffff, sum, distance);
            accum larger = max(largest, other);
            sum = sum * exp(largest - larger) + more * exp(other - larger);
            largest = larger;
        }

        accum share = (accum)1 / sum;
        for (start = 0; start + 32 <= D; start += 32) {
            y[start + lane] = (real)(exp((accum)x[start + lane] - largest) * share);
        }
        if (start + lane < D) {
            y[start + lane] = (real)(exp((accum)x[start + lane] - largest) * share);
        }
    }
}
