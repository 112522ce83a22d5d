// The formula as it is written, in three launches: every score, then the softmax of each row of
// scores, then the values weighted with them. The scores of all heads lie in memory in between.
__global__ void attentionScores(const real *Q, const real *K, accum *P, int S, int D, accum scale)
{
    int tiles = (S + blockDim.x - 1) / blockDim.x;
    int key = blockIdx.x % tiles * blockDim.x + threadIdx.x;
    int query = blockIdx.y * blockDim.y + threadIdx.y;
    long long head = blockIdx.x / tiles;
    if (key < S && query < S) {
        accum sum = 0;
        for (int d = 0; d < D; d++) {
            sum += (accum)Q[(head * S + query) * D + d] * (accum)K[(head * S + key) * D + d];
        }
        P[(head * S + query) * S + key] = sum * scale;
    }
}

__global__ void attentionSoftmax(accum *P, int S)
{
    int query = blockIdx.y * blockDim.x + threadIdx.x;
    if (query < S) {
        long long first = ((long long)blockIdx.x * S + query) * S;
        accum largest = P[first];
        for (int key = 1; key < S; key++) {
            largest = max(largest, P[first + key]);
        }
        accum sum = 0;
        for (int key = 0; key < S; key++) {
            P[first + key] = exp(P[first + key] - largest);
            sum += P[first + key];
        }
        for (int key = 0; key < S; key++) {
            P[first + key] /= sum;
        }
    }
}

__global__ void attentionValues(const accum *P, const real *V, real *O, int S, int D)
{
    int tiles = (D + blockDim.x - 1) / blockDim.x;
    int d = blockIdx.x % tiles * blockDim.x + threadIdx.x;
    int query = blockIdx.y * blockDim.y + threadIdx.y;
    long long head = blockIdx.x / tiles;
    if (d < D && query < S) {
        accum sum = 0;
        for (int key = 0; key < S; key++) {
            sum += P[(head * S + query) * S + key] * (accum)V[(head * S + key) * D + d];
        }
        O[(head * S + query) * D + d] = (real)sum;
    }
}
