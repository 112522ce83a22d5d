"""Keep the catalogues of ``resources/languages``: what is said, in other languages.

python -m tests.words begin fr Français     a new language, with nothing told yet
python -m tests.words update [zh_CN ...]    after sentences changed: what is new, what is unsure
python -m tests.words split zh_CN 5 DIR     what is not told yet, in files for five translators
python -m tests.words join zh_CN FILES      take what they told
python -m tests.words check [zh_CN ...]     what is untranslated, unused or too long
python -m tests.words made-up FILE          accents and 40 % more: GPUEXPLORER_LANGUAGE=FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

from gpuexplorer.core.language.available import folder
from tests.words import files
from tests.words.check import faults


def main(words: list[str]) -> int:
    """Do what is asked for; the exit code is 1 where something is to be done, 2 for a mistake."""
    match words:
        case ["begin", language, name]:
            print(files.begin(language, name))
        case ["update", *languages]:
            for path in _files(languages):
                told, unsure, left = files.update(path)
                print(f"{path.name}: {told} told, {unsure} unsure, {left} not told")
        case ["split", language, number, into]:
            for path in files.split(files.file_of(language), int(number), Path(into)):
                print(f"{path}: {len(files.read(path)[1])}")
        case ["join", language, *paths]:
            print(files.join(files.file_of(language), [Path(path) for path in paths]))
        case ["check", *languages]:
            found = [f"{path.name}: {one}" for path in _files(languages) for one in faults(path)]
            print("\n".join(found))
            return 1 if found else 0
        case ["made-up", path]:
            files.write_made_up(Path(path))
        case _:
            print(__doc__)
            return 2
    return 0


def _files(languages: list[str]) -> list[Path]:
    return [files.file_of(one) for one in languages] or sorted(folder().glob("*.po"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
