"""How the grid's blocks are shared out: too few, a long last round, or too small to be worth it."""

from __future__ import annotations

import math

from gpuexplorer.analysis.advice import search, shape
from gpuexplorer.analysis.advice.advice import LEAST_SAVING, Advice
from gpuexplorer.analysis.advice.roofs import within_roof
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.core.units import count, percent, plural, quantity

IDLE_SHARE = 0.5
"""Workers that have nothing leave memory and clock to the others, and blocks that start wait for
memory meanwhile: half of the share is promised."""


def idle_workers(situation: Situation) -> Advice | None:
    """Say that blocks do not share out evenly over multiprocessors or CPU threads."""
    launch = situation.launch
    used = shape.balance(situation, launch)
    saves = within_roof(situation, (1 - used) * IDLE_SHARE)
    if situation.library or saves < LEAST_SAVING:
        return None
    title, evidence = _idle_words(situation, used)
    return Advice(
        rule="idle-workers",
        kind="speed",
        title=title,
        evidence=evidence,
        saves=saves,
        section="Too few blocks, and the last round",
        change=search.best_block(situation, search.balance_fit(situation)),
    )


def _idle_words(situation: Situation, used: float) -> tuple[str, str]:
    launch, workers = situation.launch, situation.workers
    blocks = launch.blocks
    if blocks < workers:
        idle = count(workers - blocks)
        return (
            f"{idle} of {count(workers)} multiprocessors have no block"
            if situation.is_gpu
            else f"{idle} of {count(workers)} CPU threads have no block",
            plural(
                blocks,
                "the grid has {number} block of {threads} threads",
                "the grid has {number} blocks of {threads} threads",
                threads=launch.threads_per_block,
            ),
        )
    resident = 1
    if situation.is_gpu and launch.block is not None:
        shared_B = shape.shared_of(situation, launch)
        resident = max(1, shape.residency(situation, launch.block, shared_B) or 1)
    slots = workers * resident
    if blocks <= slots and situation.is_gpu:
        fewer, busier = divmod(blocks, workers)
        more = fewer + 1
        return (
            "Some multiprocessors have one block more than others",
            f"{count(blocks)} blocks over {count(workers)} multiprocessors: {count(busier)} of "
            f"them have {more}, the others {fewer}",
        )
    rounds = math.ceil(blocks / slots)
    rest = blocks - (rounds - 1) * slots
    return (
        f"The last round of blocks leaves {percent(1 - used)} of the time unused",
        f"{count(blocks)} blocks over {count(slots)} at once take {rounds} rounds, the last with "
        f"{count(rest)}",
    )


def tiny_blocks(situation: Situation) -> Advice | None:
    """Say that starting blocks takes a good part of a CPU thread's time."""
    block_s = shape.block_time_s(situation, situation.launch)
    if situation.is_gpu or situation.block is None or not block_s:
        return None
    saves = within_roof(situation, IDLE_SHARE * min(1.0, shape.BLOCK_COST_S / block_s))
    threads = situation.launch.threads_per_block
    if saves < LEAST_SAVING or threads >= search.USUAL_THREADS[1]:
        return None
    change = search.best_block(situation, search.thread_fit(situation))
    if change is None:
        return None
    return Advice(
        rule="tiny-blocks",
        kind="speed",
        title="Blocks are so small that starting them costs much of the time",
        evidence=f"{count(situation.launch.blocks)} blocks of {threads} threads, "
        f"{quantity(block_s, 's', 2)} of a CPU thread each; starting one takes about "
        f"{quantity(shape.BLOCK_COST_S, 's', 2)}",
        saves=saves,
        section="Blocks too small for a CPU",
        change=change,
    )


def edge_tiles(situation: Situation) -> Advice | None:
    """Say that tiles reach beyond the size, and how many threads have no element there."""
    used = shape.covering(situation.launch)
    saves = within_roof(situation, (1 - used) * IDLE_SHARE)
    if saves < LEAST_SAVING:
        return None
    worst = min(situation.launch.edges, key=lambda edge: edge.used)
    axis, tiles = "xyz"[worst.axis], -(-worst.size // worst.extent)
    covered = tiles * worst.extent
    return Advice(
        rule="edge-tiles",
        kind="speed",
        title=f"{percent(1 - used)} of the threads have no element to work on",
        evidence=plural(
            tiles,
            "along {axis}, {number} tile of {extent} covers {covered} of {symbol} = {size}",
            "along {axis}, {number} tiles of {extent} cover {covered} of {symbol} = {size}",
            axis=axis,
            extent=worst.extent,
            covered=covered,
            symbol=worst.symbol,
            size=worst.size,
        ),
        saves=saves,
        section="Tiles that do not divide the size",
        change=search.best_block(situation, search.covering_fit),
    )
