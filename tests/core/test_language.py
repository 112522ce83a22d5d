"""Sentences in another language: recognised in what the program says, and told whole."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import about, available, current, tr, use
from gpuexplorer.core.language.catalogue import Catalogue, Entry, read_catalogue, written
from gpuexplorer.core.language.reader import JOINTS, SYMBOLS, Reader, parts_of
from gpuexplorer.core.units import listed, plural
from tests.words.sources import everything

HEAD = (
    'msgid ""\nmsgstr ""\n"Language: xx\\n"\n"Language-Name: Xx\\n"\n"X-Locales: xx xx_YY\\n"\n'
    '"Plural-Forms: nplurals=1; plural=0;\\n"\n\n'
)
TEXT = """
msgid "{first}, {next}"
msgstr "{first}，{next}"

msgid "{names} and {last}"
msgstr "{names}和{last}"

msgid "{first}; {next}"
msgstr "{first}；{next}"

msgid "{sentence}."
msgstr "{sentence}。"

msgid "{first}. {next}"
msgstr "{first}。{next}"

msgid "{what}: {said}"
msgstr "{what}：{said}"

msgid "{said} ({aside})"
msgstr "{said}（{aside}）"

msgid "{shown} of {total} runs"
msgstr "{total} 次运行中的 {shown} 次"

msgid "{number} run"
msgid_plural "{number} runs"
msgstr[0] "{number} 次运行"

msgid "the block has {threads} threads"
msgstr "线程块有 {threads} 个线程"

msgid "use {words}"
msgstr "请用 {words}"

msgid "{path} is not there"
msgstr "找不到 {path}"

msgid "cannot open '{name}': {reason}"
msgstr "打不开 '{name}'：{reason}"

msgid "{words} than {other}"
msgstr "比 {other} {words}"

msgid "{factor}× slower"
msgstr "慢 {factor}×"

msgid "the best"
msgstr "最佳"

msgid "{error} at the most"
msgstr "最大 {error}"

msgid "{error} as a whole"
msgstr "整体 {error}"

msgid "use one of {names}"
msgstr "请用 {names} 之一"

msgid "names"
msgstr "名称"

msgid "what {name} should be is not said"
msgstr "{name} 应是什么没有说"

msgid "Source: {cited}"
msgstr "来源：{cited}"

msgid "threads in {axis}"
msgstr "{axis} 方向线程数"

msgid "{done} of {total}"
msgstr "{total} 中的 {done}"

msgid "Block map"
msgstr "线程块图"

msgid "&File"
msgstr "文件(&F)"

#, fuzzy
msgid "not sure"
msgstr "不确定"

msgid "not told"
msgstr ""

msgid "Run one launch\\n"
"and count it"
msgstr "运行一次启动\\n"
"并计数"
"""


@pytest.fixture
def language(tmp_path: Path) -> Iterator[Path]:
    """A small catalogue, in use."""
    path = tmp_path / "xx.po"
    path.write_text(HEAD + TEXT, encoding="utf-8")
    use(path)
    yield path
    use("en")


@pytest.mark.parametrize(
    ("english", "told"),
    [
        (f"{3} of {12} runs", "12 次运行中的 3 次"),
        (plural(1, "{number} run", "{number} runs"), "1 次运行"),
        (plural(12_345, "{number} run", "{number} runs"), "12\u202f345 次运行"),
        ("Block map", "线程块图"),
        ("&File", "文件(&F)"),
        ("Run one launch\nand count it", "运行一次启动\n并计数"),
        # a sentence of its own, and within others
        ("The block has 64 threads.", "线程块有 64 个线程。"),
        ("the block has 64 threads; use 32", "线程块有 64 个线程；请用 32"),
        ("cannot open 'a': /tmp/b is not there", "打不开 'a'：找不到 /tmp/b"),
        ("Block map: the block has 64 threads", "线程块图：线程块有 64 个线程"),
        ("Block map (Ctrl+B)", "线程块图（Ctrl+B）"),
        ("Block map · 3 of 12 runs", "线程块图 · 12 次运行中的 3 次"),
        ("Block map. The block has 64 threads.", "线程块图。线程块有 64 个线程。"),
        ("Block map…", "线程块图…"),
        ("  Block map\n3 runs", "  线程块图\n3 次运行"),
        ("<b>Block map</b><br>3 runs", "<b>线程块图</b><br>3 次运行"),
        (listed(["Block map", "matmul", "3 runs"]), "线程块图，matmul 和 3 次运行"),
        ("Block map:", "线程块图："),
        ("2.00× slower than the best", "比最佳慢 2.00×"),
        ("2.00× slower than naive", "比 naive 慢 2.00×"),
        ("naive  2.00× slower", "naive  慢 2.00×"),
        ("12 µs, 2.00× slower than the best, 3 runs", "12 µs，比最佳慢 2.00×，3 次运行"),
        ("Block map\n1e-7 as a whole, 2e-6 at the most", "线程块图\n整体 1e-7，最大 2e-6"),
        ("threads in x = 64: 12 µs", "x 方向线程数 = 64：12 µs"),
        (
            "Block map: threads in x = 64: 12 µs, 3 GB/s",
            "线程块图：x 方向线程数 = 64：12 µs，3 GB/s",
        ),
        ("the block has 64, N = 3 threads", "线程块有 64，N = 3 个线程"),
        ("threads in x × threads in y", "x 方向线程数 × y 方向线程数"),
        ("12 of 34", "34 中的 12"),
        ("open '12 is not there'. Block map.", "open '12 is not there'. 线程块图。"),
        ("use one of names, run, x", "请用 names，run，x 之一"),
        ("use one of names, run and x", "请用 names，run 和 x 之一"),
        ("What out should be is not said", "out 应是什么没有说"),
        ("Source: S. Boehm, a run at the most", "来源：S. Boehm, a run at the most"),
        # what is no sentence of ours
        ("error: use of undeclared identifier", "error: use of undeclared identifier"),
        ("out of memory", "out of memory"),
        ("matmul", "matmul"),
        ("412 µs", "412 µs"),
        ("/home/anna/of the runs", "/home/anna/of the runs"),
        ("", ""),
        ("not sure", "not sure"),
        ("not told", "not told"),
        ("cannot open 'Block map': x", "打不开 'Block map'：x"),
        ("N 512, M 64", "N 512, M 64"),
    ],
)
def test_a_sentence_is_recognised_and_told(language: Path, english: str, told: str) -> None:
    assert tr(english) == told


def test_english_is_what_the_program_says(language: Path) -> None:
    assert current() == "xx"
    use("en")
    text = "3 of 12 runs"
    assert tr(text) is text
    assert current() == "en"


def test_every_sentence_of_the_program_is_recognised_with_whatever_stands_in_its_fields() -> None:
    """But for a few in five hundred, which other words, or signs in a field, make another one."""
    entries = [
        Entry(one.english, one.many, [one.english] if one.english in JOINTS else [f"«{number}»"])
        for number, one in enumerate(everything().values())
    ]
    reader = Reader(Catalogue("xx", "Xx", (), 1, lambda _: 0, {}, tuple(entries)))
    chance = random.Random(19)
    samples = ("17", "412 µs", "a/my kernels/a.cu", "NVIDIA H100 80GB HBM3", "16×16", "12\u202f345")
    lost, asked = [], 0
    for number, entry in enumerate(entries):
        for phrase, many in ((entry.english, "1"), (entry.many, "12")):
            fields = {
                name: chance.choice("Nx" if name in SYMBOLS else samples)
                for name in parts_of(phrase)[1]
            }
            text = phrase.format_map(fields | {"number": many})
            asked += bool(phrase)
            if phrase and phrase not in JOINTS and f"«{number}»" not in reader.told(text):
                lost.append(f"{text!r} is told as {reader.told(text)!r}")
    assert asked > 5000
    assert len(lost) <= asked // 500, "\n".join(lost)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('msgid "a"\nmsgstr "b"\n', 1),  # no head
        (HEAD + 'msgid "a"\nmsgstr b\n', 9),
        (HEAD + '"b"\n', 8),
        (HEAD + 'msgid "a"\nmsgstr "b"\nnothing\n', 10),
        ("", 1),
    ],
)
def test_a_file_that_does_not_hold_together_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int
) -> None:
    path = tmp_path / "xx.po"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"{path} does not hold together at line {line}"):
        read_catalogue(path)


def test_a_language_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError, match="no language 'klingon'; use one of system, en"):
        use("klingon")
    with pytest.raises(InputError, match=r"x\.po cannot be read"):
        use(Path("x.po"))
    assert current() == "en"


def test_a_full_stop_after_a_field_is_that_of_the_language(tmp_path: Path) -> None:
    path = tmp_path / "xx.po"
    entries = [
        Entry("{sentence}.", "", ["{sentence}。"]),
        Entry("known to {error}", "", ["精度 {error}"]),
    ]
    path.write_text(f"{HEAD}\n" + "\n".join(map(written, entries)), encoding="utf-8")
    use(path)
    assert tr("Known to 75 %.") == "精度 75 %。"


def test_a_sentence_of_several_lines_is_told_with_what_stands_around_it(tmp_path: Path) -> None:
    path = tmp_path / "xx.po"
    entries = [
        Entry("Take runs in: ours,\nand others' (any)", "", ["收入运行"]),
        Entry("not available", "", ["不可用"]),
    ]
    path.write_text(f"{HEAD}\n" + "\n".join(map(written, entries)), encoding="utf-8")
    use(path)
    assert tr("Take runs in: ours,\nand others' (any) (Ctrl+I)\nNot available") == (
        "收入运行 (Ctrl+I)\n不可用"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two languages."""
    for name, locales in (("zh_CN", "zh zh_SG zh_Hans"), ("de", "de_DE de_AT")):
        head = HEAD.replace("xx xx_YY", locales).replace("Xx", name.upper())
        (tmp_path / f"{name}.po").write_text(head, encoding="utf-8")
    monkeypatch.setattr(available, "folder", lambda: tmp_path)
    return tmp_path


def test_languages_are_the_files_that_there_are(folder: Path) -> None:
    assert available.languages() == {"en": "English", "de": "DE", "zh_CN": "ZH_CN"}


def test_a_language_says_how_much_of_it_is_there(folder: Path) -> None:
    path = folder / "de.po"
    head = path.read_text(encoding="utf-8")
    for told, title in (("62", "DE (62 %)"), ("100", "DE")):
        line = f'"Language: xx\\n"\n"X-Told: {told}\\n"'
        path.write_text(head.replace('"Language: xx\\n"', line), encoding="utf-8")
        assert available.languages()["de"] == title


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LANG": "zh_SG"}, "zh_CN"),
        ({"LANG": "zh_TW.UTF-8"}, "en"),
        ({"LANG": "de_AT@euro"}, "de"),
        ({"LANG": "fr_FR.UTF-8", "LANGUAGE": "fr:zh_CN"}, "zh_CN"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "en_US:zh_CN"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "zh_CN"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "GPUEXPLORER_LANGUAGE": "de"}, "de"),
        ({"LANG": "zh_CN.UTF-8", "GPUEXPLORER_LANGUAGE": "system"}, "zh_CN"),
        ({}, "en"),
    ],
)
def test_a_process_takes_the_language_of_its_system(
    folder: Path, environ: dict[str, str], language: str
) -> None:
    assert available.chosen(environ=environ) == language


def test_what_was_chosen_comes_before_the_system(folder: Path) -> None:
    environ = {"LANG": "zh_CN.UTF-8"}
    assert available.chosen("de", environ=environ) == "de"
    assert available.chosen(remembered="de", environ=environ) == "de"
    assert available.chosen("system", remembered="de", environ=environ) == "zh_CN"
    assert available.chosen(system=["zh-Hans-CN", "en"], environ={}) == "zh_CN"


def test_what_is_found_of_a_name_has_the_languages_colon_whether_either_is_told_or_not() -> None:
    assert about("numpy", "2.4.6") == "numpy: 2.4.6"
    use("zh_CN")
    try:
        told = [about("numpy", "2.4.6"), about("others", "none"), about("display", "none")]
        ended = [tr("Sweep: 3 measured"), tr("the fastest, chosen, without tuning")]
        shown = [
            tr(word) for word in ("rungs", "libraries", "memory copy", "memory triad", "system")
        ]
        beside = tr("can't tell from torch (0.979–1.15)")
        medians = tr("Medians: 77 µs (naive · block 2×2), 11 µs (naive · block 64×1).")
    finally:
        use("en")
    assert told == ["numpy：2.4.6", "其他：无", "显示：无"]
    assert ended == ["扫描：已测量 3", "最快、已选用、不调优时"]
    assert shown == ["级", "库", "内存复制", "内存三元运算", "系统"]
    assert beside == "与 torch 分不出快慢（0.979–1.15）"
    assert medians == "中位数：77 µs（naive · 块 2×2）、11 µs（naive · 块 64×1）。"
