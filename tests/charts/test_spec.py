"""A chart description: it survives travel, and refuses series whose lengths do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.charts import spec, style


def test_a_chart_comes_back_equal_from_msgpack() -> None:
    line = spec.series("runs", "line", "measured", x=np.arange(5.0), y=np.arange(5.0) * 1e-6)
    panel = spec.Panel(
        x=spec.Axis(label="time", unit="s"), y=spec.Axis(label="duration", unit="s"), series=(line,)
    )
    chart = spec.ChartSpec(title="t", rows=((panel,),), notes=("method",))
    again = spec.decode(spec.encode(chart))
    assert again == chart
    np.testing.assert_array_equal(again.rows[0][0].series[0].y, np.arange(5.0) * 1e-6)


@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [
        ("line", 3, 2),
        ("histogram", 3, 3),
        ("hline", 0, 2),
        ("vline", 2, 0),
        ("band", 3, 3),
        ("stems", 1, 2),
    ],
)
def test_lengths_that_do_not_fit_are_refused(kind: spec.Kind, x: int, y: int) -> None:
    with pytest.raises(ValueError, match=kind):
        spec.series("s", kind, "measured", x=range(x), y=range(y))


def test_no_two_roles_share_a_stroke() -> None:
    looks = [(s.dash, s.width_pt, s.opacity, s.marker) for s in style.STROKES.values()]
    assert len(set(looks)) == len(looks)


def test_traffic_kinds_differ_in_dash_and_in_marker() -> None:
    kinds = [style.STROKES[r] for r in ("compulsory", "requested", "hardware")]
    assert len({k.dash for k in kinds}) == 3
    assert len({k.marker for k in kinds}) == 3
