"""CUDA's cooperative groups in C++ for OpenCL: blocks, tiles of a warp, and what they add up.

A tile is a part of a warp, and a warp a sub-group of 32. What spans blocks is refused elsewhere: on
the CPU blocks run one after the other and cannot wait for each other.
"""

from __future__ import annotations

GROUPS = """\
namespace cooperative_groups {
struct thread_block {
    static unsigned thread_rank() {
        return (unsigned)(get_local_id(0)
            + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2))); }
    static unsigned size() {
        return (unsigned)(get_local_size(0) * get_local_size(1) * get_local_size(2)); }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return dim3(blockIdx); }
    static dim3 thread_index() { return dim3(threadIdx); }
    static dim3 group_dim() { return dim3(blockDim); }
    static dim3 dim_threads() { return dim3(blockDim); }
    static void sync() { __syncthreads(); }
};
inline thread_block this_thread_block() { return thread_block(); }
struct grid_group {
    static ulong thread_rank() {
        ulong block = get_group_id(0)
            + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));
        return block * thread_block::size() + thread_block::thread_rank(); }
    static ulong size() {
        return (ulong)get_num_groups(0) * get_num_groups(1) * get_num_groups(2)
            * thread_block::size(); }
    static ulong num_threads() { return size(); }
    static dim3 group_dim() { return dim3(gridDim); }
    static dim3 dim_blocks() { return dim3(gridDim); }
    static unsigned block_rank() {
        return (unsigned)(get_group_id(0)
            + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2))); }
};
inline grid_group this_grid() { return grid_group(); }
template <unsigned N, typename P = void> struct thread_block_tile {
    static_assert(N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads here");
    thread_block_tile() = default;
    template <typename Q> thread_block_tile(const thread_block_tile<N, Q> &) {}
    static unsigned gpux_lane() { return get_sub_group_local_id(); }
    static unsigned gpux_mask() {
        return (N == 32 ? ~0u : ((1u << (N & 31u)) - 1u) << (gpux_lane() & ~(N - 1u))); }
    static unsigned thread_rank() { return gpux_lane() & (N - 1u); }
    static constexpr unsigned size() { return N; }
    static constexpr unsigned num_threads() { return N; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    static unsigned meta_group_size() { return (thread_block::size() + N - 1u) / N; }
    static void sync() { __syncwarp(); }
    template <typename T> static T shfl(T v, int from) { return __shfl_sync(~0u, v, from, N); }
    template <typename T> static T shfl_down(T v, unsigned d) {
        return __shfl_down_sync(~0u, v, d, N); }
    template <typename T> static T shfl_up(T v, unsigned d) { return __shfl_up_sync(~0u, v, d, N); }
    template <typename T> static T shfl_xor(T v, unsigned lanes) {
        return __shfl_xor_sync(~0u, v, (int)lanes, N); }
    static unsigned ballot(int p) {
        unsigned all = sub_group_ballot(p != 0).x & gpux_mask();
        return N == 32 ? all : all >> (gpux_lane() & ~(N - 1u)); }
    static int any(int p) { return ballot(p) != 0; }
    static int all(int p) { return ballot(p == 0) == 0; }
};
template <unsigned N, typename G> inline thread_block_tile<N, G> tiled_partition(const G &) {
    return thread_block_tile<N, G>(); }
struct coalesced_group {
    unsigned mask;
    unsigned size() const { return popcount(mask); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const {
        return popcount(mask & ((1u << get_sub_group_local_id()) - 1u)); }
    void sync() const { __syncwarp(); }
    template <typename T> T shfl(T v, unsigned rank) const {
        unsigned left = mask;
        for (unsigned i = 0; i < rank; i++) left &= left - 1u;
        return __shfl_sync(mask, v, (int)(31u - clz(left & (0u - left)))); }
    unsigned ballot(int p) const {
        unsigned said = sub_group_ballot(p != 0).x & mask, packed = 0, at = 0;
        for (unsigned left = mask; left; left &= left - 1u, at++)
            if (said & left & (0u - left)) packed |= 1u << at;
        return packed; }
    int any(int p) const { return (sub_group_ballot(p != 0).x & mask) != 0; }
    int all(int p) const { return (sub_group_ballot(p == 0).x & mask) == 0; }
};
inline coalesced_group coalesced_threads() {
    coalesced_group g; g.mask = sub_group_ballot(1).x; return g; }
template <typename G> inline void sync(const G &g) { g.sync(); }
template <typename T = void> struct plus { T operator()(T a, T b) const { return a + b; } };
template <typename T = void> struct less {
    T operator()(T a, T b) const { return b < a ? b : a; } };
template <typename T = void> struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; } };
template <typename T = void> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <typename T = void> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <typename T = void> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };
template <unsigned N, typename P, typename T, typename F>
inline T reduce(const thread_block_tile<N, P> &g, T v, F f) {
    for (unsigned d = N / 2; d > 0; d /= 2) v = f(v, g.shfl_xor(v, d));
    return v; }
template <typename T, typename F> inline T reduce(const coalesced_group &g, T v, F f) {
    T all = g.shfl(v, 0);
    for (unsigned i = 1; i < g.size(); i++) all = f(all, g.shfl(v, i));
    return all; }
template <unsigned N, typename P, typename T, typename F>
inline T inclusive_scan(const thread_block_tile<N, P> &g, T v, F f) {
    for (unsigned d = 1; d < N; d *= 2) {
        T other = g.shfl_up(v, d);
        if (g.thread_rank() >= d) v = f(other, v);
    }
    return v; }
template <unsigned N, typename P, typename T>
inline T inclusive_scan(const thread_block_tile<N, P> &g, T v) {
    return inclusive_scan(g, v, plus<T>()); }
template <unsigned N, typename P, typename T>
inline T exclusive_scan(const thread_block_tile<N, P> &g, T v) {
    T sum = g.shfl_up(inclusive_scan(g, v, plus<T>()), 1);
    return g.thread_rank() == 0 ? T() : sum; }
}
"""
