"""What ``nvdisasm`` prints of a cubin, read: instructions, their source lines, live registers.

Two listings of the same code belong together: ``nvdisasm -gi -c`` has lines as comments before
the instructions, innermost first and followed by where each was inlined; ``-lrm count -c`` has no
lines, and the number of live registers behind each instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from gpuexplorer.analysis.instructions import Instruction, Place, Places, kind_of, width_of

_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+),")
_OTHER_SECTION = re.compile(r"^\s*\.section\s")
_LINE = re.compile(r'//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_FUNCTION = re.compile(r"^\s*\.type\s+(\S+),@function")
_LABEL = re.compile(r"^(\S+):(?:\s|$)")
_INSTRUCTION = re.compile(
    r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z]\w*(?:\.\w+)*)\s*(.*?)\s*;"
)
_LIVE = re.compile(r";\s*//\s*\|\s*(\d*)\s*\|")
_JUMP = re.compile(r"`\(([^\s()]+)\)")
_LENGTH = re.compile(r"\d+")


@dataclass
class _Section:
    """One kernel's code as it is read."""

    symbol: str
    functions: set[str] = field(default_factory=set)
    instructions: list[Instruction] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)
    """Beside each instruction, the symbol of the function it stands in; empty in the kernel."""
    at: dict[str, int] = field(default_factory=dict)
    """The index of the instruction after each label."""


def read_sass(
    with_lines: str, with_registers: str, name_of: Callable[[str], str] = str
) -> dict[str, tuple[Instruction, ...]]:
    """Return each kernel's instructions by symbol, from both listings of one cubin.

    ``name_of`` returns what a file is called by the path that the compiler knew it by. The padding
    behind the code is left out: a branch to itself, and instructions that do nothing.
    """
    live = _live_registers(with_registers)
    return {
        section.symbol: tuple(
            msgspec.structs.replace(one, live_registers=live.get((section.symbol, one.offset)))
            for one in _without_padding(section)
        )
        for section in _sections(with_lines.splitlines(), name_of)
    }


def _sections(lines: Iterable[str], name_of: Callable[[str], str]) -> list[_Section]:
    found: list[_Section] = []
    section: _Section | None = None
    marks: list[Place] = []
    places: Places = ()
    routine = ""
    for line in lines:
        if (mark := _LINE.search(line)) is not None:
            marks += _marked(mark, marks, name_of)
            continue
        if (begun := _SECTION.match(line)) is not None:
            section = _Section(begun[1])
            found.append(section)
            marks, places, routine = [], (), ""
        elif _OTHER_SECTION.match(line):
            section = None
        if section is None:
            continue
        if (function := _FUNCTION.match(line)) is not None:
            section.functions.add(function[1])
        elif (one := _INSTRUCTION.match(line)) is not None:
            if marks:
                places, marks = tuple(p for p in marks if p.line) or places, []
            section.instructions.append(_instruction(one, places, plain_name(routine)))
            section.inside.append(routine)
        elif (label := _LABEL.match(line)) is not None:
            section.at[label[1]] = len(section.instructions)
            if label[1] in section.functions and label[1] != section.symbol:
                routine, places, marks = label[1], (), []
    for each in found:
        _follow_calls(each)
        _follow_jumps(each)
    return found


def _marked(mark: re.Match[str], before: list[Place], name_of: Callable[[str], str]) -> list[Place]:
    """Return the places that a comment adds to those of the comments just before it."""
    here = Place(name_of(mark[1]), int(mark[2]))
    places = [] if before and before[-1] == here else [here]
    if mark[3] is not None:
        places.append(Place(name_of(mark[3]), int(mark[4])))
    return places


def _instruction(found: re.Match[str], places: Places, routine: str) -> Instruction:
    opcode, operands = found[3], found[4]
    kind = kind_of(opcode, operands)
    return Instruction(
        offset=int(found[1], 16),
        predicate=found[2] or "",
        opcode=opcode,
        operands=operands,
        kind=kind,
        width_B=width_of(opcode, kind),
        places=places,
        routine=routine,
    )


def _follow_calls(section: _Section) -> None:
    """Give a routine without lines, which is one of CUDA's own, the place of its first call."""
    called: dict[str, Places] = {}
    changed = True
    while changed:
        changed = False
        for index, one in enumerate(section.instructions):
            if not one.places and section.inside[index] in called:
                places = called[section.inside[index]]
                section.instructions[index] = one = msgspec.structs.replace(one, places=places)
                changed = True
            if one.places:
                for name in section.functions:
                    if name not in called and f"({name})" in one.operands:
                        called[name] = one.places
                        changed = True


def _follow_jumps(section: _Section) -> None:
    """Say where each jump goes to."""
    for index, one in enumerate(section.instructions):
        label = _JUMP.search(one.operands) if one.opcode.startswith(("BRA", "JMP")) else None
        at = section.at.get(label[1]) if label is not None else None
        if at is not None and at < len(section.instructions):
            target = section.instructions[at].offset
            section.instructions[index] = msgspec.structs.replace(one, target=target)


def _without_padding(section: _Section) -> list[Instruction]:
    end = len(section.instructions)
    while end and section.instructions[end - 1].opcode == "NOP":
        end -= 1
    if end and section.instructions[end - 1].opcode == "BRA":
        last = section.instructions[end - 1]
        if any(at == end - 1 and f"({name})" in last.operands for name, at in section.at.items()):
            end -= 1
    return section.instructions[:end]


def _live_registers(text: str) -> dict[tuple[str, int], int]:
    """Return the general registers alive at each instruction, by symbol and offset."""
    found: dict[tuple[str, int], int] = {}
    symbol = ""
    for line in text.splitlines():
        if (begun := _SECTION.match(line)) is not None:
            symbol = begun[1]
        elif (one := _INSTRUCTION.match(line)) is not None:
            live = _LIVE.search(line, one.end() - 1)
            if live is not None:
                found[symbol, int(one[1], 16)] = int(live[1] or 0)
    return found


def plain_name(symbol: str) -> str:
    """Return a function's name as its source or CUDA has it: ``far`` of ``$_Z1kPf$_Z3farfi``."""
    last = symbol.rpartition("$")[2]
    nested = last.startswith("_ZN")
    at, names = 3 if nested else 2, list[str]()
    while last.startswith("_Z") and (length := _LENGTH.match(last, at)) is not None:
        at = length.end() + int(length[0])
        names.append(last[length.end() : at])
        if not nested:
            break
    return "::".join(names) or last
