"""The pictures of the READMEs and the help, made anew from real runs.

In Chinese, with ``xvfb-run -s "-screen 0 1600x1000x24"`` before it where there is no display:

    GPUEXPLORER_LANGUAGE=zh_CN python -m tests.pictures FOLDER [live] [block_map] [accesses]

What the machine does besides is in the figures, so it should be idle.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QAbstractButton

from gpuexplorer.gui.panels.accesses import AccessesView

if TYPE_CHECKING:
    from tests.chaos.puppet_window import Puppet

WINDOW = QSize(1280, 800)
PAGE_PX = 600
"""Width of a picture in the help."""
ABOVE_PX = 46
"""What the accesses are of stands so far above them."""
COLOURS = 256
SEEN_S = 4.0
"""How long a block is measured that is drawn beside the next."""
PATIENCE_S = 60.0


def main(folder: Path, names: Sequence[str]) -> None:
    """Write pictures into a folder, all where none is named."""
    with tempfile.TemporaryDirectory() as data:
        os.environ["GPUEXPLORER_DATA_DIR"] = os.environ["XDG_CONFIG_HOME"] = data  # as at first
        from tests.chaos.puppet_window import Puppet

        puppet = Puppet()
        window = puppet.window
        puppet.until(lambda: window.session.experiment.devices is not None, PATIENCE_S)
        window.session.set_live(on=False)
        window.choices.choose_theme("light")
        window.resize(WINDOW)
        welcome = window.findChild(QAbstractButton, "welcomeClose")
        if welcome is not None:
            welcome.click()
        for make in (live, block_map, accesses):
            if names and make.__name__ not in names:
                continue
            make(puppet, folder / f"{make.__name__}.png")
            window.session.set_live(on=False)
            puppet.see()
        window.close()


def live(puppet: Puppet, file: Path) -> None:
    """Write the window that measures: one block is pinned, and two follow it."""
    window = puppet.window
    session, experiment = window.session, window.session.experiment
    experiment.set_size("N", 512)
    experiment.set_block((16, 16, 1))
    session.set_live(on=True)
    _measured(puppet)
    window.pin()
    for block in ((1, 64), (64, 4)):
        experiment.set_block((*block, 1))
        _measured(puppet)
    _save(window.grab(), file)


def block_map(puppet: Puppet, file: Path) -> None:
    """Write a map of all blocks with the present one measured live beside it."""
    window = puppet.window
    experiment = window.session.experiment
    experiment.set_size("N", 256)
    experiment.set_block((16, 16, 1))
    puppet.block_map()
    puppet.until(lambda: window.session.jobs.current is not None, PATIENCE_S)
    puppet.until(lambda: window.session.jobs.current is None, PATIENCE_S)
    window.session.set_live(on=True)
    _measured(puppet)
    _save(window.grab(), file)


def accesses(puppet: Puppet, file: Path) -> None:
    """Write the accesses of a warp of which each lane meets a sector of its own."""
    window = puppet.window
    experiment, tab = window.session.experiment, window.panels.accesses
    experiment.set_size("N", 1024)
    experiment.set_block((1, 256, 1))
    window.panels.places.show_view(tab)
    view = tab.made()
    view.setMaximumWidth(PAGE_PX)  # narrower than a window of any size has it
    assert isinstance(view, AccessesView)
    view.count()
    puppet.until(lambda: view.shown is not None, PATIENCE_S)
    puppet.see()
    top = view.grid.mapTo(view, QPoint())
    bottom = view.scrubber.mapTo(view, QPoint(0, view.scrubber.height()))
    high = bottom.y() - top.y() + ABOVE_PX
    _save(view.grab(QRect(0, top.y() - ABOVE_PX, view.width(), high)), file)


def _save(picture: QPixmap, file: Path) -> None:
    """Write a picture in as many colours as it needs, which takes a third of the bytes."""
    picture.save(str(file))
    with Image.open(file) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(file, optimize=True)


def _measured(puppet: Puppet) -> None:
    """Measure what the knobs stand at for a while, until its interval is known."""
    session = puppet.window.session

    def known() -> bool:
        run = session.live_model.current
        return (
            run is not None
            and run.config == session.config
            and run.summary is not None
            and run.summary.ci95_low_s is not None
        )

    puppet.until(known, PATIENCE_S)
    puppet.until(lambda: False, SEEN_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
