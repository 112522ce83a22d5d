"""What a command says is in the language that was asked for; what it writes is the same in all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpuexplorer.cli import main
from gpuexplorer.cli.language import asked_for, speak
from gpuexplorer.cli.parser import COMMANDS
from gpuexplorer.core import language
from gpuexplorer.core.language import tr
from gpuexplorer.core.text import columns, wrapped
from tests.support.cli import run_cli
from tests.support.made_up import untranslated
from tests.words.files import write_made_up

CHOICES = {
    "hot", "cold", "warn", "wait", "normal", "uniform", "integers", "zeros", "svg", "pdf", "none",
    "samples", "time", "workload", "variant", "size", "block", "precision", "device", "median",
    "error", "flops", "bandwidth", "starred", "note", "XxY",
}  # fmt: skip
"""Values of options."""


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the made-up language, which commands are to speak."""
    path = tmp_path / "made-up.po"
    write_made_up(path)
    monkeypatch.setenv("GPUEXPLORER_LANGUAGE", str(path))
    monkeypatch.setenv("COLUMNS", "400")
    return path


@pytest.mark.parametrize("command", ["", "run", "sweep", "compare", "tune", "history", "engines"])
def test_help_is_translated_but_for_options_and_their_values(
    made_up: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([*([command] if command else []), "--help"]) == 0
    shown = capsys.readouterr().out
    assert "⟦ûšäĝé" in shown
    from gpuexplorer.cli import engines_options, history_options

    known = {*COMMANDS, *history_options.COMMANDS, *engines_options.COMMANDS, *CHOICES}
    left = {line: found for line in shown.splitlines() if (found := untranslated(line, *known))}
    assert not left


def test_an_error_is_told_in_the_language_with_names_and_options_as_they_are(
    made_up: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "nothing-like-it"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gpuexplorer: error: ⟦")
    assert "⟦ńô ŵôřķļôäđ 'nothing-like-it'" in said
    assert "attention, cnn, conv2d" in said
    assert untranslated(said, "error") == []
    assert main(["run", "matmul", "--blok"]) == 2
    said = capsys.readouterr().err
    assert "⟦ûńķńôŵń äřĝûméńţ '--blok'" in said
    assert "'--block'" in said


def test_tables_and_sentences_are_told_and_documents_stay_as_they_are(
    made_up: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workloads", "matmul"]) == 0
    shown = capsys.readouterr().out
    assert "⟦Mäţřîx mûļţîpļý" in shown
    assert "(matmul)" in shown
    assert main(["workloads", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "Matrix multiply" in json.dumps(document)
    assert "⟦" not in json.dumps(document, ensure_ascii=False)


def test_the_option_comes_before_the_variable_and_an_unknown_language_is_refused(
    made_up: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workloads", "--language", "en"]) == 0
    assert "Matrix multiply" in capsys.readouterr().out
    assert main(["workloads", "--language", "klingon"]) == 2
    assert "no language 'klingon'; use one of system, en" in capsys.readouterr().err


def test_every_command_takes_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    for command in sorted({*COMMANDS} - {"engine", "study"}):
        assert main([command, "--help"]) == 0
        assert "--language" in capsys.readouterr().out, command


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["run", "--language", "zh_CN"], "zh_CN"),
        (["--language=zh_CN", "run"], "zh_CN"),
        (["run", "--language"], None),
        (["run"], None),
    ],
)
def test_the_language_is_known_before_there_is_a_parser(
    arguments: list[str], asked: str | None
) -> None:
    assert asked_for(arguments) == asked


def test_a_terminal_that_lacks_its_letters_keeps_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUEXPLORER_LANGUAGE", "")
    monkeypatch.setenv("LC_ALL", "zh_CN")
    names = {"zh_CN": "简体中文"}
    monkeypatch.setattr("gpuexplorer.cli.language.languages", lambda: names)
    monkeypatch.setattr("gpuexplorer.cli.language.chosen", lambda asked: asked or "zh_CN")
    used: list[str] = []
    monkeypatch.setattr(language, "use", used.append)
    for encoding in ("utf-8", "gbk", "ascii", "latin-1"):
        with (tmp_path / "out").open("w", encoding=encoding) as stream:
            monkeypatch.setattr("sys.stdout", stream)
            speak(["run"])
            speak(["run", "--language", "zh_CN"])
    assert used == ["zh_CN", "zh_CN", "zh_CN", "zh_CN", "en", "zh_CN", "en", "zh_CN"]


def test_lines_of_wide_letters_fit_the_terminal() -> None:
    text = "测量一个配置，直到中位数已知到 0.5 %，最多 5 s；用 --seconds 指定时长。" * 3
    for width in (20, 33, 54):
        lines = wrapped(text, width)
        assert max(map(columns, lines)) <= width
        assert min(map(columns, lines[:-1])) > width - 14
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert not any(line.startswith(("，", "；", "。")) for line in lines)
    assert wrapped("as long as words are", 10) == ["as long as", "words are"]


def test_a_styled_sentence_is_told_whole_and_its_name_keeps_the_style(made_up: Path) -> None:
    from rich.text import Text

    from gpuexplorer.cli.told import AsIs, told

    language.use(made_up)
    line = Text("opencl is not available: the driver is missing")
    line.stylize("bold", 0, len("opencl"))
    made = told(line)
    assert made.plain == tr(line.plain) != line.plain
    assert [made.plain[span.start : span.end] for span in made.spans] == ["opencl"]
    assert told(AsIs("use it")).plain == "use it"


def test_a_section_of_the_self_test_is_named_as_its_option_names_it(
    made_up: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from gpuexplorer.cli.messages import output_console
    from gpuexplorer.cli.sheets import print_sheet
    from gpuexplorer.selftest.report import SectionResult, sheet_of

    language.use(made_up)
    result = SectionResult(
        name="occupancy", title="formula", planned=1, passed=1, failed=0, skipped=0, time_s=1.0
    )
    print_sheet(sheet_of([result]), output_console())
    heads, row = filter(None, capsys.readouterr().out.splitlines())
    assert tr("occupancy") != "occupancy"
    assert row.startswith("occupancy ")
    assert heads.startswith(tr("section"))


def test_the_doctor_has_one_kind_of_colon_in_a_language(tmp_path: Path) -> None:
    done = run_cli("doctor", "--language", "zh_CN", cwd=tmp_path)
    found = [line for line in done.stdout.splitlines() if line.startswith(("  ✓ ", "  ! ", "  ✗ "))]
    assert len(found) > 10
    assert all("：" in line for line in found), found
    assert not [line for line in found if re.match(r"\s+\S [^：]*: ", line)]
