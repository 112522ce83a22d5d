"""What the history table says of a run when it is pointed at."""

from __future__ import annotations

from gpuexplorer.core.units import count
from gpuexplorer.gui.model.history_columns import (
    INTERRUPTED,
    Baselines,
    against_baseline,
    local_time,
)
from gpuexplorer.history.model import Row


def tip(row: Row, column: str, baselines: Baselines, *, stored: bool) -> str:
    """Return what there is to know of a run beside the table's words."""
    if column == "star":
        return "Starred; S takes the star away" if row.starred else "S, or a click, stars this run"
    lines = [f"{local_time(row)} · {row.device_name} · {count(row.samples)} samples"]
    if row.damaged is not None:
        lines.append(f"The history is damaged here: {row.damaged}. Del takes the run out of it.")
    if row.suspect is not None:
        lines.append(f"Suspect: {row.suspect}.")
    if row.stopped_by == INTERRUPTED:
        lines.append("Its program ended before the run did; these are the samples it had stored.")
    elif row.running:
        lines.append("Still running.")
    if not stored:
        lines.append("Not in the history yet; it is kept in memory until it can be written.")
    if column == "baseline":
        found = against_baseline(row, baselines)
        if found is not None:
            lines.append(found.sentence)
    if row.switch_words:
        lines.append(f"Switches: {row.switch_words}")
    if row.tags and column != "tags":
        lines.append(f"Tags: {', '.join(row.tags)}")
    if row.note:
        lines.append(f"Note: {row.note}")
    lines.append("Double click sets the knobs to this run.")
    return "\n".join(lines)
