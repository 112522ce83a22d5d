"""The operators of one iteration as a chart: the flame chart over time, the longest as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Series, series
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.operators import FAMILIES, Call, Family, Operator, OperatorProfile, family
from gpuexplorer.core.units import percent, plural, quantity

FAMILY_COLOURS: dict[Family, int] = {
    "product": 0,
    "convolution": 1,
    "attention": 3,
    "elementwise": 2,
    "reduction": 4,
    "memory": 5,
    "other": 6,
}
"""Slots in the palette; the one past its end is drawn in grey, here and in the window."""
OTHER = FAMILY_COLOURS["other"]
DRAWN_SHARE = 1 / 4000
"""Calls shorter than this part of the iteration are no wider than a dot and are left out, which a
note says."""
TABLE_ROWS = 14
NAME_LETTERS = 44
_BACKWARD = "autograd::engine::evaluate_function: "
"""Stands before each step of a backward pass, and says nothing beside its name."""
LEVEL_HEIGHT = 0.065
"""Of a row of panels, for one level of nested calls."""
LEAST_HEIGHT, MOST_HEIGHT = 0.8, 2.6


def operator_chart(profile: OperatorProfile, *, title: str = "") -> ChartSpec:
    """Return flame chart and table of one iteration's operators."""
    where = f"{profile.device.name} · {profile.device.id}"
    return ChartSpec(
        title=f"Operators: {title or profile.config.workload}",
        subtitle=f"{config_words(profile.config)}\n{where}",
        rows=((flame_panel(profile),), (table_panel(profile),)),
        notes=(*notes(profile), *left_out(profile)),
    )


def left_out(profile: OperatorProfile) -> list[str]:
    """Return in a sentence what is too short for the flame chart; empty where nothing is.

    The time of a call within one that is left out counts with that one.
    """
    least_s = _least_s(profile)
    number, together_s = 0, 0.0
    is_gone: dict[tuple[int, int], bool] = {}
    for call in profile.calls:  # in order of start, so that the latest one above is around it
        within = is_gone.get((call.track, call.depth - 1), False)
        gone = is_gone[call.track, call.depth] = call.duration_s < least_s
        number += gone
        together_s += call.duration_s if gone and not within else 0.0
    if not number:
        return []
    return [
        plural(
            number,
            "{number} call shorter than {least} is left out of the flame chart; it took {time}.",
            "{number} calls shorter than {least} are left out of the flame chart; they took "
            "{time} together.",
            least=quantity(least_s, "s"),
            time=quantity(together_s, "s"),
        )
    ]


def _least_s(profile: OperatorProfile) -> float:
    """Return what a call takes at least that the flame chart draws."""
    return profile.iteration_s * DRAWN_SHARE


def notes(profile: OperatorProfile) -> list[str]:
    """Return how the operators were recorded, and what is not shown, a sentence each."""
    recorded = f"Recorded by {profile.method}."
    if profile.plain_s:
        recorded = (
            f"Recorded by {profile.method}; the iteration took "
            f"{quantity(profile.iteration_s, 's')} while it was recorded, "
            f"{quantity(profile.plain_s, 's')} before."
        )
    return [recorded, *profile.limits]


def level_of(profile: OperatorProfile) -> list[int]:
    """Return the row of the chart at which each track begins, a gap between tracks."""
    begins, at = [], 0
    for track in profile.tracks:
        begins.append(at)
        at += track.levels + 1
    return begins


def flame_panel(profile: OperatorProfile) -> Panel:
    """Return the nested calls over time, a colour for each kind of work."""
    begins = level_of(profile)
    least_s = _least_s(profile)
    drawn = [call for call in profile.calls if call.duration_s >= least_s]
    kinds: dict[Family, list[Call]] = defaultdict(list)
    families = [family(name) for name in profile.names]
    for call in drawn:
        kinds[families[call.name]].append(call)
    levels = sum(track.levels + 1 for track in profile.tracks) or 1
    tracks = tuple(word for track in profile.tracks for word in (track.title, *[""] * track.levels))
    return Panel(
        title="Calls over time",
        x=Axis(label="Time from the iteration's start", unit="s", low=0.0,
               high=profile.iteration_s or 1.0),
        y=Axis(label="", low=-0.6, high=levels - 0.4, categories=tracks or ("",)),
        series=tuple(
            _spans(FAMILIES[kind], FAMILY_COLOURS[kind], calls, profile.names, begins)
            for kind in FAMILIES
            if (calls := kinds.get(kind))
        ),
        height=min(max(LEAST_HEIGHT, 0.35 + LEVEL_HEIGHT * levels), MOST_HEIGHT),
    )  # fmt: skip


def _spans(
    name: str, colour: int, calls: Sequence[Call], names: Sequence[str], begins: Sequence[int]
) -> Series:
    return series(
        name,
        "spans",
        "measured",
        x=[call.start_s for call in calls],
        y=[float(begins[call.track] + call.depth) for call in calls],
        z=[call.duration_s for call in calls],
        labels=tuple(short(names[call.name]) for call in calls),
        colour=colour,
    )


def table_panel(profile: OperatorProfile) -> Panel:
    """Return the operators with the longest self time as bars with their figures beside them."""
    rows = profile.operators[:TABLE_ROWS]
    on_gpu = profile.on_gpu
    longest = max((row.own_s for row in rows), default=0.0) or 1.0
    where = "GPU time of its own kernels" if on_gpu else "Self time"
    return Panel(
        title=f"The {len(rows)} operators with the most GPU time"
        if on_gpu
        else f"The {len(rows)} operators with the most self time",
        x=Axis(label=where, unit="s", low=0.0, high=longest * 1.75),
        y=Axis(label="", categories=tuple(short(row.name, NAME_LETTERS) for row in rows) or ("",)),
        series=(
            series(
                "",
                "stems",
                "measured",
                x=[float(i) for i in range(len(rows))],
                y=[row.own_s for row in rows],
                labels=tuple(row_words(row) for row in rows),
                sideways=True,
            ),
        ),
        height=min(max(0.5, 0.12 + 0.062 * len(rows)), 1.1),
    )


def row_words(row: Operator) -> str:
    """Return a row's figures: share, own and total time, calls, and memory if it took some."""
    total_s = row.total_s if row.device_total_s is None else row.device_total_s
    parts = [
        f"{quantity(row.own_s, 's')}",
        percent(row.share),
        f"{quantity(total_s, 's')} in all",
        plural(row.calls, "{number} call", "{number} calls"),
    ]
    if row.memory_B:
        parts.append(memory_words(row.memory_B))
    return " · ".join(parts)


def memory_words(memory_B: float | None) -> str:
    """Return the bytes an operator keeps, with the sign where it frees more than it takes."""
    if memory_B is None:
        return "–"
    if not memory_B:
        return "0 B"
    sign = "−" if memory_B < 0 else "+"
    return f"{sign}{quantity(abs(memory_B), 'B')}"


def short(name: str, letters: int = 60) -> str:
    """Return an operator's name without its name space, cut where it is long."""
    plain = name.removeprefix(_BACKWARD).removeprefix("aten::")
    return plain if len(plain) <= letters else plain[: letters - 1] + "…"
