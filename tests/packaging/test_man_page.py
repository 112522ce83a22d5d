"""The manual page tells every command and option of the program, in roff that man reads."""

from __future__ import annotations

import argparse

from builder.man_page import escape, man_page

from gpuexplorer.cli.parser import COMMANDS
from tests.support.payload import DAY, EPOCH


def made() -> argparse.ArgumentParser:
    """Return a small program's parser."""
    parser = argparse.ArgumentParser(prog="gpuexplorer", epilog="examples:\n  gpuexplorer go -x")
    commands = parser.add_subparsers()
    go = commands.add_parser("go", help="move somewhere", description="Move somewhere.")
    go.add_argument("place", metavar="PLACE", help="where to")
    go.add_argument("--speed", metavar="V", help="at most 50 %% of what is allowed")
    shared = go.add_argument_group("everywhere")
    shared.add_argument("--json", nargs="?", metavar="F", help="as JSON")
    inner = go.add_subparsers().add_parser("back", help="return")
    inner.add_argument("--slow", action="store_true", help="take time")
    return parser


def test_every_command_of_the_program_has_its_part() -> None:
    page = man_page("1.2.3", EPOCH)
    for name in COMMANDS:
        assert f"\n.SS {escape(name)}\n" in page
    assert f'.TH GPUEXPLORER 1 "{DAY}" "GPU Explorer 1.2.3"' in page
    for section in ("NAME", "SYNOPSIS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES"):
        assert f"\n.SH {section}\n" in page


def test_no_line_is_taken_for_a_request_and_no_dash_for_a_hyphen() -> None:
    page = man_page("1.2.3", EPOCH)
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    known = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".br", ".nf", ".fi", ".RS", ".RE"}
    assert requests <= known
    assert r"\-\-size" in page and "--size" not in page
    assert escape(".hidden") == r"\&.hidden"
    assert escape(r"a\b~c^d") == r"a\eb\(tic\(had"


def test_options_are_explained_once_and_nested_commands_have_their_place() -> None:
    page = man_page("1.2.3", EPOCH, made())
    assert "\\fB\\-\\-speed\\fR \\fIV\\fR\nat most 50 % of what is allowed" in page
    assert page.count("\\fB\\-\\-json\\fR \\fI[F]\\fR") == 1
    assert "Also \\-\\-json: see OPTIONS EVERYWHERE." in page
    assert "\n.SS go back\n" in page and "\\fB\\-\\-slow\\fR\ntake time" in page
    assert ".nf\ngpuexplorer go \\-x\n.fi" in page
