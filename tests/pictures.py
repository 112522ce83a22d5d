"""The pictures of the READMEs and the help, made anew from real runs.

In Chinese, with ``xvfb-run -s "-screen 0 1600x1000x24"`` before it where there is no display:

    GPUEXPLORER_LANGUAGE=zh_CN python -m tests.pictures FOLDER [live] [block_map] [accesses]
        [bench] [instructions]

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
from PySide6.QtGui import QPixmap, QTextCursor
from PySide6.QtWidgets import QAbstractButton, QWidget

from gpuexplorer.gui.code.pane import CodePane
from gpuexplorer.gui.panels.accesses import AccessesView
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest
from tests.support.own_kernels import TEXTBOOK

if TYPE_CHECKING:
    from tests.chaos.puppet_window import Puppet

WINDOW = QSize(1280, 800)
PAGE_PX = 568
"""Width of a picture in the help: the window has no room for more until it is made wider."""
ABOVE_PX = 46
"""What the accesses are of stands so far above them."""
BENCH_PX, LISTING_PX = 236, 400
"""Heights of the pictures of a file of one's own, and of instructions."""
NAME, SHOWN_FROM = "mine", 2
"""The file, and the first line that is shown."""
BEFORE, AFTER, LOOP = "float sum = 0.0f;", "float sum = 0.0f, more = 1.0f;", "for (int k = 0"
"""What is edited in that file, and the line whose instructions are shown."""
ANY_PX = (1 << 24) - 1
"""The most that Qt lets a widget have, which is what one has that may be of any size."""
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
        for make in (live, block_map, accesses, bench, instructions):
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
    _save(_shown(puppet, view, QRect(0, top.y() - ABOVE_PX, view.width(), high)), file)


def bench(puppet: Puppet, file: Path) -> None:
    """Write the source of a file of one's own; an edit of it was measured and is not saved."""
    pane = _edited(puppet)
    view = pane.view
    view.setTextCursor(QTextCursor(view.document().findBlockByNumber(SHOWN_FROM)))
    pane.setFixedSize(PAGE_PX, BENCH_PX)
    puppet.see()
    view.verticalScrollBar().setValue(SHOWN_FROM)
    puppet.see()
    _save(_shown(puppet, pane), file)
    pane.setMinimumSize(0, 0)
    pane.setMaximumSize(ANY_PX, ANY_PX)


def instructions(puppet: Puppet, file: Path) -> None:
    """Write the line of an inner loop, and the instructions it became on an H100."""
    panel = puppet.window.panels.kernel
    puppet.window.session.experiment.set_workload("matmul")
    puppet.window.panels.places.show_view(panel)
    panel.choose_architecture("sm_90")
    panel.instructions_button.click()
    panel.setFixedSize(PAGE_PX, LISTING_PX)
    listing = panel.listings.column.text
    puppet.until(lambda: bool(listing.rows), PATIENCE_S)
    puppet.see()
    panel.source.setTextCursor(panel.source.document().find(LOOP))
    puppet.window.banner.dismiss()
    puppet.see()
    _save(_shown(puppet, panel), file)
    panel.setMinimumSize(0, 0)
    panel.setMaximumSize(ANY_PX, ANY_PX)


def _edited(puppet: Puppet) -> CodePane:
    """Return a file of one's own as it is shown once an edit took turns with what it holds."""
    window = puppet.window
    panel, experiment = window.panels.kernel, window.session.experiment
    path = Path(os.environ["GPUEXPLORER_DATA_DIR"]) / f"{NAME}.cu"
    path.write_text(TEXTBOOK, encoding="utf-8")
    keep_manifest(path, Answers(reference={"": "A @ B"}, sizes={"N": 64}))
    window.own_files.open(path)
    puppet.until(lambda: NAME in experiment.workloads, PATIENCE_S)
    experiment.set_workload(NAME)
    window.panels.places.show_view(panel)
    window.session.set_live(on=True)
    _measured(puppet)
    panel.source.document().find(BEFORE).insertText(AFTER)

    def compared() -> bool:
        return any(one.comparison for one in panel.editing.bench.of(experiment.workload))

    puppet.until(compared, PATIENCE_S)
    window.session.set_live(on=False)
    puppet.see()
    return panel.code


def _shown(puppet: Puppet, part: QWidget, within: QRect | None = None) -> QPixmap:
    """Return a part of the window, or some of it, with what is behind it."""
    wanted = within if within is not None else part.rect()
    return puppet.window.grab(wanted.translated(part.mapTo(puppet.window, QPoint())))


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
