"""Recognises the program's sentences in English text, and says them in another language.

A catalogue's entry is a template; a text is one of its sentences when the words between the fields
are there in their order. What stands in a field is read in the same way, so that a reason within a
sentence is told, too; a name stays. Of several readings the one that explains most letters counts.
A text may also be joined of several: lines, facts with `` · `` between them, sentences, a list.
What is in no catalogue, and what stands in quotes, is left as it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from string import Formatter
from typing import NamedTuple

import msgspec

from gpuexplorer.core.language.catalogue import Catalogue, Entry

MOST_KEPT = 20_000
"""Texts whose reading is kept."""
LIST, LAST = "{first}, {next}", "{names} and {last}"
FACTS, SENTENCE, SENTENCES = "{first}; {next}", "{sentence}.", "{first}. {next}"
ABOUT, ASIDE = "{what}: {said}", "{said} ({aside})"
JOINTS = (LIST, LAST, FACTS, SENTENCE, SENTENCES, ABOUT, ASIDE)
"""How texts are joined: entries of every catalogue, too."""
_WORD = re.compile(r"[A-Za-z]{2,}")
_NUMBER = re.compile(r"[\d\u202f]+")
_A_WORD, _WORDS = (
    re.compile(r"[a-z]{2}"),
    re.compile(r"(?<![\w/])[A-Za-z]{2,} [A-Za-z]{2,}(?![\w/])"),
)
_NO_WORD = re.compile(r"[\d/\\='.]")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?…]) (?=[A-Z0-9“'])")
_GAPS = re.compile(r"( {2,}| · | › |\t|<[a-z/][^<>]*>|&nbsp;)")
_COMMAS = re.compile(r"(, )")
"""What stands between facts, and stays as it is."""
NAMED = {
    "allowed", "array", "arrays", "command", "entry", "file", "folder", "host", "id", "ids", "key",
    "name", "names", "option", "options", "path", "symbol", "url", "variant", "variants",
    "workload",
}  # fmt: skip
"""Fields in which a word is a name, and no word of ours."""
CITED = {"cited"}
"""Fields that hold others' words, as they are."""
SYMBOLS = {"axis", "symbol"}
"""Fields in which nothing but a word is."""
THIN, THINNEST = 8, 3
"""A template with fewer letters takes no prose of others into a field; one with fewer than the
latter, such as ``{done} of {total}``, no word of others at all."""
SHORT = 16
"""A template with fewer letters, such as ``{error} at the most``, is said of one fact."""
_NAMES = re.compile(r"[\w.\-]+(?:(?:, | and )[\w.\-]+)*")
_FIGURE = re.compile(
    r"([A-Za-z][^\d]*?) ([+−±~≈<>≤≥]?[\d∞][\d\u202f.,]*(?: ?[A-Za-zµ/%×°]+)?|[A-Z][A-Z_]*)"
)
"""What something is, and how much, or its symbol: *compile 118 ms*, *Matrix size N*."""
_PROSE = re.compile(r"(?<![\w./\\'-])[a-z]+ [a-z']+ [a-z]+(?![\w/\\(='-])")
BEFORE = re.compile(r"(?:[\s→•✓✗▸★⚠●│·]|- |\d+ × )*")
"""What may stand before a text: space, marks of a line, and how often it is said."""
MOST_LINES = 6
"""Lines that one sentence may have."""
_INSIDE = re.compile(r" · |; |  |\n|(?<=[.!?…]) (?=[A-Z0-9“'])")
"""Signs that a field has swallowed what is a part of its own."""
_SEVERAL = re.compile(r", |: ")
"""Signs that it may have."""
_ASIDES = (re.compile(r"(.+?) \((.+)\)", re.DOTALL), re.compile(r"(.+) \(([^()]+)\)", re.DOTALL))
"""What is said of something in brackets at its end: all of it, or the last one."""
_CHINESE = "\u3400-\u9fff\uf900-\ufaff"
_SIGN = f"[{_CHINESE}\u3000-\u303f\uff00-\uffef“”]"
_CLOSE = re.compile(f"{_SIGN} {_SIGN}")
"""Signs of Chinese, which have no space between them."""
_APART = re.compile(f"[{_CHINESE}][A-Za-z0-9]|[A-Za-z0-9][{_CHINESE}]")
"""A sign of it beside a letter or a digit, which have one."""
_DATE = re.compile(r"月\d|\d日")
"""In a date they have none: 11月27日."""
_OPENS, _CLOSES = tuple("'\"“‘-/=.@`"), tuple("'\"”’/=`")
"""What a field stands beside that is part of a name, a path or an option."""


class Reading(NamedTuple):
    """A text as it is told, and how well it was recognised."""

    letters: int
    """How many of its letters belong to sentences of ours."""
    whole: int
    """How much of the text is that one sentence's own; 0 where it is joined of several."""
    text: str


class Template(msgspec.Struct, frozen=True):
    """A phrase of an entry, taken apart: text, field, text, ... text."""

    entry: Entry
    texts: tuple[str, ...]
    fields: tuple[str, ...]
    stays: frozenset[str]
    """The fields in which a name stands."""
    one: bool
    """Whether it is the phrase for one thing."""
    letters: int

    def values_in(self, text: str) -> dict[str, str] | None:
        """Return what stands in the fields, by their names; None where the text is another one."""
        first, *middle, last = self.texts
        if len(text) < len(first) + len(last) + len(self.fields):
            return None
        if not (text.startswith(first) and text.endswith(last)):
            # the first letter may be large, where it begins a sentence, or small, where it does not
            if not first or text[:1].swapcase() != first[:1] or not text.endswith(last):
                return None
            if not text.startswith(first[1:], 1):
                return None
        end = len(text) - len(last)
        at, values = len(first), dict[str, str]()
        for name, piece in zip(self.fields, (*middle, ""), strict=True):
            if name in values:  # the same once more
                found = at + len(values[name])
                if not text.startswith(f"{values[name]}{piece}", at):
                    return None
            else:
                found = text.find(piece, at + 1, end) if piece else end
                if found <= at:
                    return None
                values[name] = text[at:found]
            at = found + len(piece)
        return values if at == end else None


@cache
def parts_of(phrase: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a template's texts and the names of the fields between them."""
    texts, fields = [""], []
    for text, name, _, _ in Formatter().parse(phrase):
        texts[-1] += text
        if name is not None:
            fields.append(name)
            texts.append("")
    return tuple(texts), tuple(fields)


def template_of(entry: Entry, phrase: str, *, one: bool) -> Template:
    """Take a phrase of an entry apart."""
    texts, fields = parts_of(phrase)
    stays = frozenset(
        name
        for name, (before, after) in zip(fields, pairwise(texts), strict=True)
        if name in CITED or before.endswith(_OPENS) or after.startswith(_CLOSES)
    )
    return Template(entry, texts, fields, stays, one, letters_in("".join(texts)))


def filled(phrase: str, fields: Mapping[str, str]) -> str:
    """Put the fields into a phrase; where one meets Chinese, with a space as it is written there.

    Raises KeyError for a field that is not given.
    """
    texts, names = parts_of(phrase)
    found = texts[0]
    for name, text in zip(names, texts[1:], strict=True):
        found = _beside(_beside(found, fields[name]), text)
    return found


def _beside(first: str, second: str) -> str:
    """Join two pieces of a sentence: Chinese stands close to Chinese, and apart from letters."""
    at = len(first)
    whole = first + second
    for start in (at - 2, at - 1):
        if start >= 0 and _CLOSE.fullmatch(whole[start : start + 3]):
            return f"{whole[: start + 1]}{whole[start + 2 :]}"
    beside = whole[max(at - 1, 0) : at + 1]
    if _APART.fullmatch(beside) and not _DATE.fullmatch(beside):
        return f"{first} {second}"
    return whole


def letters_in(text: str) -> int:
    """Return how many letters a text has."""
    return sum(map(str.isalpha, text))


def words_in(template: Template) -> Iterator[str]:
    """Yield the words of a template that stand whole in every text of it."""
    last = len(template.fields)
    for number, text in enumerate(template.texts):
        for found in _WORD.finditer(text):
            touches = (found.start() == 0 and number > 0) or (
                found.end() == len(text) and number < last
            )
            if not touches:
                yield found[0].lower()


class Reader:
    """Tells texts in a catalogue's language."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._exact: dict[str, Entry] = {}
        self._joints: dict[str, str] = {joint: joint for joint in JOINTS}
        self._kept: dict[str, Reading] = {}
        self._patterns: list[Template] = []
        for entry in catalogue.entries:
            if not entry.is_told:
                continue
            if entry.english in self._joints:
                if sorted(parts_of(entry.told[0])[1]) == sorted(parts_of(entry.english)[1]):
                    self._joints[entry.english] = entry.told[0]
                continue
            for phrase in (entry.english, entry.many):
                if "{" in phrase:
                    template = template_of(entry, phrase, one=phrase is entry.english)
                    if template.fields:
                        if template.letters:  # a field alone would be any text, and so itself
                            self._patterns.append(template)
                        continue
                    phrase = "".join(template.texts)
                if phrase:
                    self._exact[phrase] = entry
        self._by_word: dict[str, list[Template]] | None = None

    def told(self, text: str) -> str:
        """Return a text as the language says it."""
        return self._part(text).text

    def about(self, what: str, said: str) -> str:
        """Return what something is and what is said of it, both told, with the colon between."""
        return filled(self._joints[ABOUT], {"what": what, "said": said})

    def _part(self, text: str) -> Reading:
        found = self._kept.get(text)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            found = self._kept[text] = self._read(text)
        return found

    def _read(self, text: str) -> Reading:
        if _WORD.search(text) is None:
            return Reading(0, 0, text)
        if (whole := self._exactly(text)) is not None:
            return whole
        at, end = len(BEFORE.match(text)[0]), len(text.rstrip())  # type: ignore[index]
        if at or end < len(text):
            inner = self._part(text[at:end])
            return inner._replace(text=f"{text[:at]}{inner.text}{text[end:]}")
        best = Reading(0, 0, text)
        most = letters_in(text)
        for read in (self._sentence, self._split):
            for reading in read(text):
                if reading[:2] > best[:2]:
                    best = reading
            if best.letters == most and best.whole > 0:
                break
        return best

    # ---- one sentence

    def _exactly(self, text: str) -> Reading | None:
        """Return a text without fields, also where it begins or ends as it does elsewhere."""
        for body, end in _endings(text):
            forms = [body, f"{body[:1].swapcase()}{body[1:]}"]
            if body.isalpha() and body[:1].islower():  # a name, where the title alone is known
                del forms[1]
            for form in forms:
                entry = self._exact.get(form)
                if entry is not None:
                    said = self._said(entry, {"number": "1"}, one=form == entry.english)
                    return Reading(
                        letters_in(body), len(body), self._ended(_began(said, body, form), end)
                    )
        return None

    def _sentence(self, text: str) -> Iterator[Reading]:
        """Yield the readings as one sentence with fields."""
        candidates = self._candidates(text)
        for body, end in _endings(text):
            for template in candidates:
                values = template.values_in(body)
                if values is not None:
                    reading = self._filled(template, values, body)
                    if reading is not None:
                        yield reading._replace(text=self._ended(reading.text, end))

    def _filled(self, template: Template, values: dict[str, str], body: str) -> Reading | None:
        if template.entry.many and _NUMBER.fullmatch(values.get("number", "1")) is None:
            return None
        fields: dict[str, str] = {}
        letters, swallowed = template.letters, body.endswith((".", "…", ":"))
        for name, value in values.items():
            named = name in NAMED and _NAMES.fullmatch(value) is not None
            if name in template.stays:
                inner = Reading(letters_in(value) * (name in CITED), 0, value)
            elif named:
                inner = self._named(value)
            else:
                inner = self._inside(value)
            if not _fits(template, name, value, inner):
                return None
            many = inner.letters and template.letters < SHORT and not named
            found = _INSIDE.search(value) or (many and _SEVERAL.search(value))
            swallowed = swallowed or bool(found and name not in CITED)
            fields[name] = inner.text
            letters += inner.letters
        said = self._said(template.entry, fields, one=template.one)
        own = -1 if swallowed else sum(map(len, template.texts))
        first = re.match(r"\{(\w+)", template.entry.told[0])
        if first is None or fields.get(first[1]) != values.get(first[1]):  # a name stays
            said = _began(said, body, template.texts[0])
        return Reading(letters, own, said)

    def _named(self, value: str) -> Reading:
        """Return names in a list as they are, with the language's signs between them."""
        names, _, last = value.replace(", ", self._between(LIST)).rpartition(" and ")
        if not names:
            return Reading(letters_in(value), 0, last)
        words = filled(self._joints[LAST], {"names": names, "last": last})
        return Reading(letters_in(value), 0, words)

    def _said(self, entry: Entry, fields: dict[str, str], *, one: bool) -> str:
        form = 0
        if entry.many:
            fields.setdefault("number", "1" if one else "2")
            number = 1 if one else int(fields["number"].replace("\u202f", ""))
            form = min(self._catalogue.form_of(number), len(entry.told) - 1)
        try:
            return filled(entry.told[form], fields)
        except (KeyError, ValueError, IndexError):  # a file of one's own: no field, or a brace
            return (entry.english if one or not entry.many else entry.many).format_map(fields)

    def _candidates(self, text: str) -> list[Template]:
        """Return the templates that a text can be of."""
        if self._by_word is None:
            self._by_word = self._index()
        by_word = self._by_word
        found = list(by_word[""])
        for word in {one.lower() for one in _WORD.findall(text)}:
            found += by_word.get(word, ())
        return found

    def _index(self) -> dict[str, list[Template]]:
        """File each template under its rarest word."""
        words = [set(words_in(template)) for template in self._patterns]
        often = Counter(word for of_one in words for word in of_one)
        index: dict[str, list[Template]] = defaultdict(list, {"": []})
        for template, of_one in zip(self._patterns, words, strict=True):
            rarest = min(of_one, key=lambda word: (often[word], word), default="")
            index[rarest].append(template)
        return dict(index)

    def _ended(self, text: str, end: str) -> str:
        if end == ".":
            return self._joints[SENTENCE].format(sentence=text)
        return f"{text}{self._between(ABOUT).rstrip() if end == ':' else end}"

    # ---- several of them

    def _split(self, text: str) -> Iterator[Reading]:
        """Yield the readings as something that is joined of parts."""
        if "\n" in text:
            yield self._lines(text.split("\n"))
            return
        gaps = _apart(_GAPS.split(text))
        if len(gaps) > 1:
            parts = [
                Reading(0, 0, part) if number % 2 else self._part(part)
                for number, part in enumerate(gaps)
            ]
            yield _together(parts, "".join(p.text for p in parts))
            return
        if "; " in text:
            yield self._joined(text.split("; "), self._between(FACTS))
        figure = _FIGURE.fullmatch(text)
        if figure is not None and (entry := self._exact.get(figure[1])) is not None:
            said = self._said(entry, {}, one=True)
            yield Reading(letters_in(figure[1]), 0, f"{said} {figure[2]}")
        yield from self._sentences(text)
        yield from self._about(text)
        yield from self._listed(text)
        for sign in (" = ", " × "):
            if sign in text and ": " not in text:  # what is said of an equation is not its part
                yield self._joined(text.split(sign), sign)

    def _lines(self, lines: list[str]) -> Reading:
        """Return the best reading as sentences of one line or of several, from the first on."""
        best = [Reading(0, 0, "")]
        for end in range(1, len(lines) + 1):
            found: list[Reading] = []
            for start in range(max(0, end - MOST_LINES), end):
                held = lines[start:end]
                one = self._part(held[0]) if len(held) == 1 else self._block("\n".join(held))
                if one is not None:
                    before = f"{best[start].text}\n" if start else ""
                    letters = best[start].letters + one.letters
                    whole = best[start].whole + min(one.whole, 0)
                    found.append(Reading(letters, whole, before + one.text))
            best.append(max(found, key=lambda reading: reading[:2]))
        return best[-1]

    def _block(self, text: str) -> Reading | None:
        """Return lines that are one sentence, with what stands in brackets after it."""
        whole = self._exactly(text)
        if whole is not None:
            return whole
        aside = _ASIDES[-1].fullmatch(text)
        if aside is not None and (said := self._exactly(aside[1])) is not None:
            return self._with_aside(said, self._part(aside[2]))
        return max(self._sentence(text), key=lambda reading: reading[:2], default=None)

    def _sentences(self, text: str) -> Iterator[Reading]:
        """Yield the reading as sentences one after the other."""
        sentences = _BETWEEN_SENTENCES.split(text)
        if len(sentences) > 1:
            full_stop = self._joints[SENTENCE].format(sentence="")
            between = self._between(SENTENCES).removeprefix(full_stop)
            parts = [self._part(sentence) for sentence in sentences]
            ends = [" " if p.text.endswith((".", "!", "?")) else between for p in parts[:-1]]
            texts = [p.text + end for p, end in zip(parts, [*ends, ""], strict=True)]
            yield _together(parts, "".join(texts))

    def _about(self, text: str) -> Iterator[Reading]:
        """Yield the readings as something, and what is said of it."""
        if ": " in text:
            for most in (-1, 1):
                parts = [self._inside(part) for part in text.split(": ", most)]
                if _is_ours(parts):
                    yield _together(parts, self._between(ABOUT).join(p.text for p in parts))
        for form in _ASIDES:
            aside = form.fullmatch(text)
            if aside is not None and _is_closed(aside[2]):
                said, beside = self._part(aside[1]), self._part(aside[2])
                if _is_ours([said, beside]):
                    yield self._with_aside(said, beside)

    def _inside(self, text: str) -> Reading:
        """Return a part of a sentence; a list of names and figures has the language's sign."""
        reading = self._part(text)
        listed = _apart(_COMMAS.split(text))[::2]
        if reading.letters or len(listed) < 2 or any(map(_WORDS.search, listed)):
            return reading
        return reading._replace(text=self._between(LIST).join(listed))

    def _with_aside(self, said: Reading, beside: Reading) -> Reading:
        words = self._joints[ASIDE].format(said=said.text, aside=beside.text)
        return _together([said, beside], words)

    def _listed(self, text: str) -> Iterator[Reading]:
        """Yield the readings as a list, with a last one after *and* or without."""
        between = self._between(LIST)
        names = _apart(_COMMAS.split(text))[::2]
        if len(names) > 1:
            parts = [self._part(part) for part in names]
            if _is_ours(parts):
                yield _together(parts, between.join(p.text for p in parts))
        first, _, last = text.rpartition(" and ")
        if first and last:
            parts = [self._part(part) for part in (*first.split(", "), last)]
            if all(p.letters or " " not in p.text for p in parts):
                told = between.join(p.text for p in parts[:-1])
                words = filled(self._joints[LAST], {"names": told, "last": parts[-1].text})
                yield Reading(sum(p.letters for p in parts) + len("and"), 0, words)

    def _between(self, joint: str) -> str:
        """Return what stands between two parts that are joined so."""
        first, second = parts_of(joint)[1]
        return self._joints[joint].format(**{first: "", second: ""})

    def _joined(self, texts: list[str], between: str) -> Reading:
        parts = [self._part(text) for text in texts]
        return _together(parts, between.join(p.text for p in parts))


def _fits(template: Template, name: str, value: str, read: Reading) -> bool:
    """Whether a text can be what stands in a field; ``read``: as it is told."""
    if name in SYMBOLS:
        return _NAMES.fullmatch(value) is not None
    ours = read.letters > (0 if template.letters >= THINNEST else letters_in(value) // 2)
    if ours or name in template.stays or template.letters >= THIN:
        return True
    if _is_prose(value):
        return False
    if template.letters >= THINNEST or name in NAMED:
        return True
    if _WORDS.search(value):
        return False
    return _A_WORD.search(value) is None or _NO_WORD.search(value) is not None


def _apart(parts: list[str]) -> list[str]:
    """Return parts and what is between them, where no bracket is open; all where one stays so."""
    whole = parts[:1]
    for gap, part in zip(parts[1::2], parts[2::2], strict=True):
        if whole[-1].count("(") > whole[-1].count(")"):
            whole[-1] += gap + part
        else:
            whole += [gap, part]
    return whole if whole[-1].count("(") <= whole[-1].count(")") else parts


def _is_closed(text: str) -> bool:
    """Whether no bracket in a text is closed that was opened before it."""
    opened, closed = text.find("("), text.find(")")
    return closed < 0 or 0 <= opened < closed


def _is_ours(parts: list[Reading]) -> bool:
    """Whether none of some parts is prose that is not ours: then no piece of it is told."""
    return not any(_is_prose(part.text) for part in parts if not part.letters)


def _is_prose(text: str) -> bool:
    """Whether a text has words enough beside each other to be a sentence, and not a name."""
    return _PROSE.search(text) is not None


def _together(parts: list[Reading], text: str) -> Reading:
    return Reading(sum(part.letters for part in parts), 0, text)


def _endings(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text as it is, and without the sign that ends it."""
    yield text, ""
    if text.endswith((".", "…", ":")) and len(text) > 1:
        yield text[:-1], text[-1]


def _began(said: str, body: str, english: str) -> str:
    """Begin what is said with a large letter where the English was made to."""
    if body[:1].isupper() and english[:1].islower():
        return f"{said[:1].upper()}{said[1:]}"
    return said
