"""The axes of a search and their values in words, as titles, legends and tables say them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuexplorer.core.config import OWN_FILL
from gpuexplorer.core.knobs import BLOCK_AXES, block_words, find_knob, switch_value
from gpuexplorer.core.units import plural


def axis_title(name: str) -> str:
    """Return an axis in words: ``threads in x``, ``N`` of ``size.N``, ``precision``."""
    found = find_knob(name)
    if found is None:
        return name
    knob, symbol = found
    return symbol.replace("_", " ") if knob.axis == "switch" else symbol or knob.title


def is_number_axis(name: str) -> bool:
    """Whether an axis' values are numbers with an order of their own."""
    found = find_knob(name)
    return found is not None and found[0].within is not None


def threads_words(threads: int | None) -> str:
    """Return CPU threads in words; empty where there is no number."""
    return plural(threads, "{number} CPU thread", "{number} CPU threads") if threads else ""


def value_words(name: str, value: Any) -> str:
    """Return one value of an axis in words, as it stands beside an axis or in a legend."""
    if name == "block":
        return block_words((*value, 1, 1)[:3])
    if name == "fill":
        return "the workload's own" if value == OWN_FILL else str(value)
    return switch_value(value)


def named_value(name: str, value: Any) -> str:
    """Return a value as it stands by itself: ``N = 512``, ``in place = on``, but ``fp16``."""
    text = value_words(name, value)
    named = is_number_axis(name) or name.startswith("switch.")
    return f"{axis_title(name)} = {text}" if named else text


def values_words(values: Mapping[str, Any]) -> str:
    """Return a point's values in words; threads in x and y make one block."""
    parts = []
    block = {name[-1]: values[name] for name in BLOCK_AXES if name in values}
    if len(block) > 1 and "x" in block and "y" in block:
        block_ = block_words((block["x"], block["y"], block.get("z", 1)))
        parts.append(f"block {block_}")
    else:
        block = {}
    for name, value in values.items():
        if name in BLOCK_AXES and block:
            continue
        text = value_words(name, value)
        if name in ("precision", "variant", "device", "block"):
            parts.append(f"{name} {text}" if name in ("variant", "block") else text)
        else:
            parts.append(f"{axis_title(name)} = {text}")
    return " · ".join(parts) or "the configuration as it stands"
