"""What a kernel that notes its accesses calls, in C++ for OpenCL, and how the notes lie in memory.

One block is launched alone. It takes its place in the grid from ``Head``, and so does all that the
prelude, before which this stands, makes of it. Each of its threads that is looked at has room for
as many notes as all others, and counts those that found none.
"""

from __future__ import annotations

import numpy as np

from gpuexplorer.core.accesses import MOST_ARRAYS

SITE_BITS, WIDTH_BITS, PIECE_BITS = 20, 20, 8
"""The third number of a note: site, bytes, bytes of the pieces they come in, array."""

HEAD = np.dtype(
    [
        ("base", "u8", MOST_ARRAYS), ("size", "u8", MOST_ARRAYS), ("bound", "u8"),
        ("arrays", "u4"), ("capacity", "u4"), ("first", "u4"), ("lanes", "u4"),
        ("block", "u4", 3), ("grid", "u4", 3),
    ]
)  # fmt: skip
"""``bound`` is 1 more than the site of an element that something refers to."""
LANE = np.dtype([("stamp", "u8"), ("count", "u4"), ("lost", "u4"), ("call", "u8")])
NOTE = np.dtype([("stamp", "u8"), ("offset", "u8"), ("what", "u8")])

BEGIN = "gpux_begin"
"""The kernel that is told where the notes go; it runs before."""

RECORDING = f"""\
#line 1 "prelude"
struct gpux_lane {{ ulong stamp; uint count, lost; ulong call; }};
struct gpux_head {{
    ulong base[{MOST_ARRAYS}], size[{MOST_ARRAYS}], bound;
    uint arrays, capacity, first, lanes, block[3], grid[3];
}};
__global gpux_head *gpux_recorder;
__global gpux_lane *gpux_lanes;
__global ulong *gpux_notes;
__kernel void {BEGIN}(__global gpux_head *head, __global gpux_lane *lanes, __global ulong *notes) {{
    gpux_recorder = head; gpux_lanes = lanes; gpux_notes = notes; }}
size_t gpux_group_id(uint axis) {{ return gpux_recorder->block[axis]; }}
size_t gpux_num_groups(uint axis) {{ return gpux_recorder->grid[axis]; }}
#define get_group_id gpux_group_id
#define get_num_groups gpux_num_groups
__global gpux_lane *gpux_mine() {{
    uint number = (uint)get_local_linear_id() - gpux_recorder->first;
    return number < gpux_recorder->lanes ? gpux_lanes + number : 0; }}
ulong gpux_mixed(ulong a, ulong b, ulong c) {{
    ulong all = (a ^ b << 32) + c * 0x9E3779B97F4A7C15UL + 0xD1B54A32D192ED03UL;
    all = (all ^ all >> 30) * 0xBF58476D1CE4E5B9UL;
    all = (all ^ all >> 27) * 0x94D049BB133111EBUL;
    return all ^ all >> 31; }}
struct gpux_loop {{
    ulong outer; uint id, times;
    gpux_loop(uint id_) : outer(0), id(id_), times(0) {{
        if (__global gpux_lane *lane = gpux_mine()) outer = lane->stamp; }}
    void next() {{
        if (__global gpux_lane *lane = gpux_mine()) lane->stamp = gpux_mixed(outer, id, ++times); }}
    ~gpux_loop() {{ if (__global gpux_lane *lane = gpux_mine()) lane->stamp = outer; }}
}};
struct gpux_frame {{
    ulong outer;
    gpux_frame() : outer(0) {{
        if (__global gpux_lane *lane = gpux_mine()) {{
            outer = lane->stamp; lane->stamp = gpux_mixed(outer, lane->call, 0); }} }}
    ~gpux_frame() {{ if (__global gpux_lane *lane = gpux_mine()) lane->stamp = outer; }}
}};
void gpux_calls(uint id) {{ if (__global gpux_lane *lane = gpux_mine()) lane->call = id; }}
void gpux_array(uint number, ulong base, ulong size) {{
    gpux_recorder->base[number] = base;
    if (size != 0) gpux_recorder->size[number] = size; }}
__attribute__((noinline)) void gpux_note(
    ulong at, ulong width, ulong piece, uint site, bool bound) {{
    __global gpux_lane *lane = gpux_mine();
    if (lane == 0) return;
    for (uint array = 0; array < gpux_recorder->arrays; array++) {{
        ulong offset = at - gpux_recorder->base[array];
        if (offset >= gpux_recorder->size[array]) continue;
        if (bound) gpux_recorder->bound = site + 1;
        if (lane->count == gpux_recorder->capacity) {{ lane->lost++; return; }}
        ulong number = (ulong)(lane - gpux_lanes) * gpux_recorder->capacity + lane->count++;
        gpux_notes[3 * number] = lane->stamp;
        gpux_notes[3 * number + 1] = offset;
        gpux_notes[3 * number + 2] = site | width << {SITE_BITS} |
            piece << {SITE_BITS + WIDTH_BITS} |
            (ulong)array << {SITE_BITS + WIDTH_BITS + PIECE_BITS};
        return;
    }} }}
template <typename T> T &gpux_to(uint site, T &element) {{
    gpux_note((ulong)&element, sizeof(T), alignof(T), site, false); return element; }}
template <typename T, size_t N> auto gpux_to(uint, T (&row)[N]) -> T (&)[N] {{ return row; }}
template <typename T> T &gpux_bound(uint site, T &element) {{
    gpux_note((ulong)&element, sizeof(T), alignof(T), site, true); return element; }}
template <typename T, size_t N> auto gpux_bound(uint, T (&row)[N]) -> T (&)[N] {{ return row; }}
template <typename T> T *gpux_at(uint site, T *element) {{
    gpux_note((ulong)element, sizeof(T), alignof(T), site, false); return element; }}
template <typename T> T *gpux_part(uint site, ulong size, T *begin) {{
    if (size != 0) gpux_note((ulong)begin, size, size, site, false);
    return begin; }}
"""
