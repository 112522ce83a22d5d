"""The page: whole by itself, readable, and nothing in it that a run's words put there."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.charts.colours import INK, PAPER
from gpuexplorer.charts.style import THEMES
from gpuexplorer.charts.words import when_words
from gpuexplorer.core.compared import comparison_json
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import sweep_json
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.exchange.table import Label
from gpuexplorer.report.figure import variables
from gpuexplorer.report.page import Report, report_page, write_report
from gpuexplorer.report.whole import axis_values, sweep_of
from tests.support.exchange import (
    cache_text,
    made_comparison,
    made_run,
    made_sweep,
    write_nvbench_files,
)

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Reads a page and checks that every element is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    def attached(self) -> bytes:
        (link,) = (a for name, a in self.elements if name == "a")
        head, _, data = str(link["href"]).partition(",")
        assert head == "data:application/gzip;base64"
        return gzip.decompress(base64.b64decode(data))


def page_of(path: Path) -> Page:
    found = read_runs(path)
    rests = [{**(found.rest or {}), "axes": found.axes}] if found.rest is not None else []
    return Page(report_page(Report(runs=found.runs, skipped=found.skipped, rests=rests)))


def check_alone(text: str) -> None:
    """Assert that a page loads and runs nothing."""
    page = Page(text)
    assert page.count("script") == page.count("iframe") == page.count("link") == 0
    for name, attributes in page.elements:
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            if key in ("href", "src", "xlink:href"):
                held = "data:image/png;base64," if name == "image" else "data:application/gzip;"
                assert str(value).startswith(("#", held)), value
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_a_run_has_its_figures_configuration_environment_and_data() -> None:
    run = made_run(1, samples=100)
    text = report_page(Report(runs=[run], labels={run.id: Label(True, ("fast",), "keep this")}))
    check_alone(text)
    page = Page(text)
    for words in (
        "matmul · naive · N = 512", "verified", "8.3", "Example CPU",
        "OpenCL 3.0 (1.2.3)", "GPU Explorer", "Python", "3.11.2", "★ starred #fast", "keep this",
        "gpuexplorer run matmul", run.id,
    ):  # fmt: skip
        assert words in page.text, words
    assert page.count("svg") == 1
    assert json.loads(page.attached())["samples_s"] == run.samples_s


def test_colours_follow_the_reader_and_paper_is_light() -> None:
    text = report_page(Report(runs=[made_run()]))
    assert "@media (prefers-color-scheme: dark)" in text and "@media print" in text
    drawing = text[text.index("<svg") : text.index("</svg>")]
    assert "var(--slot0)" in drawing and "var(--text)" in drawing
    assert not re.search(r'style="[^"]*#[0-9a-f]{6}', drawing)
    for name in set(re.findall(r"var\((--\w+)\)", text)):
        assert text.count(f"{name}: ") == 3, name


def test_every_name_on_the_page_is_there_once() -> None:
    text = report_page(Report(runs=[made_run(i) for i in range(3)]))
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names))
    for used in re.findall(r'(?:href="#|url\(#)([^")]+)', text):
        assert used in names


def test_a_sweep_has_a_chart_a_table_and_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_bytes(sweep_json(made_sweep()))
    page = page_of(tmp_path / "sweep.json")
    assert "2 runs of matmul" in page.text
    assert "too large: 1" in page.text
    assert page.count("svg") >= 1 and "There is no chart" not in page.text
    assert [r["id"] for r in json.loads(page.attached())["runs"]] == [
        r.id for r in made_sweep().measured
    ]


def test_a_heat_map_keeps_its_colour_bar_and_its_hatches() -> None:
    runs = [made_run(0, block=(x, y, 1)) for x in (8, 16, 32) for y in (1, 2)]
    runs = [msgspec.structs.replace(r, id=f"{i:032x}") for i, r in enumerate(runs)]
    rest = {"schema": "gpuexplorer/sweep/1", "axes": {"block.x": [8, 16, 32], "block.y": [1, 2]}}
    text = report_page(Report(runs=runs, rests=[rest]))
    check_alone(text)
    page = Page(text)
    (image,) = (a for name, a in page.elements if name == "image")
    assert image["width"] and image["height"]
    assert all(a["width"] for name, a in page.elements if name == "pattern")


def test_a_sweep_of_the_history_is_drawn_over_its_axes() -> None:
    sweep = made_sweep()
    rest = {
        "schema": sweep.schema,
        "axes": {"block": sweep.axes["block"], "size.N": [512], "precision": ["fp32"]},
        "skipped": {sweep.runs[2].config.key: "too large"},
    }
    runs = sweep.measured
    assert axis_values(rest["axes"], runs[1].config) == {
        "block": [16, 2, 1], "size.N": 512, "precision": "fp32",
    }  # fmt: skip
    assert axis_values(["block.y", "tunable.TILE", "threads"], runs[1].config) == {
        "block.y": 2, "tunable.TILE": None, "threads": 7,
    }  # fmt: skip
    text = report_page(Report(runs=runs, rests=[rest]))
    assert "2 of 3 configurations were measured" in text and "There is no chart" not in text
    assert "1 could not run or were skipped" in text
    found = sweep_of([rest | {"skipped": {}}], runs)  # as one that was stopped before the third
    assert found is not None and found.points == 3
    assert [one is not None for one in found.outcomes.outcomes] == [True, True, False]


@pytest.mark.parametrize(
    ("turns_s", "said"),
    [
        ([1.2, 1.3], "Measured in 8 turns each, in one session."),
        ([1.2, None], "Measured in up to 8 turns, in one session; one whose verdict was clear"),
    ],
)
def test_a_comparison_says_how_many_turns_were_taken(
    tmp_path: Path, turns_s: list[float | None], said: str
) -> None:
    made = made_comparison()
    first, second = made.contestants
    second = msgspec.structs.replace(second, turns_s=turns_s)
    result = msgspec.structs.replace(made, contestants=[first, second])
    (tmp_path / "c.json").write_bytes(comparison_json(result))
    assert said in " ".join(page_of(tmp_path / "c.json").words)


def test_a_comparison_has_its_verdicts_and_gives_itself_back(tmp_path: Path) -> None:
    data = comparison_json(made_comparison())
    (tmp_path / "c.json").write_bytes(data)
    page = page_of(tmp_path / "c.json")
    for words in ("Comparison with 16×1", "slower", "1.080–1.12", "another driver", "8 turns"):
        assert words in page.text, words
    assert page.attached() == data
    (tmp_path / "again.json").write_bytes(page.attached())
    assert len(read_runs(tmp_path / "again.json").runs) == 2


def test_one_configuration_on_two_days_is_told_apart_by_its_dates() -> None:
    before = msgspec.structs.replace(made_run(0), time_utc="2026-01-02T12:00:00+00:00")
    after = msgspec.structs.replace(
        before, id="later", time_utc="2026-01-03T12:00:00+00:00",
        device=msgspec.structs.replace(before.device, driver="a later driver"),
    )  # fmt: skip
    page = report_page(Report(runs=[before, after]))
    said = " ".join(Page(page).words)
    for run in (before, after):
        assert said.count(when_words(run.time_utc)) >= 3  # its verdict, its chart, its section
    assert "which is weaker evidence" in said
    assert "driver a later driver" in said  # a condition that differs


def test_runs_of_other_programs_say_what_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "cache.json").write_text(cache_text())
    page = page_of(tmp_path / "cache.json")
    assert "not known to be verified" in page.text and "measured by Kernel Tuner" in page.text
    assert "it did not compile: 1" in page.text
    page = page_of(write_nvbench_files(tmp_path, [1e-3, 2e-3]))
    assert "NVBench 0.1.0" in page.text and "gpuexplorer run" not in page.text


def test_many_runs_are_a_table(tmp_path: Path) -> None:
    runs = [made_run(i, size={"N": 100 + i}) for i in range(60)]
    page = Page(report_page(Report(runs=runs)))
    assert "60 runs of matmul" in page.text
    assert page.count("tr") > 60 and page.count("svg") == 1


def test_the_fastest_is_named_only_of_one_problem_and_never_what_cannot_be_true() -> None:
    def said(*runs: RunResult) -> str:
        return Page(report_page(Report(runs=runs))).text

    one, other = made_run(0), made_run(1)
    assert "The fastest: matmul · naive · N = 512 · block 16×1" in said(one, other)
    assert "The fastest" not in said(one, made_run(1, size={"N": 64}))
    suspects = [
        msgspec.structs.replace(r, timing=msgspec.structs.replace(r.timing, suspect="too fast"))
        for r in (one, other)
    ]
    assert "The fastest" not in said(*suspects)
    assert "The fastest: matmul · naive · N = 512 · block 16×2" in said(suspects[0], other)
    many = [made_run(i, size={"N": 100 + i}) for i in range(8)]
    assert "of the fastest" not in said(*many)
    assert "of the fastest" in said(*(made_run(i) for i in range(8)))


EVIL = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'`&amp;\x00\x1b[2J\u202e]]>--><!--"


def evil(run: RunResult) -> RunResult:
    """Put markup wherever a run has words."""
    words = EVIL.replace("\0", "")
    config = msgspec.structs.replace(
        run.config, workload=words, variant=words, precision=words, fill=words, device=words,
        size={words: 3}, tunables={words: 1}, switches={words: words},
    )  # fmt: skip
    device = msgspec.structs.replace(
        run.device, name=words, id=words, driver=words, peak_source=words
    )
    timing = msgspec.structs.replace(
        run.timing, method=words, stopped_by=words, warnings=(words,), suspect=words
    )
    environment = msgspec.structs.replace(run.environment, python=words, cuda=words)
    telemetry = msgspec.structs.replace(run.telemetry, source=words, energy_reason=words)
    return msgspec.structs.replace(
        run, config=config, device=device, timing=timing, environment=environment,
        telemetry=telemetry,
    )  # fmt: skip


@pytest.mark.parametrize("number", [1, 2])
def test_words_of_a_run_are_words_on_the_page(number: int) -> None:
    runs = [evil(made_run(i)) for i in range(number)]
    labels = {run.id: Label(True, (EVIL,), EVIL) for run in runs}
    text = report_page(Report(runs=runs, labels=labels))
    check_alone(text)
    assert "<script" not in text and "onerror=alert(2)>" not in text
    assert "\x1b" not in text and "\u202e" not in text and "\0" not in text
    assert "<script>alert(1)</script>" in Page(text).text


def test_what_cannot_be_drawn_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuexplorer.report import figure

    def fail(*_: object, **__: object) -> str:
        raise ValueError("no such axis")

    monkeypatch.setattr(figure, "svg_text", fail)
    page = Page(report_page(Report(runs=[made_run()])))
    assert "There is no chart: it failed with ValueError" in page.text
    assert "Figures" in page.text


def test_a_page_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        write_report(Report(runs=[made_run()]), tmp_path / "missing" / "x.html")
    with pytest.raises(InputError, match="no runs"):
        write_report(Report(runs=[]), tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []
    write_report(Report(runs=[made_run()]), tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_words_on_the_cells_of_a_heat_map_keep_their_colours() -> None:
    used = {colour.lower() for colour in variables(THEMES["light"]).values()}
    assert not {INK, PAPER} & used
