"""What the window remembers between sessions."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QByteArray, QSettings

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


class Settings:
    """Typed access to the settings; a value that is missing or broken is its default."""

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
    def welcome(self) -> bool:
        """Whether the welcome is shown."""
        return str(self._store.value("window/welcome", "true")) == "true"

    @welcome.setter
    def welcome(self, value: bool) -> None:
        self._store.setValue("window/welcome", "true" if value else "false")

    @property
    def live_at_start(self) -> bool:
        """Whether measuring starts by itself."""
        return str(self._store.value("window/live_at_start", "true")) == "true"

    @live_at_start.setter
    def live_at_start(self, value: bool) -> None:
        self._store.setValue("window/live_at_start", "true" if value else "false")

    @property
    def calibrates_when_idle(self) -> bool:
        """Whether a device is calibrated in brief the first time that it has nothing to do."""
        return str(self._store.value("engine/calibrates_when_idle", "true")) == "true"

    @calibrates_when_idle.setter
    def calibrates_when_idle(self, value: bool) -> None:
        self._store.setValue("engine/calibrates_when_idle", "true" if value else "false")

    @property
    def waits_for_others(self) -> bool:
        """Whether runs wait until nobody else uses the device."""
        return str(self._store.value("engine/waits_for_others", "false")) == "true"

    @waits_for_others.setter
    def waits_for_others(self, value: bool) -> None:
        self._store.setValue("engine/waits_for_others", "true" if value else "false")

    @property
    def leaves_processor(self) -> bool:
        """Whether engines leave the processor to other programs first."""
        return str(self._store.value("engine/leaves_processor", "false")) == "true"

    @leaves_processor.setter
    def leaves_processor(self, value: bool) -> None:
        self._store.setValue("engine/leaves_processor", "true" if value else "false")

    @property
    def pictures_as_window(self) -> bool:
        """Whether exported pictures have the window's colours instead of light ones."""
        return str(self._store.value("export/as_window", "false")) == "true"

    @pictures_as_window.setter
    def pictures_as_window(self, value: bool) -> None:
        self._store.setValue("export/as_window", "true" if value else "false")

    @property
    def text_size(self) -> float:
        """How many times as large as usual the window draws everything."""
        value = str(self._store.value("window/text_size", "1.0"))
        return next((size for size in TEXT_SIZES if str(size) == value), 1.0)

    @text_size.setter
    def text_size(self, value: float) -> None:
        self._store.setValue("window/text_size", str(value))

    @property
    def device_plots(self) -> bool:
        """Whether all figures of the device are shown over time."""
        return str(self._store.value("window/device_plots", "false")) == "true"

    @device_plots.setter
    def device_plots(self, value: bool) -> None:
        self._store.setValue("window/device_plots", "true" if value else "false")

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
        value = str(self._store.value("kernels/folders", "") or "")
        try:
            return [Path(p) for p in msgspec.json.decode(value.encode() or b"[]", type=list[str])]
        except msgspec.DecodeError:
            return []

    @kernel_folders.setter
    def kernel_folders(self, value: list[Path]) -> None:
        self._store.setValue(
            "kernels/folders", msgspec.json.encode([str(p) for p in value]).decode()
        )

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
    def export_folder(self) -> Path:
        """Where the last export went."""
        return Path(str(self._store.value("export/folder", str(Path.home()))))

    @export_folder.setter
    def export_folder(self, value: Path) -> None:
        self._store.setValue("export/folder", str(value))

    @property
    def export_format(self) -> str:
        """What the last exported file ended in."""
        return str(self._store.value("export/format", "png"))

    @export_format.setter
    def export_format(self, value: str) -> None:
        self._store.setValue("export/format", value)

    @property
    def session_folder(self) -> Path:
        """Where the last session file was."""
        return Path(str(self._store.value("session/folder", str(Path.home()))))

    @session_folder.setter
    def session_folder(self, value: Path) -> None:
        self._store.setValue("session/folder", str(value))

    @property
    def recent_sessions(self) -> list[Path]:
        """The session files used last, the latest first."""
        value = str(self._store.value("session/recent", "") or "")
        try:
            return [Path(p) for p in msgspec.json.decode(value.encode() or b"[]", type=list[str])]
        except msgspec.DecodeError:
            return []

    def remember_session(self, path: Path) -> None:
        """Note a session file as the one used last."""
        path = path.absolute()
        self._set_recent([path, *(p for p in self.recent_sessions if p != path)])

    def forget_session(self, path: Path) -> None:
        """Offer a session file no more."""
        self._set_recent([p for p in self.recent_sessions if p != path.absolute()])

    def _set_recent(self, paths: list[Path]) -> None:
        kept = [str(p) for p in paths[:MAX_RECENT]]
        self._store.setValue("session/recent", msgspec.json.encode(kept).decode())

    def bytes_of(self, name: str) -> QByteArray:
        """Return a geometry or layout; empty when there is none."""
        value = self._store.value(f"window/{name}")
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_bytes(self, name: str, value: QByteArray) -> None:
        """Remember a geometry or layout."""
        self._store.setValue(f"window/{name}", value)
