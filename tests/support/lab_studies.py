"""The studies of the Lab, made by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import (
    Added,
    Measured,
    Speedup,
    Study,
    Switched,
    SwitchesStudy,
)
from gpuexplorer.core.verdict import Verdict
from gpuexplorer.studies.ladder import LadderStudy, Rung
from gpuexplorer.studies.precision import PrecisionPoint, PrecisionStudy
from gpuexplorer.studies.scaling import ScalingPoint, ScalingStudy, growth_of
from gpuexplorer.studies.sides import Side
from gpuexplorer.studies.speedup import BreakEven, SizePoint, SpeedupStudy
from tests.support.results import made_config, made_result

RESULT = made_result(40)


def made_run(number: int, config: RunConfig) -> RunResult:
    return msgspec.structs.replace(RESULT, id=f"{number:032x}", config=config)


def measured(number: int, time_s: float, **changes: Any) -> Measured:
    plain = Measured(
        run=f"{number:032x}", time_s=time_s, ci95_low_s=0.99 * time_s, ci95_high_s=1.01 * time_s,
        flop_per_s=1e6 / time_s, rms_rel_error=1e-7, max_rel_error=3e-7, tolerance=1e-5,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def against(ratio: float, verdict: Verdict | None = None) -> Comparison:
    said: Verdict = verdict or ("faster" if ratio < 1 else "slower")
    return Comparison(ratio, 0.98 * ratio, 1.02 * ratio, 12, said)


def precision_study(**changes: Any) -> PrecisionStudy:
    configs = [made_config(precision=p) for p in ("fp64", "fp32", "bf16", "fp16")]
    points = [
        PrecisionPoint(
            precision="fp64", title="fp64 (double)", front=True, against=against(2.0),
            measured=measured(0, 2e-3, rms_rel_error=0.0, max_rel_error=0.0),
        ),
        PrecisionPoint(
            precision="fp32", title="fp32 (float)", front=True, measured=measured(1, 1e-3),
            ran="fp32", accumulates_in="fp32",
        ),
        PrecisionPoint(precision="tf32", title="tf32", skipped="no such arithmetic here"),
        PrecisionPoint(
            precision="bf16", title="bf16 (brain float)", front=True, against=against(0.5),
            measured=measured(2, 5e-4, rms_rel_error=3e-3, wrong=True), accumulates_in="fp32",
        ),
        PrecisionPoint(
            precision="fp16", title="fp16 (half)", against=against(0.8), ran="fp32",
            measured=measured(3, 8e-4), fallback="fp16 was asked for, and fp32 ran",
        ),
    ]  # fmt: skip
    study = PrecisionStudy(
        id="p", time_utc="2026-01-01T00:00:00+00:00", title="Matrix multiply: speed", device="X",
        rounds=12, notes=("Measured in turns.",), config=configs[1], reference="fp32",
        points=points, runs=[made_run(i, c) for i, c in enumerate(configs)],
    )  # fmt: skip
    return msgspec.structs.replace(study, **changes)


def switches_study(**changes: Any) -> SwitchesStudy:
    base = made_config(
        workload="mlp", variant="torch", size={"B": 64, "D": 256, "H": 512, "C": 10},
        device="torch:cpu", block=None, grid=None,
    )  # fmt: skip
    titles = {"one_by_one": "Without batching", "compile": "torch.compile: default"}
    configs = [base, *(msgspec.structs.replace(base, switches={n: True}) for n in titles)]
    alone = [
        Switched(switch="one_by_one", title=titles["one_by_one"], effect=against(3.0),
                 measured=measured(1, 3e-3)),
        Switched(switch="compile", value="default", title=titles["compile"],
                 effect=against(0.5), measured=measured(2, 5e-4)),
        Switched(switch="in_place", title="In place", effect=against(0.8),
                 measured=measured(4, 8e-4)),
        Switched(switch="grad_mode", value="grad", title="Gradient mode: grad",
                 skipped="it does not compile"),
    ]  # fmt: skip
    study = SwitchesStudy(
        id="s", time_utc="2026-01-01T00:00:00+00:00", title="MLP forward: what", device="X",
        rounds=12, config=base, baseline=measured(0, 1e-3), alone=alone,
        not_offered={"CUDA graph": "it is for a GPU"},
        added=[
            Added(switch="compile", value="default", title=titles["compile"], kept=True,
                  measured=measured(2, 5e-4), effect=against(0.5)),
            Added(switch="in_place", value=True, title="In place", kept=True,
                  measured=measured(3, 4.5e-4), effect=against(0.9)),
        ],
        combination={"compile": "default", "in_place": True},
        shares=[
            Switched(switch="compile", value="default", title=titles["compile"],
                     effect=against(0.5), measured=measured(5, 5e-4)),
            Switched(switch="in_place", title="In place", effect=against(0.8),
                     measured=measured(6, 8e-4)),
        ],
        together=measured(7, 4.5e-4), total=against(0.45), combining=against(1.125),
        runs=[made_run(i, configs[min(i, 2)]) for i in range(8)],
    )  # fmt: skip
    return msgspec.structs.replace(study, **changes)


def speedup_study(**changes: Any) -> SpeedupStudy:
    sides = [
        Side(device=d, name=n, kind=k, driver="1", variant="torch", precision="fp32")
        for d, n, k in (("torch:cpu", "A processor", "cpu"), ("torch:cuda:0", "A GPU", "gpu"))
    ]
    points = []
    for i, size in enumerate((64, 256, 1024)):
        first, second = 1e-5 * 8.0**i, 1e-4 * 2.0**i
        points.append(
            SizePoint(
                value=size, size={"N": size}, first=measured(3 * i, first),
                second=measured(3 * i + 1, second), second_with=measured(3 * i + 2, 3 * second),
                speedup=Speedup(factor=first / second, ci95_low=0.9 * first / second,
                                ci95_high=1.1 * first / second, pairs=12),
                speedup_with=Speedup(factor=first / second / 3),
            )
        )  # fmt: skip
    points.append(SizePoint(value=4096, size={"N": 4096}, skipped={"first": "not measured yet"}))
    study = SpeedupStudy(
        id="g", time_utc="2026-01-01T00:00:00+00:00", title="Matrix multiply: two", device="X",
        rounds=12, workload="matmul", symbol="N", symbol_title="Matrix size", first=sides[0],
        second=sides[1], points=points,
        break_even=BreakEven(size=320.0, low=300.0, high=340.0, words="It pays from N ≈ 320 on."),
        break_even_with=BreakEven(words="It does not pay with transfers."),
        runs=[made_run(i, made_config(size={"N": 64 * 4 ** (i // 3)})) for i in range(9)],
    )  # fmt: skip
    return msgspec.structs.replace(study, **changes)


def scaling_study(**changes: Any) -> ScalingStudy:
    """Return a study whose times grow as N³ from N = 128 on, past a cache at N = 900."""
    sizes, names = (64, 128, 256, 512, 1024), ("naive", "tiled")
    points = [
        ScalingPoint(
            value=size, memory_B=12 * size * size,
            measured={name: measured(2 * i + j, (1 + j) * 1e-12 * max(size, 100) ** 3)
                      for j, name in enumerate(names)},
        )
        for i, size in enumerate(sizes)
    ]  # fmt: skip
    points.append(ScalingPoint(value=2048, skipped=dict.fromkeys(names, "not measured yet")))
    study = ScalingStudy(
        id="s", time_utc="2026-01-01T00:00:00+00:00", title="Matrix multiply: time against N",
        device="X", rounds=12, workload="matmul", symbol="N", symbol_title="Matrix size",
        precision="fp32", work_exponent=3.0, points=tuple(points),
        growth=tuple(growth_of(name, "N", points) for name in names),
        borders={"last-level cache, 9.7 MB": 900},
        runs=[made_run(i, made_config(size={"N": sizes[i // 2]}, variant=names[i % 2]))
              for i in range(10)],
    )  # fmt: skip
    return msgspec.structs.replace(study, **changes)


def ladder_study(**changes: Any) -> LadderStudy:
    """Return three rungs, the last 1.25 times as fast as the library, at 80 % of the roof."""
    times = {"naive": 4e-3, "tiled": 1e-3, "packed": 4e-4, "numpy": 5e-4}
    names, library = list(times), "numpy"

    def faster(than: str, name: str) -> Speedup:
        factor = times[than] / times[name]
        return Speedup(factor=factor, ci95_low=0.98 * factor, ci95_high=1.02 * factor, pairs=12)

    rungs = [
        Rung(
            variant=name, title=name.title(), teaches=f"What {name} teaches.",
            library=name == library, knobs="" if name == library else "16×16",
            tuned="2026-01-01T00:00:00+00:00" if name == "tiled" else None,
            measured=measured(i, times[name]), rate=1e6 / times[name],
            before=names[i - 1] if 0 < i < 3 else None,
            step=faster(names[i - 1], name) if 0 < i < 3 else None,
            beside=faster(library, name) if name != library else None,
            diff=f"--- {names[i - 1]}\n+++ {name}\n@@ -1 +1 @@\n-old\n+new" if 0 < i < 3 else "",
        )
        for i, name in enumerate(names)
    ]  # fmt: skip
    rungs.append(Rung(variant="cublas", title="cuBLAS", teaches="The vendor's.", library=True,
                      skipped="there is no GPU here"))  # fmt: skip
    study = LadderStudy(
        id="l", time_utc="2026-01-01T00:00:00+00:00", title="Matrix multiply: the ladder",
        device="X", rounds=12, notes=("Measured in turns.",), config=made_config(), unit="FLOP/s",
        library=library, roof=1e6 / 4e-4 / 0.8, roof_words="measured multiply-add rate",
        rungs=tuple(rungs), runs=[made_run(i, made_config(variant=n)) for i, n in enumerate(names)],
    )  # fmt: skip
    return msgspec.structs.replace(study, **changes)


STUDIES: dict[str, Study] = {
    "precision": precision_study(), "switches": switches_study(), "speedup": speedup_study(),
    "scaling": scaling_study(), "ladder": ladder_study(),
}  # fmt: skip
