"""Kernels that are templates: their parameters, and the text of one instance.

An entry names an instance as C++ does: ``reduce<float, 256>``. Its text is the template's with the
arguments in place of the parameters, as a compiler would see it; no line moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource, Function, spaces, split_spans

_HEAD = re.compile(r"\btemplate\s*<")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*define\b[^\n\\]*+(?:\\(?:\n|.)[^\n\\]*+)*+", re.MULTILINE)
_NOT_A_NAME = re.compile(r"\W+")
_ONE_WORD = {"unsigned int": "unsigned", "long int": "long", "short int": "short"}
"""Types of several words by one that means the same: ``T(0)`` takes only one."""
Replacement = tuple[int, int, str]
"""Where some text starts and ends, and what stands there instead."""


class TemplateParameter(msgspec.Struct, frozen=True):
    """One parameter of a template."""

    name: str
    is_type: bool
    default: str | None = None


def split_entry(entry: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a kernel, without its namespace, and its template arguments."""
    name, sign, rest = entry.partition("<")  # what stands behind may have its own namespaces
    name = name.rpartition("::")[2].strip()
    inside = rest.rpartition(">")[0]
    return name, tuple(split_list(inside, pointed=True)) if sign and inside.strip() else ()


def plain_name(entry: str) -> str:
    """Return an entry as an identifier: ``reduce_float_256``."""
    return _NOT_A_NAME.sub("_", entry).strip("_")


def split_list(text: str, *, pointed: bool = False) -> list[str]:
    """Split at the commas outside of every bracket, with ``pointed`` outside of ``<`` ``>`` too."""
    return [text[start:end].strip() for start, end in split_spans(text, pointed=pointed)]


def template_parameters(source: CudaSource, function: Function) -> list[TemplateParameter]:
    """Return the parameters of a template, in order; none for a plain function."""
    head = _head(source, function)
    if head is None:
        return []
    found = []
    for text in split_list(source.code[head[0] : head[1]], pointed=True):
        declared, _, default = text.partition("=")
        names = re.findall(r"[A-Za-z_]\w*", declared)
        if not names or "..." in declared:
            where = source.where(function.open_paren)
            raise InputError(
                f"{where}: the template parameter '{text}' of '{function.name}' is not understood",
                remedy="give each parameter a name, and no '...'",
            )
        found.append(
            TemplateParameter(names[-1], names[0] in ("typename", "class"), default.strip() or None)
        )
    return found


def needs_arguments(source: CudaSource, function: Function) -> InputError:
    """Return the error of an entry that names a template without what it needs."""
    names = ", ".join(p.name for p in template_parameters(source, function))
    return InputError(
        f"{source.where(function.open_paren)}: '{function.name}' is a template of {names}",
        remedy=f"name an instance of it, such as '{function.name}<{_example(source, function)}>'",
    )


def instance_text(
    source: CudaSource, function: Function, arguments: tuple[str, ...]
) -> Iterator[Replacement]:
    """Yield what turns a template into one of its instances; InputError for wrong arguments.

    Arguments that are left out are the parameters' defaults.
    """
    parameters = template_parameters(source, function)
    given = [*arguments, *(p.default for p in parameters[len(arguments) :])]
    if len(given) != len(parameters) or None in given or not parameters:
        raise needs_arguments(source, function)
    head = _head(source, function)
    assert head is not None
    opening = source.code.rfind("template", function.start, head[0])
    yield opening, head[1] + 1, spaces(source.text[opening : head[1] + 1])
    values = {
        p.name: _value(str(text), is_type=p.is_type)
        for p, text in zip(parameters, given, strict=True)
    }
    yield from _substituted(source, (head[1] + 1, function.body[1]), values)
    in_macros = " ".join(_DIRECTIVE.findall(source.plain))
    defined = [
        f"typedef {values[p.name]} {p.name};" if p.is_type
        else f"enum {{ {p.name} = {values[p.name]} }};"
        for p in parameters if re.search(rf"\b{p.name}\b", in_macros)
    ]  # fmt: skip
    if defined:  # a macro that names a parameter is read where it is used
        start = function.body[0] + 1
        yield start, start, " " + " ".join(defined)


def with_instance(source: CudaSource, function: Function, arguments: tuple[str, ...]) -> CudaSource:
    """Return a source in which a template is the instance with these arguments."""
    parts, kept = [], 0
    for start, end, text in sorted(instance_text(source, function, arguments)):
        parts += [source.text[kept:start], text]
        kept = end
    return CudaSource("".join([*parts, source.text[kept:]]), source.file)


def _substituted(
    source: CudaSource, span: tuple[int, int], values: Mapping[str, str]
) -> Iterator[Replacement]:
    names = re.compile(rf"(?<![.\w])(?<!->)(?<!::)(?:{'|'.join(map(re.escape, values))})\b")
    for match in names.finditer(source.code, *span):
        yield match.start(), match.end(), values[match[0]]


def _value(text: str, *, is_type: bool) -> str:
    if is_type:
        return _ONE_WORD.get(" ".join(text.split()), text)
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _head(source: CudaSource, function: Function) -> tuple[int, int] | None:
    """Return where a template's parameters start and end, the pointed brackets left out."""
    opened = _HEAD.search(source.code, function.start, function.open_paren)
    if opened is None:
        return None
    depth = 1
    for at in range(opened.end(), function.open_paren):
        depth += (source.code[at] == "<") - (source.code[at] == ">")
        if depth == 0:
            return opened.end(), at
    return None


def _example(source: CudaSource, function: Function) -> str:
    parameters = template_parameters(source, function)
    return ", ".join(p.default or ("float" if p.is_type else "16") for p in parameters)
