"""Reads that no barrier puts after another thread's write are refused, and no others."""

from __future__ import annotations

import time

import pytest

from gpuexplorer.compile.rewriter import rewrite
from gpuexplorer.core.errors import WorkFailed

KERNEL = """\
#define SYNC() __syncthreads()
#define WAIT SYNC()
#define TID threadIdx.x
namespace cg = cooperative_groups;
__device__ void settle(cg::thread_block all) {{ all.sync(); }}
__device__ int number() {{ return threadIdx.x; }}
__device__ void settle_too(cg::thread_block all) {{ settle(all); }}
__global__ void k(float *x, float *y, int n)
{{
    __shared__ float s[1024];
    __shared__ float factor;
    __shared__ int count;
    cg::thread_block b = cg::this_thread_block();
    int t = threadIdx.x, lane = t & 31, i = blockIdx.x * blockDim.x + threadIdx.x;
{}
}}
"""

FIRST = KERNEL[: KERNEL.index("{}\n")].count("\n") + 1
"""The line of a file where what is put into the kernel begins."""

RIGHT = {
    "a scan by one thread": (
        "s[t] = x[i];\n__syncthreads();\n"
        "if (threadIdx.x == 0) for (int k = 1; k < 256; ++k) s[k] = s[k] + s[k - 1];"
    ),
    "a scan by one thread whose counter has a name of all threads": (
        "s[t] = x[i];\n__syncthreads();\n"
        "if (t == 0 && n > 0) { for (int i = 1; i < 256; ++i) s[i] = s[i] + s[i - 1]; }"
    ),
    "a sort by the last thread": (
        "s[t] = x[t];\n__syncthreads();\nif (t == blockDim.x - 1)\n"
        "for (int a = 0; a < 63; a++) for (int j = 0; j < 63 - a; j++)\n"
        "if (s[j] > s[j + 1]) { float h = s[j]; s[j] = s[j + 1]; s[j + 1] = h; }"
    ),
    "a scan by each thread of its own part": (
        "int first = t * 8;\nfor (int k = first; k < first + 8; ++k) s[k] = x[k];\n"
        "for (int k = first + 1; k < first + 8; ++k) s[k] = s[k] + s[k - 1];"
    ),
    "slots of one's own": (
        "int base = 2 * threadIdx.x;\ns[base] = x[i];\ns[base + 1] = x[i] * x[i];\n"
        "y[i] = s[base] + s[base + 1];"
    ),
    "slots of one's own by a shift": (
        "int base = t << 1;\nfor (int k = 0; k < 2; ++k) s[base + k] = 0.0f;\n"
        "s[base] = x[i];\ny[i] = s[base] + s[base + 1];"
    ),
    "two elements of one's own, a block apart": (
        "s[t] = x[i];\ns[t + 256] = x[i + 256];\ny[i] = s[t] + s[t + 256];"
    ),
    "a macro's barrier": "s[t] = x[i];\nSYNC();\ny[i] = s[t + 1];",
    "the barrier of a macro's macro": "s[t] = x[i];\nWAIT;\ny[i] = s[t + 1];",
    "a helper's barrier": "s[t] = x[i];\nsettle(b);\ny[i] = s[t + 1];",
    "the barrier of a helper's helper": "s[t] = x[i];\nsettle_too(b);\ny[i] = s[t + 1];",
    "a barrier in a condition": (
        "s[t] = x[i];\nif (__syncthreads_or(n > 3)) y[i] = s[t + 1];"
    ),
    "a warp's barrier": "s[t] = x[i];\n__syncwarp();\ny[i] = s[lane + 1] + s[t + 1];",
    "one thread's word behind a barrier": (
        "if (t == 0) factor = x[0];\n__syncthreads();\ny[i] = x[i] * factor;"
    ),
    "one thread's element behind a barrier": (
        "if (t == 0) s[0] = x[0];\n__syncthreads();\ny[i] = x[i] * s[0];"
    ),
    "one thread's word to itself": (
        "if (t == 0) factor = x[0];\nif (t == 0) y[i] = factor;"
    ),
    "one thread's word to itself, by name": (
        "bool first = t == 0;\nif (t == 0) factor = x[0];\nif (first) y[i] = factor;"
    ),
    "one thread's word where the others are gone": (
        "if (t == 0) factor = x[0];\nif (t != 0) return;\ny[i] = factor;"
    ),
    "one thread's word where the others are gone, shortly": (
        "if (t == 0) factor = x[0];\nif (t) return;\ny[i] = factor;"
    ),
    "one thread's word where the others are gone on both axes": (
        "if (t == 0 && threadIdx.y == 0) factor = x[0];\n"
        "if (threadIdx.x || threadIdx.y) return;\ny[i] = factor;"
    ),
    "one thread's word where the others are gone, the other way round": (
        "if (t == 0) factor = x[0];\nif (0 < t) return;\ny[i] = factor;"
    ),
    "one thread's word beside what the others do": (
        "if (t == 0) factor = x[0];\nif (t != 0) y[i] = 1; else y[i] = factor;"
    ),
    "one thread's word, and the others leave": (
        "if (t == 0) factor = x[0]; else return;\ny[i] = factor;"
    ),
    "one thread's word behind a barrier, by its rank": (
        "if (b.thread_rank() == 0) factor = x[0];\nb.sync();\ny[i] = x[i] * factor;"
    ),
    "one thread's word where the others are gone, by its rank": (
        "if (b.thread_rank() == 0) factor = x[0];\nif (b.thread_rank() > 0) return;\n"
        "y[i] = factor;"
    ),
    "one thread's word in rounds of its own": (
        "if (t == 0) factor = x[0];\nfor (int k = 0; k < n; ++k) { if (t != 0) continue;\n"
        "y[k] = factor; }"
    ),
    "one thread's word in a case of its own": (
        "if (t == 0) factor = x[0];\nswitch (t) { case 0: y[i] = factor; break; }"
    ),
    "one thread's word on a path that has left": (
        "if (n < 0) { if (t == 0) factor = 1; return; }\ny[i] = factor;"
    ),
    "one thread's word in a lambda that is called behind a barrier": (
        "if (t == 0) factor = x[0];\nauto f = [&](float v) { return v * factor; };\n"
        "__syncthreads();\ny[i] = f(x[i]);"
    ),
    "a local variable of the same name": (
        "if (t == 0) count = n;\nfor (int count = 0; count < 5; ++count) y[count] = 0;"
    ),
    "a sum of two arrays in a loop of halves": (
        "__shared__ float v[1024];\nfor (int k = 512; k > 0; k /= 2) { if (t < k) {\n"
        "s[t] += s[t + k]; v[t] += s[t + k] * v[t + k]; }\n__syncthreads(); }"
    ),
    "sums of what lies beyond those who write": (
        "if (t < 64) { s[t] += s[t + 64]; s[t] += s[t + 128]; s[t] += s[t + 192]; }"
    ),
    "a scan by the thread that stays": (
        "s[t] = x[i];\n__syncthreads();\nif (threadIdx.x != 0) return;\n"
        "for (int k = t + 1; k < 256; ++k) s[k] = s[k] + s[k - 1];"
    ),
    "a scan by one thread, the first below one": (
        "s[t] = x[i];\n__syncthreads();\n"
        "if (t < 1) { for (int k = t + 1; k < 256; ++k) s[k] = s[k] + s[k - 1]; }"
    ),
    "a word that each thread writes as well": (
        "if (t == 0) factor = x[0];\nfactor = 2.0f;\ny[i] = factor;"
    ),
    "a round of a loop between two barriers": (
        "for (int k = 0; k < n; ++k) { if (t == 0) factor = x[k]; __syncthreads();\n"
        "y[i] += factor; __syncthreads(); }"
    ),
    "an address alone": "if (t == 0) count = 0;\nint *of = &count;\n__syncthreads();\nn = *of;",
    "a number beside the one that was written": "if (t == 0) s[0] = 1.0f;\ny[i] = s[t];",
    "one's own element by a pointer": "float *p = s;\np[t] = x[i];\ny[i] = s[t] + p[t];",
    "a neighbour by a pointer behind a barrier": (
        "float *p = s;\np[t] = x[i];\n__syncthreads();\ny[i] = s[t + 1];"
    ),
    "a pointer to somewhere behind": "float *p = s + 512;\ns[t] = x[i];\ny[i] = p[t + 1];",
    "a pointer to an element behind": "float *p = &s[512];\ns[t] = x[i];\ny[i] = p[t + 1];",
    "a pointer to one of two": (
        "float *p = n > 3 ? s : s + 512;\ns[t] = x[i];\ny[i] = p[t + 1];"
    ),
    "pointers that are swapped": (
        "__shared__ float v[1024];\nfloat *p = s, *q = v;\n"
        "for (int k = 0; k < n; ++k) { p[t] = q[t + 1]; float *h = p; p = q; q = h;\n"
        "__syncthreads(); }"
    ),
    "a pointer that goes on": "float *p = s;\np += 512;\ns[t] = x[i];\ny[i] = p[t + 1];",
    "a pointer that counts": "float *p = s;\np++;\ns[t] = x[i];\ny[i] = p[t + 1];",
    "a pointer that something else may change": (
        "float *p = s;\nfloat **of = &p;\n*of = y;\ns[t] = x[i];\ny[i] = p[t + 1];"
    ),
    "a reference to a pointer": (
        "float *p = s;\nfloat *&of = p;\nof = y;\ns[t] = x[i];\ny[i] = p[t + 1];"
    ),
    "two pointers of one name": (
        "{ float *p = s; p[t] = x[i]; }\n{ float *p = y; y[i] = p[t + 1]; }"
    ),
    "a local array of a pointer's name": (
        "{ float *p = s; p[t] = x[i]; }\n{ float p[4]; y[i] = p[t + 1]; }"
    ),
    "an array that hides the shared one": (
        "s[t] = x[i];\n{ float s[300]; float *p = s; y[i] = p[t + 1]; }"
    ),
    "a pointer in shared memory": (
        "__shared__ float *of;\nof = x;\nfloat *p = of;\nof = y;\nof[t] = 0;\ny[i] = p[t + 1];"
    ),
    "a global array by a pointer": "float *p = y;\np[t] = x[i];\ny[i] = p[t + 1];",
    "a pointer's own declaration by one thread": (
        "if (t == 0) { auto p = s; p[1] = 0; }\nfloat *q = s;\nq[t] = x[i];"
    ),
    "a case that writes beside one that reads": (
        "switch (n) { case 0: s[t] = x[i]; break; case 1: y[i] = s[t + 1]; break; }"
    ),
    "a case in braces that writes beside one that reads": (
        "switch (n) { case 0: { s[t] = x[i]; break; }\ndefault: { y[i] = s[t + 1]; } }"
    ),
    "a case that writes and leaves": (
        "switch (n) { case 0: s[t] = x[i]; return; default: ; }\ny[i] = s[t + 1];"
    ),
    "cases that each wait": (
        "switch (n) { case 0: s[t] = x[i]; __syncthreads(); break;\n"
        "default: if (i < n) s[t] = 0.0f; __syncthreads(); }\ny[i] = s[t + 1];"
    ),
    "one thread's word to itself in a case": (
        "switch (t) { case 0: factor = x[0]; y[i] = factor; break; default: y[i] = 0; }"
    ),
    "one thread's word where a switch lets no other go on": (
        "switch (t) { case 0: break; default: return; }\ns[t] = x[i];\ny[i] = s[t + 1];"
    ),
    "a word of several cases": (
        "switch (t) { case 0: case 1: factor = x[0]; break; }\ny[i] = factor;"
    ),
    "a word that is written on the way from one case to the next": (
        "switch (n) { case 0: if (t == 0) factor = x[0];\ncase 1: factor = 2.0f; }\ny[i] = factor;"
    ),
    "the same case in each round of a loop": (
        "for (int k = 0; k < n; ++k)\n"
        "switch (n) { case 0: s[t] = x[k]; break; case 1: y[k] = s[t + 1]; }"
    ),
    "a case that waits in each round of a loop": (
        "for (int k = 0; k < n; ++k) { s[t] = x[k];\n"
        "switch (n) { case 0: __syncthreads(); break; default: __syncthreads(); }\n"
        "y[k] = s[t + 1]; __syncthreads(); }"
    ),
    "a break of some threads in a switch in a loop with a barrier": (
        "int k = 0, of = n;\nwhile (k < of) { s[t] = x[k];\n"
        "switch (t & 1) { case 0: break; default: y[k] = 0; }\n"
        "__syncthreads(); y[k] = s[t + 1]; __syncthreads(); k += 1; of -= 1; }"
    ),
    "an array of pointers of a pointer's name": (
        "{ float *p = s; p[t] = x[i]; }\n{ Some *p[4]; y[i] = p[t + 1]; }"
    ),
    "a way of a loop beside the one that writes": (
        "for (int k = 0; k < n; ++k) { if (n) s[t] = x[k]; else y[k] = s[t + 1]; }"
    ),
    "a way of a loop in a loop beside the one that writes": (
        "for (int k = 0; k < n; ++k) for (int j = 0; j < 4; ++j) {\n"
        "if (n > 3) { s[t] = x[k]; } else { y[j] = s[t + 1]; } }"
    ),
    "a way of a loop beside one thread's word": (
        "for (int k = 0; k < n; ++k) {\n"
        "if (n > 3) { if (t == 0) factor = x[k]; } else y[k] = factor; }"
    ),
    "a third way of a loop beside the one that writes": (
        "while (n > 0) { if (blockIdx.x == 0) s[t] = x[i]; else if (blockIdx.x == 1) y[i] = 0;\n"
        "else y[i] = s[t + 1]; n -= 1; }"
    ),
    "the way of another number": "if (n == 0) s[t] = x[i];\nif (n == 1) y[i] = s[t + 1];",
    "the way of the opposite": "if (n) s[t] = x[i];\nif (!n) y[i] = s[t + 1];",
    "the way of the opposite comparison": (
        "if (n >= 32) s[t] = x[i];\nif (n < 32) y[i] = s[t + 1];"
    ),
    "what follows a way that leaves": (
        "if (n == 0) s[t] = x[i];\nif (n == 0) return;\ny[i] = s[t + 1];"
    ),
    "a way of a condition that has changed": (
        "int m = n > 3;\nif (m) s[t] = x[i];\nm = !m;\nif (m) y[i] = s[t + 1];"
    ),
    "labels deeper inside": (
        "switch (n) { case 0: do { s[t] = x[i]; break;\ncase 1: y[i] = s[t + 1]; } while (0); }"
    ),
}  # fmt: skip
WRONG = {
    "a neighbour": ("s[t] = x[i];\ny[i] = s[t + 1];", 2),
    "a neighbour by CUDA's own name": (
        "s[threadIdx.x] = x[i];\ny[i] = s[threadIdx.x - 1];", 2,
    ),
    "a neighbour by a macro's name": ("s[TID] = x[i];\ny[i] = s[TID + 1];", 2),
    "a neighbour by a helper's number": ("int u = number();\ns[u] = x[i];\ny[i] = s[u + 1];", 3),
    "a neighbour in a plane": (
        "int at = threadIdx.y * blockDim.x + t;\ns[at] = x[i];\ny[i] = s[at + 1];", 3,
    ),
    "a neighbour of one thread": ("s[t] = x[i];\nif (t == 0) y[0] = s[t + 1];", 2),
    "one thread of each row": (
        "if (threadIdx.x == 0) { int r = threadIdx.y; s[r] = 1.0f; y[r] = s[r + 1]; }", 1,
    ),
    "one lane of each warp": (
        "int w = t / 32;\nif (lane == 0) { s[w] = x[i]; y[w] = s[w + 1]; }", 2,
    ),
    "every other thread": ("if (t % 2 == 0) { s[t] = x[i]; y[i] = s[t + 2]; }", 1),
    "all but one thread": ("if (t == 0) n = 1; else { s[t] = x[i]; y[i] = s[t - 1]; }", 1),
    "both ways": ("if (n) s[t] = x[i]; else { __syncthreads(); s[t] = 0; }\ny[i] = s[t + 1];", 2),
    "a sum in step by a row's warp (Bell and Garland)": (
        "s[threadIdx.x] = x[i];\n"
        "if (lane < 16) s[threadIdx.x] += s[threadIdx.x + 16];\n"
        "if (lane < 8) s[threadIdx.x] += s[threadIdx.x + 8];", 2,
    ),
    "a sum in step by the last warp (Harris)": (
        "s[t] = x[i];\n__syncthreads();\n"
        "if (t < 32) { volatile float *v = s; v[t] += v[t + 32]; v[t] += v[t + 16]; }", 3,
    ),
    "one thread's word": ("if (t == 0) factor = x[0];\ny[i] = x[i] * factor;", 2),
    "one thread's word, by its rank": (
        "if (b.thread_rank() == 0) factor = x[0];\ny[i] = x[i] * factor;", 2,
    ),
    "one thread's word, by the rank in a variable": (
        "int r = cg::this_thread_block().thread_rank();\nif (r == 0) factor = x[0];\n"
        "y[i] = x[i] * factor;", 3,
    ),
    "one thread's word, in braces and guarded": (
        "if (threadIdx.x == 0) { factor = x[0]; }\nif (i < n) y[i] = x[i] * factor;", 2,
    ),
    "one thread's element": ("if (!t) s[0] = x[0];\ny[i] = x[i] * s[0];", 2),
    "one thread's word of two in a declaration": (
        "__shared__ float a, b;\nif (t == 0) { a = x[0]; b = x[1]; }\ny[i] = x[i] * a;", 3,
    ),
    "a neighbour in the second array of a declaration": (
        "__shared__ float p[32], q[32];\nq[t] = x[i];\ny[i] = q[t + 1];", 3,
    ),
    "the word of the first below one": ("if (t < 1) factor = x[0];\ny[i] = x[i] * factor;", 2),
    "one thread's word behind a guard": (
        "if (i >= n) return;\nif (t == 0) factor = x[0];\ny[i] = x[i] * factor;", 3,
    ),
    "a count that one thread begins": ("if (t == 0) count = 0;\natomicAdd(&count, 1);", 2),
    "a loop's bound by one thread": (
        "if (t == 0) count = n;\nfor (int k = 0; k < count; ++k) y[k] = x[k];", 2,
    ),
    "the word of a loop's round before": (
        "for (int k = 0; k < n; ++k) {\ny[i] += factor;\n__syncthreads();\n"
        "if (t == 0) factor = x[k]; }", 2,
    ),
    "a neighbour by a pointer": (
        "float *p = s;\np[threadIdx.x] = x[i];\ny[i] = p[threadIdx.x + 1];", 3,
    ),
    "a neighbour that was written by a pointer": (
        "float *p = s;\np[t] = x[i];\ny[i] = s[t + 1];", 3,
    ),
    "a neighbour that is read by a pointer": (
        "const float *__restrict__ p = &s[0];\ns[t] = x[i];\ny[i] = p[t + 1];", 3,
    ),
    "a neighbour by a pointer's pointer": (
        "float *a = y, *p = s;\nauto q = p;\nq[t] = x[i];\na[i] = p[t + 1];", 4,
    ),
    "one thread's element by a pointer": (
        "float *p = s;\nif (t == 0) p[0] = x[0];\ny[i] = x[i] * s[0];", 3,
    ),
    "a neighbour in one case": (
        "switch (n) { case 0: s[t] = x[i];\ny[i] = s[t + 1]; break; default: ; }", 2,
    ),
    "a neighbour in the case behind": (
        "switch (n) { case 0: s[t] = x[i];\ncase 1: y[i] = s[t + 1]; }", 2,
    ),
    "a neighbour behind a case": (
        "switch (n) { case 0: s[t] = x[i]; break;\ndefault: return; }\ny[i] = s[t + 1];", 3,
    ),
    "a neighbour behind no case at all": (
        "s[t] = x[i];\nswitch (n) { case 0: __syncthreads(); }\ny[i] = s[t + 1];", 3,
    ),
    "a neighbour of the case of a round before": (
        "for (int k = 0; k < n; ++k)\n"
        "switch (k) { case 0: s[t] = x[k]; break;\ncase 1: y[k] = s[t + 1]; }", 3,
    ),
    "a neighbour of the way of a round before": (
        "for (int k = 0; k < n; ++k) {\nif (k % 2) s[t] = x[k];\nelse y[k] = s[t + 1]; }", 3,
    ),
    "a neighbour of a way that a loop chooses anew": (
        "for (int k = 0; k < 8; ++k) {\nif (n & 1) s[t] = x[k]; else y[k] = s[t + 1];\nn /= 2; }",
        2,
    ),
    "a neighbour of a round before on the same way": (
        "for (int k = 0; k < n; ++k)\nif (n > 3) { y[k] = s[t + 1];\ns[t] = x[k]; }", 2,
    ),
    "a neighbour on the same way twice": (
        "if (n > 3) s[t] = x[i];\nif (n > 3) y[i] = s[t + 1];", 2,
    ),
    "a neighbour on another way that may be gone as well": (
        "if (n >= 64) s[t] = x[i];\nif (n >= 32) y[i] = s[t + 1];", 2,
    ),
    "a neighbour on a way of the way": (
        "if (n) { s[t] = x[i];\nif (n > 3) y[i] = s[t + 1]; }", 2,
    ),
    "a neighbour of a thread on the other way": (
        "for (int k = 0; k < n; ++k) {\nif (t % 2) s[t] = x[k];\nelse y[k] = s[t + 1]; }", 3,
    ),
    "one thread's word in a case": (
        "switch (t) { case 0: factor = x[0]; break; default: n = 1; }\ny[i] = x[i] * factor;", 2,
    ),
    "one thread's word in a case in braces": (
        "switch (threadIdx.x) { case 0: { factor = x[0]; } break; }\ny[i] = x[i] * factor;", 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("inside", RIGHT.values(), ids=RIGHT.keys())
def test_what_no_other_thread_wrote_since_a_barrier_is_accepted(inside: str) -> None:
    assert "k" in rewrite("k.cu", {"k.cu": KERNEL.format(inside)}).kernels


@pytest.mark.parametrize(("inside", "line"), WRONG.values(), ids=WRONG.keys())
def test_what_another_thread_may_not_have_written_yet_is_refused(inside: str, line: int) -> None:
    with pytest.raises(
        WorkFailed, match=rf"^k\.cu:{FIRST + line - 1}: this reads what another thread"
    ):
        rewrite("k.cu", {"k.cu": KERNEL.format(inside)})


def test_texts_of_any_shape_are_read_in_time() -> None:
    """Each took from seconds to for ever."""
    deep = "".join(f"int v{k + 1} = v{k};\n" for k in range(1500))
    shared = "".join(
        f"int a{k + 1} = a{k} + b{k}; int b{k + 1} = a{k} - b{k};\n" for k in range(30)
    )
    loops = "".join(f"for (int k{d} = 0; k{d} < n; ++k{d}) {{\n" for d in range(25))
    texts = (
        f"int v0 = t;\n{deep}if (v1500 == 0) count = 1;",
        f"int a0 = t, b0 = t;\n{shared}if (a30 == 0) factor = 1;",
        f"{loops}if (t == 0) s[0] = 1;{'}' * 25}",
        f"const int table[] = {{{'(1),' * 5000}}};\nint j = table[3];\ns[j] = 1;",
        "if (t == 0) {" + "".join(f"s[{k}]=1;\n" for k in range(5000)) + "}",
    )
    began = time.process_time()
    for text in texts:
        assert "k" in rewrite("k.cu", {"k.cu": KERNEL.format(text)}).kernels
    assert time.process_time() - began < 60
