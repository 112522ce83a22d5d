"""The catalogues: made from what is said, in parts for several translators, and a made-up one.

Every catalogue has an entry for each sentence, in the order of the sources, so that two people who
work on different parts change different lines.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuexplorer.core import resources
from gpuexplorer.core.language.available import TOLD, folder
from gpuexplorer.core.language.catalogue import Entry, entries_of, written
from gpuexplorer.core.language.reader import JOINTS, parts_of
from gpuexplorer.core.text import columns
from tests.words.sources import Said, everything

HEAD = """Language: {language}
Language-Name: {name}
X-Locales: {locales}
Plural-Forms: {plurals}
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit
"""
FORMS = {"zh_CN": "nplurals=1; plural=0;", "": "nplurals=2; plural=(n != 1);"}
"""How numbers are said, where it is known; the head says it from then on."""
MOST_PLACES = 3
LONGER, MORE = 1.4, 8
"""How much wider than the English a translation may be: times, and columns besides."""


def entries_for(told: Mapping[tuple[str, str], Entry], forms: int) -> list[Entry]:
    """Return an entry for everything that is said, with what is told so far.

    A sentence that is new takes that of one it resembles, marked as unsure.
    """
    said = everything()
    gone = {key: one for key, one in told.items() if key not in said and one.is_told}
    found = []
    for key, one in said.items():
        before = told.get(key)
        entry = Entry(one.english, one.many, list(before.told) if before else [], _places(one))
        if before is not None:
            kept = (c for c in before.comments if not c.startswith(("#:", "#. and ")))
            entry.comments = [*kept, *entry.comments]
        elif near := _nearest(one, gone):
            entry.told = list(near.told)
            entry.comments = [*entry.comments, "#, fuzzy", f"#| msgid {_one_line(near.english)}"]
        wanted = forms if one.many else 1
        entry.told = [*entry.told, *[""] * wanted][:wanted]
        found.append(entry)
    return found


def _places(said: Said) -> list[str]:
    more = ["…"] if len(said.places) > MOST_PLACES else []
    places = (f"#: {place}" for place in said.places[:MOST_PLACES])
    return [*places, *(f"#. and {len(said.places) - MOST_PLACES} more places" for _ in more)]


def _nearest(said: Said, gone: Mapping[tuple[str, str], Entry]) -> Entry | None:
    texts = [english for english, many in gone if bool(many) == bool(said.many)]
    near = difflib.get_close_matches(said.english, texts, n=1, cutoff=0.8)
    return next((one for key, one in gone.items() if near and key[0] == near[0]), None)


def _one_line(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def read(path: Path) -> tuple[str, dict[tuple[str, str], Entry]]:
    """Return a file's head as text, and its entries by their phrases."""
    head, *entries = entries_of(path.read_text(encoding="utf-8"))
    return head.told[0], _by_phrases(entries)


def _by_phrases(entries: Iterable[Entry]) -> dict[tuple[str, str], Entry]:
    return {(one.english, one.many): one for one in entries}


def write(path: Path, head: str, entries: Iterable[Entry]) -> None:
    """Write a file."""
    texts = [written(Entry("", told=[head])), *map(written, entries)]
    path.write_text("\n".join(texts), encoding="utf-8")


def forms_of(head: str) -> int:
    """Return how many plural forms a head tells of."""
    return int(head.partition("nplurals=")[2][:1] or 1)


def file_of(language: str) -> Path:
    """Return a language's file."""
    return folder() / f"{language}.po"


# ---- how much is told


def pages(language: str) -> dict[Path, Path]:
    """Return the pages of help and lessons, and where each stands in a language."""
    root = resources.folder()
    lessons = sorted(root.glob("lessons/*/text.en.md"))
    found = {page: page.with_name(f"text.{language}.md") for page in lessons}
    for page in sorted(root.glob("help/*.md")):
        if "." not in page.stem:
            found[page] = page.with_name(f"{page.stem}.{language}.md")
    return found


def lacking(language: str, told: Mapping[tuple[str, str], Entry]) -> list[str]:
    """Return what is said and not told in a language: sentences, and pages by their places."""
    sentences = [key[0] for key in everything() if key not in told or not told[key].is_told]
    places = [page for page, own in pages(language).items() if not own.is_file()]
    return [*sentences, *(place.relative_to(resources.folder()).as_posix() for place in places)]


def share(language: str, told: Mapping[tuple[str, str], Entry]) -> int:
    """Return how many of a hundred letters that there are to read are told, rounded down."""
    done = total = 0
    for key, said in everything().items():
        letters = len(said.english)
        total += letters
        done += letters * (key in told and told[key].is_told)
    for page, own in pages(language).items():
        letters = len(page.read_text(encoding="utf-8"))
        total += letters
        done += letters * own.is_file()
    return 100 * done // total


def share_in(head: str) -> int:
    """Return how many of a hundred letters are told as a head says."""
    return int(field_of(head, TOLD) or 0)


def field_of(head: str, name: str) -> str:
    """Return a line of a head; empty where it has none of that name."""
    found = re.search(rf"^{name}: *(.*)$", head, re.MULTILINE)
    return found[1] if found else ""


def write_language(path: Path, head: str, told: Mapping[tuple[str, str], Entry]) -> None:
    """Write a language's file, with how much of it is told, which never becomes less."""
    line = f"{TOLD}: {max(share(path.stem, told), share_in(head))}"
    if field_of(head, TOLD):
        head = re.sub(rf"^{TOLD}:.*$", line, head, flags=re.MULTILINE)
    else:
        head = f"{head}{line}\n"
    write(path, head, told.values())


def begin(language: str, name: str) -> Path:
    """Write the file of a new language, with nothing told yet."""
    plurals = FORMS.get(language, FORMS[""])
    head = HEAD.format(language=language, name=name, locales=language, plurals=plurals)
    path = file_of(language)
    path.parent.mkdir(exist_ok=True)
    write_language(path, head, _by_phrases(entries_for({}, forms_of(head))))
    return path


def update(path: Path) -> tuple[int, int, int]:
    """Bring a file up to what is said; return how many entries are told, unsure and open."""
    head, told = read(path)
    entries = entries_for(told, forms_of(head))
    write_language(path, head, _by_phrases(entries))
    unsure = sum(one.is_unsure for one in entries)
    done = sum(one.is_told for one in entries)
    return done, unsure, len(entries) - done - unsure


def split(path: Path, number: int, into: Path) -> list[Path]:
    """Write what is not told yet into files for several translators, whole modules each."""
    head, told = read(path)
    open_ones = [one for one in told.values() if not one.is_told]
    total = sum(len(one.english) for one in open_ones)
    parts: list[list[Entry]] = [[] for _ in range(number)]
    done, place = 0, ""
    at = 0
    for one in open_ones:
        here = next((c for c in one.comments if c.startswith("#:")), "")
        if here != place:
            place, at = here, min(number - 1, done * number // max(total, 1))
        parts[at].append(one)
        done += len(one.english)
    into.mkdir(parents=True, exist_ok=True)
    paths = [into / f"{path.stem}-{at + 1}.po" for at in range(number)]
    for part, file in zip(parts, paths, strict=True):
        write(file, head, part)
    return paths


def join(path: Path, files: Sequence[Path]) -> int:
    """Take what translators told into a language's file; return how many entries that were."""
    head, told = read(path)
    taken = 0
    for file in files:
        for key, one in read(file)[1].items():
            if key in told and one.is_told and told[key].told != one.told:
                told[key].told = one.told
                told[key].comments = [
                    c for c in told[key].comments if not c.startswith(("#,", "#|"))
                ]
                taken += 1
    write_language(path, head, told)
    return taken


# ---- what is wrong with a translation


def faults_of(entry: Entry) -> list[str]:
    """Return what is wrong with an entry that is told."""
    wrong = []
    given = set(parts_of(entry.english)[1]) | set(parts_of(entry.many)[1])
    english = max(widest(_filled(entry.english)), widest(_filled(entry.many)))
    for told in entry.told:
        try:
            fields = set(parts_of(told)[1])
        except ValueError:
            wrong.append(f"its braces do not fit: {told!r}")
            continue
        if fields - given or (given - fields) - ({"number"} if entry.many else set()):
            wrong.append(f"its fields are {sorted(fields)} and should be {sorted(given)}")
        if widest(_filled(told)) > english * LONGER + MORE:
            wrong.append(f"it is too long: {widest(_filled(told))} columns beside {english}")
        if entry.english.count("&") == 1 and "&" in entry.english and told.count("&") > 1:
            wrong.append("it has several letters to press")
        if entry.english[:1].isspace() != told[:1].isspace() or (
            entry.english[-1:].isspace() != told[-1:].isspace()
        ):
            wrong.append("it begins or ends with another space")
    return [f"{entry.english!r}: {one}" for one in wrong]


def _filled(template: str) -> str:
    return "".join(parts_of(template)[0])


def widest(text: str) -> int:
    """Return how many columns the widest line of a text takes on a terminal."""
    return max(map(columns, text.split("\n")))


# ---- the made-up language

ACCENTS = str.maketrans(
    "AaBbCcDdEeGgHhIiJjKkLlNnOoRrSsTtUuWwYyZz", "ÄäƁƀĆćĐđÉéĜĝĤĥÎîĴĵĶķĻļŃńÔôŘřŠšŢţÛûŴŵÝýŽž"
)


def made_up() -> list[Entry]:
    """Return every sentence as a language tells it that has accents and is 40 % longer.

    Whatever is shown without accents was not translated; whatever is cut shows no end ``⟧``.
    """
    made = []
    for one in everything().values():
        phrases = [one.english, one.many] if one.many else [one.english]
        made.append(Entry(one.english, one.many, [_made_up(phrase) for phrase in phrases]))
    return made


def _made_up(phrase: str) -> str:
    if phrase in JOINTS:
        return phrase.replace(" and ", " äńđ ")
    texts, fields = parts_of(phrase)
    letters = sum(map(str.isalpha, "".join(texts)))
    accented = [text.translate(ACCENTS).replace("{", "{{").replace("}", "}}") for text in texts]
    words = accented[0] + "".join(
        f"{{{name}}}{text}" for name, text in zip(fields, accented[1:], strict=True)
    )
    core = words.strip()
    start, end = words[: words.index(core[:1])], words[len(words.rstrip()) :]
    return f"{start}⟦{core}{'·' * max(0, round(letters * 0.4) - 2)}⟧{end}"


def write_made_up(path: Path) -> None:
    """Write the made-up language's file."""
    head = HEAD.format(language="made-up", name="Mäđé ûp", locales="", plurals=FORMS[""])
    write(path, head, made_up())
