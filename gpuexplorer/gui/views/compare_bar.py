"""Who takes part in a comparison and how it is measured: a line of buttons and lists."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QToolButton

from gpuexplorer.core.language import tr
from gpuexplorer.core.units import percent
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.two_lines import TwoLines
from gpuexplorer.search.compare import AT_MOST_S

TOLERANCES = (0.005, 0.01, 0.02, 0.05)
BUDGETS_S = {10.0: "10 s", AT_MOST_S: "20 s", 60.0: "1 min", 300.0: "5 min"}


class CompareBar(TwoLines):
    """What its buttons do is the view's to say; where it is narrow the lists have a second line."""

    def __init__(self) -> None:
        self.add_knobs = button(
            "Add knobs", "addKnobsButton", "Add the configuration the knobs stand at"
        )
        self.add_elsewhere = QToolButton()
        self.add_elsewhere.setObjectName("addElsewhereButton")
        self.add_elsewhere.setText(tr("Add knobs in ▾"))
        self.add_elsewhere.setProperty("role", "boxed")
        self.add_elsewhere.setToolTip(
            tr(
                "Add the configuration the knobs stand at, measured in another Python\n"
                "(Settings > Engines), in a process of its own"
            )
        )
        self.add_elsewhere.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.elsewhere = QMenu(self.add_elsewhere)
        self.elsewhere.setObjectName("addElsewhereMenu")
        self.add_elsewhere.setMenu(self.elsewhere)
        self.add_pins = button("Add pins", "addPinsButton", "Add every pinned run")
        self.clear = button("Clear", "clearCompareButton", "Take all out")
        self.back = button(
            "Bring back", "backCompareButton", "Have those again that were here before these"
        )
        self.back.hide()
        self.same = ListBox("sameWithinBox", "Ratios this near to 1 count as the same")
        for tolerance in TOLERANCES:
            self.same.addItem(tr(f"same within {percent(tolerance)}"), tolerance)
        self.budget = ListBox(
            "compareBudgetBox", "How long to measure until every verdict is clear, at the most"
        )
        for seconds, words in BUDGETS_S.items():
            self.budget.addItem(tr(f"at most {words}"), seconds)
        self.budget.setCurrentIndex(self.budget.findData(AT_MOST_S))
        super().__init__(
            (self.add_knobs, self.add_elsewhere, self.add_pins, self.clear),
            (self.back, self.same, self.budget),
        )

    def show_state(
        self, *, running: bool, can_add: bool, pins: bool, some: bool, back: bool
    ) -> None:
        """Show what can be done now.

        ``some``: whether anything takes part; ``back``: whether others can be brought back.
        """
        self.back.setVisible(back)
        for widget, able in (
            (self.add_knobs, can_add), (self.add_elsewhere, can_add), (self.add_pins, pins),
            (self.clear, some), (self.back, back), (self.same, True), (self.budget, True),
        ):  # fmt: skip
            widget.setEnabled(able and not running)
