"""What kernels print on the CPU in the launch that is checked: bounded, and with the figures."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.charts.facts import SHOWN_LINES, facts
from gpuexplorer.compile.printing import MORE, MOST_LETTERS, MOST_WORDS, Printed
from tests.backends.opencl_support import device, made_workload, ready_runner
from tests.support.results import made_result

SOURCE = """\
__global__ void made(const float *A, float *B, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) printf("%d: %.1f\\n", i, A[i] - A[i]);
    B[i] = A[i];
}
"""


@pytest.mark.skipif("Portable" in device().driver, reason="plain C prints nothing")
def test_what_the_checked_launch_printed_is_kept_and_nothing_of_others() -> None:
    runner, _ = ready_runner(made_workload(SOURCE), size={"N": 64}, precision="fp32")
    runner.launch(3)
    runner.poison()
    runner.launch(1)
    runner.check_guards()
    printed = runner.printed()
    runner.free()
    assert printed is not None
    assert sorted(printed.splitlines()) == sorted(f"{i}: 0.0" for i in range(64))


def test_what_does_not_fit_is_said_to_be_missing() -> None:
    words = [MOST_WORDS + 2, *(w for i in range(MOST_WORDS // 2) for w in (0, i))]
    text = Printed(("%d\n",)).text(words)
    assert text.startswith("0\n1\n")
    assert text.endswith(f"{MOST_WORDS // 2 - 1}\n{MORE}")


def test_the_figures_show_its_first_lines() -> None:
    result = msgspec.structs.replace(made_result(), printed="a\x1b[2J\n" + "b\n" * 30)
    (row,) = [row for row in facts(result) if row[0] == "printed"]
    assert row[1] == "31 lines"
    assert row[2].splitlines() == ["a\ufffd[2J", *["b"] * (SHOWN_LINES - 1), "…"]


def test_a_long_text_of_few_words_is_cut_between_calls_and_zero_bytes_are_left_out() -> None:
    line = "x" * (MOST_LETTERS // 4) + "%c\n"
    text = Printed((line,)).text([20, *(w for _ in range(10) for w in (0, 0))])
    assert len(text) <= MOST_LETTERS + len(MORE) and text.endswith(f"x\n{MORE}")
    assert "\0" not in text and Printed(("a\0b\n",)).text([1, 0]) == "ab\n"
