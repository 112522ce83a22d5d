"""What goes into the frozen program besides what its imports bring, and what is left out.

Qt's parts that nothing here uses go, and so do libraries that must be the system's own: those that
belong to its display drivers, and those that these drivers load, which a copy would shadow.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from builder.errors import BuildError

PACKAGE = "gpuexplorer"
ICON_VARIABLE = "GPUEXPLORER_BUILD_ICON"
"""Tells the recipe the icon of Windows' programs."""
RUNTIME_VARIABLE = "GPUEXPLORER_CPU_RUNTIME"
"""``none`` leaves Intel's CPU runtime out, for who may not give it away; by default it goes in."""
BY_NAME = ("pynvml", "sqlalchemy.dialects.sqlite", "matplotlib.backends.backend_pdf")
"""Modules that no import statement names."""
START_HOOKS = frozenset({"pyi_rth_mplconfig", "pyi_rth_pyside6"})
"""PyInstaller's that would run at every start and are not wanted: a new cache of fonts each time,
and Qt in each engine, with search paths that children inherit. Qt's wheels find their plugins."""
NOT_IN_IT = (
    # Frameworks and GPU libraries: an engine in another Python has them.
    "torch", "torchvision", "torchgen", "functorch", "tensorflow", "keras", "jax", "jaxlib",
    "cupy", "cupyx", "cupy_backends", "cuda", "cupti", "nvidia", "elftools", "pyarrow", "triton",
    # What libraries load where it is installed, and nothing here asks for.
    "IPython", "OpenGL", "alembic", "cmaes", "docutils", "h5py", "mako", "numba", "pandas",
    "plotly", "scipy", "sklearn", "sympy", "tkinter", "tornado", "wx", "yaml",
    "PIL._avif", "PIL._imagingcms", "PIL._imagingft", "PIL._imagingtk", "PIL._webp",
    "matplotlib.tests", "numpy.f2py", "pyqtgraph.canvas", "pyqtgraph.console",
    "pyqtgraph.dockarea", "pyqtgraph.examples", "pyqtgraph.flowchart", "pyqtgraph.jupyter",
    "pyqtgraph.opengl",
    # For developers.
    "distutils", "ensurepip", "hypothesis", "idlelib", "lib2to3", "mypy", "pip", "pkg_resources",
    "pydoc_data", "pytest", "readline", "setuptools", "turtledemo", "uv", "venv", "wheel",
)  # fmt: skip
"""Modules that are left out wherever they are imported."""
VERSIONS_TOLD = frozenset(
    {"matplotlib", "msgspec", "numpy", "nvidia-ml-py", "optuna", "platformdirs", "psutil",
     "pyopencl", "pyqtgraph", "pyside6-essentials", "rich", "simpleeval", "sqlalchemy"}
)  # fmt: skip
"""Distributions whose metadata goes along: their versions are told at run time."""
QT_PARTS = frozenset(
    {"Core", "DBus", "Gui", "Network", "OpenGL", "OpenGLWidgets", "Svg", "Test", "WaylandClient",
     "Widgets", "XcbQpa"}
)  # fmt: skip
"""Qt's libraries that are kept: the window's, pyqtgraph's, and their platforms'."""
QT_MODULES = QT_PARTS - {"DBus", "Network"}
"""Those that Python sees."""
QT_PLUGINS = (
    "iconengines/*svgicon*", "imageformats/*svg*", "platforminputcontexts/*compose*",
    "platforminputcontexts/*ibus*", "platforms/*cocoa*", "platforms/*offscreen*", "platforms/*vnc*",
    "platforms/*wayland*", "platforms/*windows*", "platforms/*xcb*",
    "platformthemes/*xdgdesktopportal*", "styles/*", "wayland-decoration-client/*",
    "wayland-graphics-integration-client/*qt-plugin*", "wayland-shell-integration/*xdg-shell*",
    "wayland-shell-integration/*qt-shell*", "xcbglintegrations/*",
)  # fmt: skip
"""Qt's plugins that are kept, by folder and file."""
LANGUAGES = Path(__file__).parents[2] / "resources" / "languages"
QT_WORDS = frozenset(f"qtbase_{path.stem}.qm" for path in LANGUAGES.glob("*.po"))
"""Qt's own words in the languages that there are."""
OF_THE_SYSTEM = (
    "libstdc++.so*", "libgcc_s.so*", "libfontconfig.so*", "libfreetype.so*", "libexpat.so*",
    "libglib-2.0.so*", "libgthread-2.0.so*", "libgio-2.0.so*", "libgobject-2.0.so*",
    "libgmodule-2.0.so*", "libdbus-1.so*", "libX11.so*", "libX11-xcb.so*", "libXau.so*",
    "libXdmcp.so*", "libXext.so*", "libdrm.so*", "libgbm.so*", "libwayland-*.so*",
    "libsystemd.so*", "libcap.so*", "libudev.so*", "libselinux.so*", "libmount.so*",
    "libblkid.so*", "libresolv.so*", "libz.so*", "libgssapi_krb5.so*", "libkrb5*.so*",
    "libk5crypto.so*", "libcom_err.so*", "libkeyutils.so*", "libcuda.so*",
)  # fmt: skip
"""Libraries of Linux that are not put into the folder: every desktop has them."""
INTEL_LIBRARIES = (
    "libintelocl.so", "libcommon_clang.so.*", "libimf.so", "libintlc.so.5", "libirng.so",
    "libsvml.so", "libocl_svml_*.so", "libtbb.so.12", "libtbbmalloc.so.2",
    "cl.cfg", "clbltfn*.rtl", "cllibrary*",
)  # fmt: skip
"""Intel's CPU runtime for OpenCL: what it loads on any processor, as was watched."""
INTEL_LIBRARIES_OF_WINDOWS = (
    "intelocl64.dll", "common_clang64.dll", "libocl_svml_*.dll", "tbb12.dll", "tbbmalloc.dll",
    "cl.cfg", "clbltfn*.rtl", "cllibrary*",
)  # fmt: skip
"""The same for Windows, by the libraries that these files name."""
INTEL_TERMS = {
    "EULA.txt": "share/doc/opencl/licensing/EULA.txt",
    "third-party-programs.txt": "share/doc/opencl/licensing/third-party-programs.txt",
    "TBB-third-party-programs.txt": "**/share/doc/tbb/licensing/third-party-programs.txt",
    "TBB-LICENSE.txt": "[lL]ib/**/tbb-*.dist-info/LICENSE.txt",
}
"""The terms that go along with it, and where its wheels put them in an environment."""
NOTICE = "packaging/intel-runtime-notice.txt"
"""What we have to say with it, in our own words."""

UV_PLACE = f"{PACKAGE}/_data/resources/engines/uv{'.exe' if sys.platform == 'win32' else ''}"
"""Where the program stands that makes environments for engines."""

Entry = tuple[str, str, str]
"""As PyInstaller lists what it found: place in the folder, file (a link's target), kind."""


def modules(root: Path) -> list[str]:
    """Return the names of all modules of our package, since many are imported by name."""
    names = []
    for path in package_files(root):
        if path.suffix != ".py":
            continue
        parts = path.relative_to(root).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def data(root: Path) -> list[tuple[str, str]]:
    """Return files and folders of data with the folders they go to, as in the installed package."""
    place = f"{PACKAGE}/_data"
    found = [(str(root / name), f"{place}/{name}") for name in ("kernels", "resources")]
    for path in package_files(root):
        if path.suffix != ".py":
            found.append((str(path), path.parent.relative_to(root).as_posix()))
    return found


def uv_program() -> str:
    """Return the file of uv in the Python that builds."""
    import uv  # not where it is only said what can be built

    return str(uv.find_uv_bin())


def package_files(root: Path) -> list[Path]:
    """Return all files of our package but its bytecode."""
    files = (path for path in sorted((root / PACKAGE).rglob("*")) if path.is_file())
    return [path for path in files if "__pycache__" not in path.parts]


def distributions(installed: Iterable[str]) -> list[str]:
    """Return the distributions among those installed whose metadata goes along."""
    return sorted(n for n in installed if n.lower().replace("_", "-") in VERSIONS_TOLD)


# ---- what is left out of what was found


def is_wanted(place: str) -> bool:
    """Return whether a library or a data file that was found goes into the folder."""
    path = PurePosixPath(place.replace("\\", "/"))
    if any(fnmatch(path.name, pattern) for pattern in OF_THE_SYSTEM):
        return False
    if path.parts[0].startswith("pocl_binary_distribution") or path.name == "pocl.icd":
        return False  # its library is not there either
    if path.name == ".gitignore":
        return False
    if not _is_wanted_of_qt(path):
        return False
    if path.parts[:2] == ("matplotlib", "mpl-data"):
        return not {"sample_data", "afm", "pdfcorefonts", "plot_directive"} & set(path.parts)
    headers = {".pyi", ".pxd", ".pyx", ".h", ".c", ".cpp"}
    return path.suffix not in headers or path.parts[0] == "pyopencl"


def _is_wanted_of_qt(path: PurePosixPath) -> bool:
    library = re.fullmatch(r"(?:lib)?Qt6([A-Z]\w*)\.(?:so\.6|dll|framework)", path.name)
    if library is not None:
        return library[1] in QT_PARTS
    if "PySide6" not in path.parts:
        return True
    if "plugins" in path.parts:
        below = "/".join(path.parts[path.parts.index("plugins") + 1 :])
        return any(fnmatch(below, pattern) for pattern in QT_PLUGINS)
    if "translations" in path.parts:
        return path.name in QT_WORDS
    if {"qml", "resources", "libexec"} & set(path.parts):
        return False
    module = re.fullmatch(r"Qt([A-Z]\w*)(?:\.abi3)?\.(?:so|pyd)", path.name)
    return module is None or module[1] in QT_MODULES


def still_needed(
    entries: Sequence[Entry], imports: Callable[[str], set[str]] | None = None
) -> list[Entry]:
    """Return the entries without the libraries that nothing which is left loads.

    What was found for a plugin that is left out is found all the same. ``imports`` returns the
    names of the libraries that a file loads; without it they are asked for where the system can
    tell, and everything stays elsewhere.
    """
    if imports is None:
        if sys.platform != "linux":
            return list(entries)
        imports = loaded_by
    libraries = {
        PurePosixPath(place).name: file for place, file, kind in entries if _is_library(place, kind)
    }
    waiting = [
        file for place, file, kind in entries if kind != "SYMLINK" and not _is_library(place, kind)
    ]
    reached: set[str] = set()
    while waiting:
        for name in imports(waiting.pop()) & libraries.keys():
            if name not in reached:
                reached.add(name)
                waiting.append(libraries[name])
    return [
        entry
        for entry in entries
        if PurePosixPath(entry[0]).name in reached
        or not (entry[2] == "SYMLINK" or _is_library(entry[0], entry[2]))
    ]


def _is_library(place: str, kind: str) -> bool:
    """Whether it is a library that others load, and neither a module nor a plugin nor Python."""
    path = PurePosixPath(place)
    ours = path.name.startswith("lib") and not path.name.startswith("libpython")
    return kind == "BINARY" and ours and "plugins" not in path.parts


def loaded_by(file: str) -> set[str]:
    """Return the names of the libraries that a file of Linux says it loads."""
    said = subprocess.run(
        ["objdump", "-p", file], capture_output=True, text=True, check=False
    ).stdout
    return set(re.findall(r"^\s*NEEDED\s+(\S+)$", said, re.MULTILINE))


# ---- the CPU device


def cpu_runtime(prefix: Path, root: Path) -> list[tuple[str, str]]:
    """Return the files of Intel's runtime in an environment with their places in the folder.

    They are taken as they are: their licence forbids any change, and stripping is one. Its terms
    and our notice are among them. Empty where Intel offers none. Raises BuildError when a part of
    it is missing.
    """
    if os.environ.get(RUNTIME_VARIABLE, "intel") == "none":
        return []
    if sys.platform == "win32":
        place, main, patterns = "Library/bin", "intelocl64.dll", INTEL_LIBRARIES_OF_WINDOWS
    else:
        place, main, patterns = "lib", "libintelocl.so", INTEL_LIBRARIES
    folder = prefix / place
    if not (folder / main).is_file():
        return []
    found = [
        (str(path), f"{place}/{path.name}")
        for pattern in patterns
        for path in _matching(folder, pattern)
    ]
    for name, pattern in INTEL_TERMS.items():
        found.append((str(_matching(prefix, pattern)[0]), f"{place}/licensing/{name}"))
    return [*found, (str(root / NOTICE), f"{place}/licensing/README.txt")]


def _matching(folder: Path, pattern: str) -> list[Path]:
    files = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
    if not files:
        raise BuildError(f"there is no {folder / pattern}; run make clean setup-package")
    return files
