"""Find and read lessons: those shipped, and folders of a teacher's own."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from gpuexplorer.core import resources
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import current
from gpuexplorer.lessons.lesson import Lesson, check, section_keys
from gpuexplorer.lessons.manifest import LessonManifest
from gpuexplorer.lessons.text import read_text
from gpuexplorer.workloads.loader import read_source
from gpuexplorer.workloads.strict import convert, suggestion
from gpuexplorer.workloads.workload import Workload

LESSON_FILE = "lesson.toml"


def shipped_folder() -> Path:
    """Return the folder of the shipped lessons: inside the package, or the checkout's."""
    return resources.folder() / "lessons"


def is_lessons(root: Path) -> bool:
    """Return whether a folder is a lesson, or holds lessons."""
    return (root / LESSON_FILE).is_file() or any(root.glob(f"*/{LESSON_FILE}"))


def lesson_folders(root: Path) -> list[Path]:
    """Return the lesson folders in ``root``, or ``root`` itself; InputError where there are none.

    Folders are in the order of their names.
    """
    if not root.is_dir():
        raise InputError(f"{root}: no such folder", remedy="give a folder of lessons")
    if (root / LESSON_FILE).is_file():
        return [root]
    found = [path.parent for path in sorted(root.glob(f"*/{LESSON_FILE}"))]
    if not found:
        raise InputError(
            f"{root}: no {LESSON_FILE} here or one folder below",
            remedy=f"put each lesson in a folder with a {LESSON_FILE}",
        )
    return found


def read_lesson(folder: Path, workloads: dict[str, Workload], language: str = "") -> Lesson:
    """Read one lesson, checked against the workloads; InputError in one sentence for what is wrong.

    Its words are in ``language``, by default the process's, or in English where it has none in
    that.
    """
    path = folder / LESSON_FILE
    try:
        raw = tomllib.loads(read_source(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}", remedy="mend that line") from None
    manifest = convert(raw, LessonManifest, str(path))
    check(manifest, workloads, str(path))
    text = read_text(folder, language or current(), section_keys(manifest))
    return Lesson(folder.resolve().name, folder, manifest, text)


def load_lessons(
    workloads: dict[str, Workload],
    extra: Iterable[Path] = (),
    language: str = "",
    on_problem: Callable[[InputError], None] | None = None,
) -> dict[str, Lesson]:
    """Read the shipped lessons and those of ``extra`` folders, in their order, by name.

    A lesson of the user's own wins over a shipped one of the same name. What is wrong with a folder
    of the user's is told to ``on_problem``, where that is given, and the others are read.
    """
    found: dict[str, Lesson] = {}
    for root in (shipped_folder(), *extra):
        try:
            lessons = [read_lesson(one, workloads, language) for one in lesson_folders(root)]
        except InputError as error:
            if on_problem is None or root == shipped_folder():
                raise
            on_problem(error)
            continue
        found |= {lesson.name: lesson for lesson in lessons}
    return dict(sorted(found.items(), key=lambda item: (item[1].manifest.order, item[0])))


def pick_lesson(lessons: dict[str, Lesson], name: str) -> Lesson:
    """Return a lesson by name; InputError listing the known ones."""
    if name not in lessons:
        raise InputError(f"no lesson '{name}'", remedy=suggestion(name, lessons))
    return lessons[name]
