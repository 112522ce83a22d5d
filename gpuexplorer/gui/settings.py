"""What the window remembers between sessions."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QByteArray, QSettings

from gpuexplorer.core.language.available import SYSTEM, languages
from gpuexplorer.engine.interpreters import config_folder
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.theme import CHOICES, Choice

TEXT_SIZES = (1.0, 1.25, 1.5, 2.0)
"""Times the usual size, to choose from."""
MAX_RECENT = 8
"""Session files that the menu offers again."""


def settings_file() -> Path:
    """Return where the settings are kept (``XDG_CONFIG_HOME`` and its like decide)."""
    return config_folder() / "window.ini"


class _Flag:
    """A setting that is on or off."""

    def __init__(self, key: str, *, default: bool) -> None:
        self._key, self._default = key, "true" if default else "false"

    def __get__(self, settings: Settings, _: type[Settings]) -> bool:
        return str(settings._store.value(self._key, self._default)) == "true"

    def __set__(self, settings: Settings, value: bool) -> None:
        settings._store.setValue(self._key, "true" if value else "false")


class _Folder:
    """A setting that is a folder; the user's own one by default."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __get__(self, settings: Settings, _: type[Settings]) -> Path:
        return Path(str(settings._store.value(self._key, str(Path.home()))))

    def __set__(self, settings: Settings, value: Path) -> None:
        settings._store.setValue(self._key, str(value))


class Settings:
    """Typed access to the settings; a value that is missing or broken is its default."""

    welcome = _Flag("window/welcome", default=True)
    """Whether the welcome is shown."""
    live_at_start = _Flag("window/live_at_start", default=True)
    """Whether measuring starts by itself."""
    calibrates_when_idle = _Flag("engine/calibrates_when_idle", default=True)
    """Whether a device is calibrated in brief the first time that it has nothing to do."""
    waits_for_others = _Flag("engine/waits_for_others", default=False)
    """Whether runs wait until nobody else uses the device."""
    leaves_processor = _Flag("engine/leaves_processor", default=False)
    """Whether engines leave the processor to other programs first."""
    pictures_as_window = _Flag("export/as_window", default=False)
    """Whether exported pictures have the window's colours instead of light ones."""
    device_plots = _Flag("window/device_plots", default=False)
    """Whether all figures of the device are shown over time."""
    export_folder = _Folder("export/folder")
    """Where the last export went."""
    session_folder = _Folder("session/folder")
    """Where the last session file was."""

    def __init__(self, path: Path | None = None) -> None:
        self._store = QSettings(str(path or settings_file()), QSettings.Format.IniFormat)

    def sync(self) -> None:
        """Write to disk now."""
        self._store.sync()

    @property
    def theme(self) -> Choice:
        """The chosen colours."""
        value = self._store.value("window/theme", "system")
        return next((c for c in CHOICES if c == value), "system")

    @theme.setter
    def theme(self, value: Choice) -> None:
        self._store.setValue("window/theme", value)

    @property
    def language(self) -> str:
        """The chosen language, or ``system``; what is not there any more follows the system."""
        value = str(self._store.value("window/language", SYSTEM))
        return value if value in languages() else SYSTEM

    @language.setter
    def language(self, value: str) -> None:
        self._store.setValue("window/language", value)

    @property
    def text_size(self) -> float:
        """How many times as large as usual the window draws everything."""
        value = str(self._store.value("window/text_size", "1.0"))
        return next((size for size in TEXT_SIZES if str(size) == value), 1.0)

    @text_size.setter
    def text_size(self, value: float) -> None:
        self._store.setValue("window/text_size", str(value))

    @property
    def history_shown(self) -> bool | None:
        """Whether the user wants the history; None: where the window is high enough."""
        return {"true": True, "false": False}.get(str(self._store.value("window/history", "")))

    @history_shown.setter
    def history_shown(self, value: bool | None) -> None:
        self._store.setValue("window/history", {True: "true", False: "false", None: ""}[value])

    def take_python(self) -> str | None:
        """Return the interpreter that an older version remembered here, once; None for none."""
        value = str(self._store.value("engine/python", "") or "")
        self._store.remove("engine/python")
        return value or None

    @property
    def threads(self) -> int | None:
        """The CPU threads a kernel may use; None: all cores but one."""
        value = str(self._store.value("engine/threads", "") or "")
        return int(value) if value.isdecimal() and int(value) > 0 else None

    @threads.setter
    def threads(self, value: int | None) -> None:
        self._store.setValue("engine/threads", "" if value is None else str(value))

    @property
    def kernel_folders(self) -> list[Path]:
        """The user's own folders of workloads."""
        return self._paths("kernels/folders")

    @kernel_folders.setter
    def kernel_folders(self, value: list[Path]) -> None:
        self._set_paths("kernels/folders", value)

    @property
    def lesson_folders(self) -> list[Path]:
        """The user's own folders of lessons."""
        return self._paths("lessons/folders")

    @lesson_folders.setter
    def lesson_folders(self, value: list[Path]) -> None:
        self._set_paths("lessons/folders", value)

    @property
    def knobs(self) -> Knobs | None:
        """The last experiment."""
        value = str(self._store.value("experiment/knobs", "") or "")
        try:
            return msgspec.json.decode(value.encode(), type=Knobs) if value else None
        except msgspec.DecodeError:
            return None

    @knobs.setter
    def knobs(self, value: Knobs) -> None:
        self._store.setValue("experiment/knobs", msgspec.json.encode(value).decode())

    @property
    def export_format(self) -> str:
        """What the last exported file ended in."""
        return str(self._store.value("export/format", "png"))

    @export_format.setter
    def export_format(self, value: str) -> None:
        self._store.setValue("export/format", value)

    @property
    def recent_sessions(self) -> list[Path]:
        """The session files used last, the latest first."""
        return self._paths("session/recent")

    def remember_session(self, path: Path) -> None:
        """Note a session file as the one used last."""
        path = path.absolute()
        recent = [path, *(p for p in self.recent_sessions if p != path)]
        self._set_paths("session/recent", recent[:MAX_RECENT])

    def forget_session(self, path: Path) -> None:
        """Offer a session file no more."""
        recent = [p for p in self.recent_sessions if p != path.absolute()]
        self._set_paths("session/recent", recent)

    def _paths(self, key: str) -> list[Path]:
        value = str(self._store.value(key, "") or "")
        try:
            return [Path(p) for p in msgspec.json.decode(value.encode() or b"[]", type=list[str])]
        except msgspec.DecodeError:
            return []

    def _set_paths(self, key: str, paths: list[Path]) -> None:
        self._store.setValue(key, msgspec.json.encode([str(p) for p in paths]).decode())

    def bytes_of(self, name: str) -> QByteArray:
        """Return a geometry or layout; empty when there is none."""
        value = self._store.value(f"window/{name}")
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_bytes(self, name: str, value: QByteArray) -> None:
        """Remember a geometry or layout."""
        self._store.setValue(f"window/{name}", value)
