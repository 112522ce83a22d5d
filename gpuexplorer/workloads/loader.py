"""Find and read workload folders: the shipped ones and the user's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import path_text
from gpuexplorer.workloads.own_model import (
    is_model_file,
    manifest_of,
    read_model,
    workload_name,
)
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.trust import known_path
from gpuexplorer.workloads.workload import MANIFEST_NAME, MODEL_FILE, Workload, WorkloadSource

MAX_SOURCE_B = 1 << 20
MAX_FOLDER_B = 8 << 20
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
    if sum(map(len, files.values())) > MAX_FOLDER_B:
        raise InputError(
            f"{folder}: its sources are larger than {MAX_FOLDER_B} bytes together",
            remedy="keep only what the kernels need",
        )
    return WorkloadSource(manifest=text, files=files, origin=path_text(manifest))


def own_root(workload: Workload) -> Path | None:
    """Return what ``--kernels`` names to have a user's own workload; None for a shipped one."""
    origin = Path(workload.source.origin)
    if not origin.is_file():  # a text that came without a file
        return None
    origin = origin.absolute()
    if origin.is_relative_to(shipped_folder()):
        return None
    return origin.parent if origin.name == MANIFEST_NAME else origin


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


def own_workload(path: Path) -> Workload:
    """Read a model's file as a workload; nothing of it is run. Raises as ``read_model`` does."""
    model = read_model(path)
    shipped = {folder.name for folder in workload_folders(shipped_folder())}
    manifest = manifest_of(model, workload_name(path, shipped))
    return Workload(
        WorkloadSource(manifest=manifest, files={MODEL_FILE: model.text}, origin=path_text(path))
    )


def read_source(path: Path) -> str:
    """Read a manifest or a source; InputError when it is not text, or too large to be one."""
    try:
        if path.stat().st_size > MAX_SOURCE_B:
            raise InputError(f"{path}: larger than {MAX_SOURCE_B} bytes, not a kernel source")
        return path.read_text(encoding="utf-8-sig")  # with or without Windows' byte order mark
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


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


def load(extra_roots: Iterable[Path] = ()) -> dict[str, Workload]:
    """Load the shipped workloads and those of ``extra_roots``, which win over shipped names.

    A root is a folder of workloads, or a model's Python file, which is read and not run. Raises
    InputError for two folders of one root that declare the same name.
    """
    workloads: dict[str, Workload] = {}
    for root in (shipped_folder(), *extra_roots):
        if is_model_file(root):
            own = own_workload(root)
            workloads[own.name] = own
            continue
        here: dict[str, Workload] = {}
        for folder in workload_folders(root):
            workload = Workload(read_folder(folder))
            twin = here.setdefault(workload.name, workload)
            if twin is not workload:
                raise InputError(
                    f"{workload.source.origin}: '{workload.name}' is also the name in "
                    f"{twin.source.origin}",
                    remedy="give each workload a name of its own",
                )
        workloads |= here
    return workloads


def pick(workloads: dict[str, Workload], name: str) -> Workload:
    """Return a workload by name; InputError listing the known ones."""
    try:
        return workloads[name]
    except KeyError:
        path = known_path(name)
        remedy = f"add --kernels {path}" if path else suggestion(name, sorted(workloads))
        raise InputError(f"no workload '{name}'", remedy=remedy) from None
