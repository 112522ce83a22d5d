"""Find and read workload folders, the shipped ones and the user's own, and see what moved there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import path_text
from gpuexplorer.exchange.files import atomic_file, write_error
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.own_kernel import is_kernel_file, manifest_path
from gpuexplorer.workloads.own_model import (
    is_model_file,
    manifest_of,
    read_model,
    workload_name,
)
from gpuexplorer.workloads.programs import Program
from gpuexplorer.workloads.python_function import files_named
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.trust import known_path, programs
from gpuexplorer.workloads.workload import MANIFEST_NAME, MODEL_FILE, Workload, WorkloadSource

MAX_SOURCE_B = 1 << 20
"""Sources of one workload together: they travel to the engine in one message."""
KERNELS, MODELS, YOURS = GROUPS = ("Kernels", "Models", "Yours")
"""How workloads are listed, in this order."""
SOURCE_SUFFIXES = (".cu", ".cuh", ".h")


def shipped_folder() -> Path:
    """Return the folder of shipped workloads: inside the package, or the checkout's."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "_data" / "kernels"
    return inside if inside.is_dir() else package.parent / "kernels"


def read_folder(folder: Path) -> WorkloadSource:
    """Read one workload's folder as text; InputError when a file is missing or unreadable."""
    manifest = folder / MANIFEST_NAME
    text = read_source(manifest)
    try:
        sources = [p for p in sorted(folder.iterdir()) if p.suffix in SOURCE_SUFFIXES]
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from None
    files = {path.name: read_source(path) for path in sources if path.is_file()}
    files |= _python_files(text, folder)
    return WorkloadSource(manifest=text, files=files, origin=path_text(manifest))


def own_root(workload: Workload) -> Path | None:
    """Return what ``--kernels`` names to have a user's own workload; None for a shipped one."""
    origin = Path(workload.source.origin)
    if not origin.is_file() or not is_own(workload):  # the first: a text that came without a file
        return None
    origin = origin.absolute()
    return origin.parent if origin.name == MANIFEST_NAME else origin


def is_own(workload: Workload) -> bool:
    """Return whether a workload is the user's own, also where its file is gone since."""
    return not Path(workload.source.origin).absolute().is_relative_to(shipped_folder())


def grouped(workloads: Iterable[Workload]) -> dict[str, list[Workload]]:
    """Return workloads as they are listed: those with kernels, those of models alone, the user's.

    A group without any is left out.
    """
    groups: dict[str, list[Workload]] = {name: [] for name in GROUPS}
    for workload in workloads:
        written = any(v.call is None for v in workload.manifest.variants.values())
        own = own_root(workload) is not None
        groups[YOURS if own else KERNELS if written else MODELS].append(workload)
    return {name: found for name, found in groups.items() if found}


def is_own_file(word: str | Path) -> bool:
    """Return whether a word names a file that is a workload by itself: a model's, or a kernel's."""
    return is_model_file(word) or is_kernel_file(word)


def own_name(path: Path) -> str:
    """Return the name a user's own file is run by."""
    return workload_name(path, {folder.name for folder in workload_folders(shipped_folder())})


def own_workload(path: Path) -> Workload:
    """Read a user's own file as a workload; nothing of it is run.

    Raises as ``read_model`` does; of a CUDA file InputError where no manifest lies beside it.
    """
    if is_kernel_file(path):
        return kernel_workload(path)
    model = read_model(path)
    manifest = manifest_of(model, own_name(path))
    return Workload(
        WorkloadSource(manifest=manifest, files={MODEL_FILE: model.text}, origin=path_text(path))
    )


def kernel_workload(path: Path, manifest: str | None = None) -> Workload:
    """Read a CUDA file as a workload, with the manifest beside it or the one that is given.

    Raises InputError where there is none, and for whatever is wrong with file or manifest.
    """
    files = kernel_sources(path)
    if manifest is None:
        beside = manifest_path(path)
        if not beside.is_file():
            raise InputError(
                f"{path}: what a right result is, nobody has said yet",
                remedy=f"say 'gpuexplorer new {path} --reference EXPRESSION', such as 'A @ B', "
                "or --reference none",
            )
        manifest = read_source(beside)
    files |= _python_files(manifest, path.parent)
    return Workload(WorkloadSource(manifest=manifest, files=files, origin=path_text(path)))


def keep_manifest(path: Path, answers: Answers) -> bool:
    """Write the manifest that answers make of a CUDA file; False where it is there already.

    It goes beside the file, or among the user's settings (``manifest_path``).

    Raises InputError for answers that do not fit, and for another manifest, which stays.
    """
    from gpuexplorer.workloads.kernel_manifest import kernel_manifest

    text = kernel_manifest(kernel_sources(path)[path.name], path, own_name(path), answers)
    kernel_workload(path, text)  # raises what is wrong with it
    beside = manifest_path(path)
    if beside.exists():
        if read_source(beside) == text:
            return False
        raise InputError(
            f"{beside}: there is a manifest already, and it says something else",
            remedy="leave --reference out to use it, or delete it to answer anew",
        )
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(beside.parent, error) from None
    with atomic_file(beside) as stream:
        stream.write(text.encode())
    return True


def kernel_sources(path: Path, *, below: bool = False) -> dict[str, str]:
    """Return a CUDA file's text and those of the files beside it that it includes, by name.

    ``below``: of files in folders below its own as well. Links that lead elsewhere are left alone.
    """
    from gpuexplorer.workloads.includes import includes_of

    folder = path.parent.resolve()
    files = {path.name: read_source(path)}
    waiting = [path.name]
    while waiting:
        for one in includes_of(files[waiting.pop()]):
            beside = path.parent / one.name
            if one.name in files or ("/" in one.name and not below) or not beside.is_file():
                continue
            if beside.resolve().is_relative_to(folder):
                files[one.name] = read_source(beside)
                waiting.append(one.name)
    return files


def _python_files(manifest: str, folder: Path) -> dict[str, str]:
    """Return the Python files that a manifest names, as far as they are there."""
    there = [folder / name for name in files_named(manifest)]
    return {path.name: read_source(path) for path in there if path.is_file()}


def programs_of(root: Path, name: str | None = None) -> list[Program]:
    """Return the Python files that the workloads of a root run, or its workload ``name``.

    Raises as ``load`` does for a file; what is wrong with a folder is said when that is loaded.
    """
    if is_own_file(root):
        return programs(own_workload(root))
    try:
        found = [_checked(read_folder(folder)) for folder in workload_folders(root)]
    except InputError:
        return []
    return [p for one in found if name in (None, one.name) for p in programs(one)]


def read_source(path: Path) -> str:
    """Read a manifest or a source; InputError when it is not text, or too large to be one."""
    try:
        if path.stat().st_size > MAX_SOURCE_B:
            raise InputError(f"{path}: larger than {MAX_SOURCE_B} bytes, not a kernel source")
        text = path.read_text(encoding="utf-8-sig")  # with or without Windows' byte order mark
        if "\0" in text:  # UTF-16, or no text at all
            raise InputError(f"{path}: not UTF-8 text", remedy="save it as UTF-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text", remedy="save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    return text


def workload_folders(root: Path) -> list[Path]:
    """Return the workload folders in ``root``, or ``root`` itself when it is one."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder", remedy="give a folder of workloads")
    if (root / MANIFEST_NAME).is_file():
        return [root]
    found = [path.parent for path in sorted(root.glob(f"*/{MANIFEST_NAME}"))]
    if not found:
        raise InputError(
            f"{root}: no {MANIFEST_NAME} here or one folder below",
            remedy=f"put each workload in a folder with a {MANIFEST_NAME}",
        )
    return found


def load(
    extra_roots: Iterable[Path] = (), hidden: Callable[[Workload, Workload], None] | None = None
) -> dict[str, Workload]:
    """Load the shipped workloads and those of ``extra_roots``, which win over shipped names.

    A root is a folder of workloads, a model's Python file, which is read and not run, or a CUDA
    file with its manifest beside it. Of the user's own from two places the later one wins, and
    ``hidden`` gets the other and the one that has its name. Raises InputError for two folders of
    one root that declare the same name.
    """
    return _over(of_root(shipped_folder()), extra_roots, hidden)


def load_one(
    name: str,
    extra_roots: Iterable[Path] = (),
    hidden: Callable[[Workload, Workload], None] | None = None,
) -> Workload:
    """Load a workload by name, as ``pick`` has it of what ``load`` returns.

    Of the shipped ones no other is read, as each lies in a folder of its name.
    """
    roots = list(extra_roots)
    shipped = [one for one in workload_folders(shipped_folder()) if one.name == name]
    found = _over(of_root(shipped[0]) if shipped else {}, roots, hidden)
    return found[name] if name in found else pick(load(roots), name)


def _over(
    shipped: dict[str, Workload],
    roots: Iterable[Path],
    hidden: Callable[[Workload, Workload], None] | None,
) -> dict[str, Workload]:
    """Return shipped workloads and those of roots, as ``load`` does."""
    workloads = dict(shipped)
    own: list[Workload] = []
    for root in roots:
        here = of_root(root)
        workloads |= here
        own += here.values() if root != shipped_folder() else ()
    for one in {one.source.origin: one for one in own}.values():
        winner = workloads[one.name]
        if hidden is not None and own_root(winner) != own_root(one):
            hidden(one, winner)
    return workloads


def of_root(root: Path) -> dict[str, Workload]:
    """Return the workloads of one root by name; raises InputError as ``load`` does."""
    here: dict[str, Workload] = {}
    if is_own_file(root):
        own = own_workload(root)
        here[own.name] = own
    else:
        for folder in workload_folders(root):
            workload = _checked(read_folder(folder))
            twin = here.setdefault(workload.name, workload)
            if twin is not workload:
                raise InputError(
                    f"{workload.source.origin}: '{workload.name}' is also the name in "
                    f"{twin.source.origin}",
                    remedy="give each workload a name of its own",
                )
    return here


@lru_cache(maxsize=64)
def _checked(source: WorkloadSource) -> Workload:
    """Return the workload of a folder; one that has not changed is not parsed again."""
    return Workload(source)


def pick(workloads: dict[str, Workload], name: str) -> Workload:
    """Return a workload by name; InputError listing the known ones."""
    try:
        return workloads[name]
    except KeyError:
        path = known_path(name)
        remedy = f"add --kernels {path}" if path else suggestion(name, sorted(workloads))
        raise InputError(f"no workload '{name}'", remedy=remedy) from None


Stamps = frozenset[tuple[str, int, int]]
"""Of each file its path, the time of its last change and its size."""


def source_paths(workload: Workload) -> list[Path]:
    """Return the manifest and the sources of a workload that was read from files."""
    origin = Path(workload.source.origin)
    manifest = manifest_path(origin) if is_kernel_file(origin) else origin
    return [manifest, *(origin.parent / name for name in workload.source.files)]


def stamps(paths: Iterable[Path]) -> Stamps:
    """Return what tells whether files changed; one that cannot be looked at is left out."""
    found = set()
    for path in paths:
        try:
            state = path.stat()
        except OSError:
            continue
        found.add((str(path), state.st_mtime_ns, state.st_size))
    return frozenset(found)
