"""Options: what is read, and what is refused in one sentence."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.cli import main, parser, values
from gpuexplorer.cli.run import limits_of
from gpuexplorer.core.errors import InputError
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("16x16", (16, 16)),
        ("256X1", (256, 1)),
        ("8×8×4", (8, 8, 4)),
        ("64", (64,)),
        ("0x5", (0, 5)),
    ],
)
def test_blocks(text: str, read: tuple[int, ...]) -> None:
    assert values.block(text) == read


@pytest.mark.parametrize("text", ["axb", "", "16x", "1x2x3x4", "-1x4", "1.5x2", "٣x٣", "16 x 16"])
def test_blocks_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="such as 16x16"):
        values.block(text)


def test_sizes() -> None:
    assert values.size("512") == {"": 512}
    assert values.size("N=512,M=64") == {"N": 512, "M": 64}


@pytest.mark.parametrize("text", ["", "N", "N=", "N=a", "5,6", "N=1;M=2", "=4", "N=1,N=2"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        values.size(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x", "", "1e9"])
def test_seconds_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="seconds"):
        values.seconds(text)


@pytest.mark.parametrize(("text", "share"), [("0.5%", 0.005), ("0.02", 0.02), (" 3 % ", 0.03)])
def test_noise(text: str, share: float) -> None:
    assert values.noise(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["0", "-1%", "nan", "100%", "5", "x", "", "%"])
def test_noise_that_is_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"such as 0\.5%"):
        values.noise(text)


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        ([], (5.0, 0.005)),
        (["--seconds", "2"], (2.0, None)),
        (["--noise", "1%"], (60.0, 0.01)),
        (["--noise", "1%", "--seconds", "3"], (3.0, 0.01)),
    ],
)
def test_what_ends_a_run(arguments: list[str], limits: tuple[float, float | None]) -> None:
    assert limits_of(parser.parse(["run", "matmul", *arguments])) == limits


def test_json_defaults_to_standard_output() -> None:
    assert parser.parse(["run", "matmul", "--json"]).json == "-"
    assert parser.parse(["run", "matmul", "--json", "f.json"]).json == "f.json"
    assert parser.parse(["run", "matmul"]).json is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "no command 'rnu'; did you mean 'run'?"),
        (["run", "matmul", "--sise", "5"], "unknown argument '--sise'; did you mean '--size'?"),
        (["run"], "WORKLOAD"),
        (["run", "matmul", "--block", "axb"], "--block: 'axb' is not"),
        (["run", "matmul", "--threads", "0"], "--threads: '0' is not"),
        (["devices", "more"], "unknown argument 'more'"),
        (["--no-such"], "unknown argument '--no-such'"),
        (["run", "matmul", "--set", "TILE"], "TILE=16"),
        (["run", "matmul", "--set", "T=8", "--set", "T=16"], "--set: T is given twice"),
        (["analyze", "a.cu", "--set", "T=8", "--set", "T=8"], "--set: T is given twice"),
        (["sweep", "matmul", "--set", "T=8", "--tunable", "T=16"], "T is given twice"),
        (["tune", "matmul", "--set", "T=8", "--set", "T=16"], "--set: T is given twice"),
        (["run", "matmul", "--seed", "9223372036854775808"], "is not a whole number from 0 on"),
        (["run", "matmul", "--seed", "-1"], "'-1' is not a whole number from 0 on"),
        (["sweep", "matmul", "--samples", "0"], "'0' is not a whole number from 1 to 4000000"),
        (["sweep", "matmul", "--seconds", "nan"], "'nan' is not a number of seconds above 0"),
        (["sweep", "matmul", "--threads", "0,1"], "'0,1' holds 0; use a whole number from 1"),
        (["study", "switches", "mlp", "--try-threads", "1,-2"], "'1,-2' holds -2"),
        (["study", "precision", "mlp", "--rounds", "0"], "'0' is not a whole number from 1 on"),
        (["tune", "matmul", "--samples", "1e3"], "'1e3' is not a whole number"),
        (["history", "--offset", "-1"], "'-1' is not a whole number from 0 on"),
        (["run", "m", "--deadline", "inf"], "'inf' is not a number of seconds above 0"),
        (["compare", "a", "b", "--same-within", "100%"], "'100%' is not a share"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gpuexplorer: error: ")
    assert err.count("\n") == 1
    assert said in err


@settings(deadline=None)  # a busy machine takes its time
@given(st.lists(st.text(max_size=8), max_size=4))
def test_no_command_line_raises_anything_else(arguments: list[str]) -> None:
    try:
        parser.parse(["run", *arguments])
    except (InputError, SystemExit):
        pass


HOSTILE = (
    "", " ", "0", "-1", "1", "1.5", "nan", "inf", "-inf", "1e400", "5e-324", "x", "=", "a=", "=1",
    "a=b", "N=1,N=2", ",", "1,,2", "1:2:*1", "4:1", "1:9223372036854775807", "٣", "9" * 19,
    "9" * 5000, "1x", "x1", "0x0", "1x1x1x1", "100%", "%", "\udcff",
)  # fmt: skip


def every_command() -> list[tuple[str, ...]]:
    """Return every command with its own commands, such as ``study precision``."""

    def below(made: argparse.ArgumentParser, words: tuple[str, ...]) -> list[tuple[str, ...]]:
        found = [words]
        for action in made._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, one in action.choices.items():
                    found += below(one, (*words, name))
        return found

    return [words for words in below(parser.build_parser(), ()) if words]


def options_of(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the options of a command that take a value, and words for what it must have."""
    made: argparse.ArgumentParser = parser.build_parser()
    for word in words:
        made = next(
            a.choices[word] for a in made._actions if isinstance(a, argparse._SubParsersAction)
        )
    taking = [a for a in made._actions if a.option_strings and a.nargs in (None, "?")]
    must = [a for a in made._actions if not a.option_strings and a.nargs in (None, "+")]
    return [a.option_strings[0] for a in taking], ["1"] * len(must)


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_option_of_every_command_takes_a_value_or_says_why_not(
    words: tuple[str, ...],
) -> None:
    options, must = options_of(words)
    made = parser.build_parser()
    for option in options:
        for text in HOSTILE:
            said = "nothing"
            try:
                made.parse_args([*words, *must, f"{option}={text}"])
            except InputError as error:
                said = str(error)
            assert said and "\n" not in said and len(said) < 6000, (option, text)


def test_every_command_of_the_help_exists() -> None:
    made = parser.build_parser()
    offered = next(a.choices for a in made._actions if isinstance(a, argparse._SubParsersAction))
    assert list(offered) == list(parser.COMMANDS)
    for name, command in offered.items():
        assert command.format_help().startswith(f"usage: gpuexplorer {name}")


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--history", "a.sqlite", "run", "matmul"], "history", "a.sqlite"),
        (["--history", "a.sqlite", "history", "purge"], "history", "a.sqlite"),
        (["history", "--history", "a.sqlite", "show", "3f2a"], "history", "a.sqlite"),
        (
            ["--history", "a.sqlite", "run", "matmul", "--history", "b.sqlite"],
            "history",
            "b.sqlite",
        ),
        (["--threads", "3", "sweep", "matmul"], "threads", 3),
        (["--engine", "torch", "run", "matmul"], "python", "torch"),
        (["--nice", "0", "devices"], "nice", 0),
        (["-v", "history", "show", "3f2a"], "verbose", True),
        (["--trust", "run", "matmul"], "trust", True),
        (
            ["--kernels", "a", "run", "matmul", "--kernels", "b"],
            "kernels",
            [Path("a"), Path("b")],
        ),
    ],
)
def test_what_is_given_before_a_command_counts_for_it(
    arguments: list[str], name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "")  # what is parsed sets it; set back afterwards
    monkeypatch.setattr(parser, "choose_sharing", lambda *_: None)
    assert getattr(parser.parse(arguments), name) == value


def test_what_a_command_does_not_have_is_refused_before_it_too() -> None:
    with pytest.raises(InputError, match=r"'workloads' has no option --threads") as refused:
        parser.parse(["--threads", "3", "workloads"])
    assert refused.value.remedy == "see 'gpuexplorer workloads --help'"
