"""Catalogues hold what is said, all of it, in a form that fits where it is shown."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gpuexplorer.charts.words import checked_against
from gpuexplorer.core import resources
from gpuexplorer.core.language import tr, use
from gpuexplorer.core.language.available import folder
from gpuexplorer.core.language.catalogue import Entry
from tests.words import files
from tests.words.check import faults, outline
from tests.words.glossary import terms, terms_amiss
from tests.words.sentences import ROOT
from tests.words.single import NAMES, SHOWN, SMALL, words
from tests.words.sources import alike, everything, modules, plain, undecided


def test_no_language_lacks_a_sentence_or_keeps_one_that_is_not_said_or_too_long() -> None:
    wrong = [f"{path.name}: {one}" for path in folder().glob("*.po") for one in faults(path)]
    assert not wrong, "\n".join(wrong[:50])


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a language of which nothing is told yet."""
    monkeypatch.setattr(files, "folder", lambda: tmp_path)
    return files.begin("xx", "Xx")


def test_a_new_language_lacks_everything_and_says_so(begun: Path) -> None:
    head, told = files.read(begun)
    assert len(files.lacking("xx", told)) == len(everything()) + len(files.pages("xx"))
    assert "X-Told: 0\n" in head
    assert list(faults(begun)) == []


def test_what_is_told_of_a_language_never_becomes_less(begun: Path) -> None:
    head, told = files.read(begun)
    tell(told)
    files.write_language(begun, head, told)
    head, told = files.read(begun)
    assert files.share_in(head) == files.share("xx", told) > 20
    assert list(faults(begun)) == []

    for entry in list(told.values())[:1000]:
        entry.told = [""]
    files.write_language(begun, head, told)
    (less,) = faults(begun)
    assert f"and {files.share_in(head)} % was before" in less


def test_of_a_language_that_is_whole_each_sentence_and_each_page_is_told(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "pages", lambda language: {})
    head, told = files.read(begun)
    tell(told)
    files.write_language(begun, head, told)
    assert "X-Told: 100\n" in files.read(begun)[0]
    assert list(faults(begun)) == []

    key = next(key for key in told if len(key[0]) > 60)
    told[key].told = [""]
    gone = Entry("nothing says this any more", told=["gone"])
    page = resources.folder() / "help" / "keys.md"
    monkeypatch.setattr(files, "pages", lambda language: {page: begun / "none"})
    files.write(begun, files.read(begun)[0], [*told.values(), gone])
    assert [one.partition(" is not")[0] for one in faults(begun)] == [
        repr(key[0]), "'help/keys.md'", repr(gone.english),
    ]  # fmt: skip


PAGE = """# Sweeps
See [Tuning](tuning.md) and ![a chart](chart.png).

1. one
- two

| a | b |
| --- | --- |
| `x \\| y` | 1 |

```sh
gpuexplorer sweep  # of all
# a remark alone
```
## Values
    x = 1
    y = 2
"""
OWN = """# 扫描
![图表](chart.xx.png)，另见[调优](tuning.md)。

1. 一
- 二

| 甲 | 乙 |
| --- | --- |
| `x \\| y` | 1 |

```sh
gpuexplorer sweep  # 全部
# 注释
```
## 取值
    x = 1
    y = 2
"""


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("## 取值\n", ""),
        ("## 取值", "# 取值"),
        ("- 二\n", ""),
        ("1. 一", "一"),
        ("| 甲 | 乙 |", "| 甲 |"),
        ("| `x", "`x"),
        ("sweep  #", "tune  #"),
        ("    y = 2\n", ""),
        ("tuning.md", "lab.md"),
        ("![图表](chart.xx.png)，", ""),
        ("chart.xx.png", "other.xx.png"),
        ("```sh", "```"),
    ],
)
def test_a_page_in_a_language_that_is_built_otherwise_than_the_english_one_is_found(
    tmp_path: Path, words: str, instead: str
) -> None:
    page, own = tmp_path / "page.md", tmp_path / "page.xx.md"
    page.write_text(PAGE, encoding="utf-8")
    own.write_text(OWN, encoding="utf-8")
    assert outline(own) == outline(page)
    assert words in OWN
    own.write_text(OWN.replace(words, instead), encoding="utf-8")
    assert outline(own) != outline(page)


def test_the_chinese_readme_is_built_as_the_english_one(tmp_path: Path) -> None:
    text = (ROOT.parent / "README.zh-CN.md").read_text(encoding="utf-8")
    for own, english in (("(README.md)", "(README.zh-CN.md)"), (".zh_CN.md)", ".md)")):
        assert own in text
        text = text.replace(own, english)
    page = tmp_path / "README.md"
    page.write_text(text, encoding="utf-8")
    assert outline(page) == outline(ROOT.parent / "README.md")


def tell(told: dict[tuple[str, str], Entry]) -> None:
    """Tell every sentence in its own words."""
    for entry in told.values():
        entry.told = [entry.many or entry.english]


def test_a_term_is_told_as_the_glossary_has_it(tmp_path: Path) -> None:
    path = tmp_path / "xx.po"
    path.with_name("xx.glossary.toml").write_text(
        '[terms]\n"occupancy" = ["占用率"]\n"coalesc*" = ["合并"]\n', encoding="utf-8"
    )
    wanted = terms(path)
    assert not list(
        terms_amiss(Entry("Occupancy of {occupancy}", "", ["占用率 {occupancy}"]), wanted)
    )
    assert not list(terms_amiss(Entry("see 'occupancy'", "", ["见 'occupancy'"]), wanted))
    assert not list(terms_amiss(Entry("{occupancy} of it", "", ["其 {occupancy}"]), wanted))
    (amiss,) = terms_amiss(Entry("a coalesced access", "", ["凑合的访存"]), wanted)
    assert "'coalesced' is told as none of 合并" in amiss


@pytest.mark.parametrize(
    ("english", "many", "told", "wrong"),
    [
        ("{shown} of {total} runs", "", ["{total} 次运行中的 {shown} 次"], ""),
        ("{shown} of {total} runs", "", ["{total} 次运行"], "fields are"),
        ("{shown} of {total} runs", "", ["{shown} {total} {more}"], "fields are"),
        ("{shown} of {total} runs", "", ["{shown} {total"], "braces"),
        ("{number} run", "{number} runs", ["{number} 次运行"], ""),
        ("{number} run of {path}", "{number} runs of {path}", ["一次"], "fields are"),
        ("Open", "", ["打开一个由用户指定的文件夹"], "too long: 26 columns beside 4"),
        ("&Open", "", ["打开(&O) (&P)"], "several letters"),
        (" more", "", ["更多"], "another space"),
    ],
)
def test_what_is_wrong_with_a_translation_is_found(
    english: str, many: str, told: list[str], wrong: str
) -> None:
    found = files.faults_of(Entry(english, many, told))
    assert bool(found) == bool(wrong)
    assert wrong in "".join(found)


def test_what_changed_is_brought_up_to_date_and_what_resembles_it_is_looked_at_again(
    begun: Path,
) -> None:
    head, told = files.read(begun)
    (first, one), (second, other), *_ = [
        item for item in told.items() if len(item[0][0]) > 60 and not item[0][1]
    ]
    one.told = ["kept"]
    other.english, other.told = f"{other.english} as before", ["to look at"]
    gone = Entry("Nothing is like this any more, whatever it was", told=["away"])
    files.write(begun, head, [*told.values(), gone])

    assert files.update(begun) == (1, 1, len(everything()) - 2)
    after = files.read(begun)[1]
    assert after.keys() == everything().keys()
    assert after[first].told == ["kept"]
    assert after[second].told == ["to look at"]
    assert after[second].is_unsure


def test_bringing_up_to_date_what_is_so_changes_nothing(begun: Path) -> None:
    before = begun.read_text(encoding="utf-8")
    for _ in range(2):
        files.update(begun)
    assert begun.read_text(encoding="utf-8") == before


def test_translators_share_the_work_and_it_is_joined(begun: Path, tmp_path: Path) -> None:
    parts = files.split(begun, 5, tmp_path / "parts")
    held = [files.read(part) for part in parts]
    assert sum(len(told) for _, told in held) == len(everything())
    letters = [sum(len(english) for english, _ in told) for _, told in held]
    assert max(letters) < 2 * min(letters)
    for part, (head, told) in zip(parts, held, strict=True):
        for entry in told.values():
            entry.told = [entry.many or entry.english]
        files.write(part, head, told.values())
    assert files.join(begun, parts) == len(everything())
    assert list(faults(begun)) == []
    assert files.lacking("xx", files.read(begun)[1]) == [
        page.relative_to(resources.folder()).as_posix() for page in files.pages("xx")
    ]


def test_the_made_up_language_shows_what_is_not_translated_and_what_is_cut(
    begun: Path, tmp_path: Path
) -> None:
    files.write_made_up(tmp_path / "made-up.po")
    use(tmp_path / "made-up.po")
    assert tr("3 of 12 runs") == "⟦3 ôf 12 řûńš⟧"
    assert tr("the block is matmul") == "the block is matmul"
    for (english, _), said in list(everything().items())[::50]:
        letters = sum(map(str.isalpha, english))
        if said.places != ["how texts are joined"] and "{" not in english:
            assert len(tr(english)) >= len(english) + 0.4 * letters - 1


def test_every_word_with_a_large_letter_is_known_as_shown_or_as_a_name() -> None:
    assert undecided() == {}, "say in tests/words/single.py whether they are shown"


def test_a_word_that_is_shown_alone_is_said_somewhere() -> None:
    said = {word for module in modules().values() for word in module.literals}
    assert sorted((words(SHOWN) | words(SMALL) | words(NAMES)) - said) == []


def test_no_word_that_is_shown_alone_is_the_name_of_a_workload_or_of_what_it_has() -> None:
    names = set()
    for path in sorted((ROOT.parent / "kernels").rglob("workload.toml")):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        names |= {manifest["name"], *manifest["sizes"], *manifest["variants"]}
    assert len(names) > 50
    assert not names & {english for english, _ in everything()}


def test_a_word_that_is_shown_alone_is_in_every_catalogue_however_short_it_is() -> None:
    said = {alike(english) for english, _ in everything()}
    assert ("On", "") in everything()
    assert sorted(w for w in words(SHOWN) | words(SMALL) if alike(plain(w)) not in said) == []


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("freivalds with 4 random vectors, float64", "float64（4 个随机向量，Freivalds）"),
        ("8 of 512 rows, full, variant naive", "naive 的结果（512 行中的 8 行和每个元素）"),
        ("full, function my check.py:product", "my check.py 的函数 product()（每个元素）"),
    ],
)
def test_how_a_result_was_checked_is_told_to_the_last_word(method: str, told: str) -> None:
    use("zh_CN")
    said = f"Checked against {checked_against(method)}, tolerance 2e-05"
    assert tr(said) == f"与 {told}核对，容差 2e-05"
