"""How to tune: which sampler, which budget, and whether clear losers are given up early."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QSpinBox, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.tuning import Budget
from gpuexplorer.search.tune import TuningOptions
from gpuexplorer.search.tune_sampler import SAMPLERS, check_sampler

TITLES = {
    "tpe": "Learning (TPE)",
    "random": "Random",
    "grid": "Every one (grid)",
    "cmaes": "CMA-ES",
    "qmc": "Quasi-random (QMC)",
}
DEFAULT_SECONDS, MOST_SECONDS = 60, 86_400
DEFAULT_EVALUATIONS, MOST_EVALUATIONS = 100, 100_000


class TuneChoices(QWidget):
    """A row of boxes; ``options`` is what they say."""

    def __init__(self) -> None:
        super().__init__()
        self.sampler_box = QComboBox()
        self.sampler_box.setObjectName("tuneSampler")
        for name in SAMPLERS:
            self.sampler_box.addItem(TITLES[name], name)
            at = self.sampler_box.count() - 1
            self.sampler_box.setItemData(at, SAMPLERS[name], Qt.ItemDataRole.ToolTipRole)
            try:
                check_sampler(name)
            except ExplorerError as error:
                model = self.sampler_box.model()
                model.setData(model.index(at, 0), 0, Qt.ItemDataRole.UserRole - 1)
                self.sampler_box.setItemData(at, str(error), Qt.ItemDataRole.ToolTipRole)
        self.sampler_box.setToolTip("Who says which configuration comes next")
        self.sampler_box.currentIndexChanged.connect(lambda _: self._sampler_chosen())
        self.amount_box = QSpinBox()
        self.amount_box.setObjectName("tuneAmount")
        self.amount_box.setMinimumWidth(80)
        self.unit_box = QComboBox()
        self.unit_box.setObjectName("tuneUnit")
        self.unit_box.addItem("seconds", "seconds")
        self.unit_box.addItem("configurations", "evaluations")
        self.unit_box.addItem("all of them", "all")
        self.unit_box.setToolTip("How long to search, the final included, or how many to try")
        self.unit_box.currentIndexChanged.connect(lambda _: self._unit_chosen())
        self.racing_box = QCheckBox("&Give clear losers up early")
        self.racing_box.setObjectName("tuneRacing")
        self.racing_box.setChecked(True)
        self.racing_box.setToolTip("Without it every configuration gets the same seven launches")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for words, box in (("&Search", self.sampler_box), ("&Budget", self.amount_box)):
            label = QLabel(words)
            label.setBuddy(box)
            row.addWidget(label)
            row.addWidget(box)
        row.addWidget(self.unit_box)
        row.addSpacing(12)
        row.addWidget(self.racing_box)
        row.addStretch(1)
        self._unit_chosen()

    def _sampler_chosen(self) -> None:
        """Every configuration is what a grid is for, and no other sampler."""
        grid = self.sampler_box.currentData() == "grid"
        self.unit_box.setCurrentIndex(self.unit_box.findData("all" if grid else "seconds"))

    def _unit_chosen(self) -> None:
        unit = self.unit_box.currentData()
        self.amount_box.setEnabled(unit != "all")
        if unit == "seconds":
            self.amount_box.setRange(1, MOST_SECONDS)
            self.amount_box.setValue(DEFAULT_SECONDS)
        elif unit == "evaluations":
            self.amount_box.setRange(1, MOST_EVALUATIONS)
            self.amount_box.setValue(DEFAULT_EVALUATIONS)

    @property
    def options(self) -> TuningOptions:
        """How to tune, as chosen."""
        unit, amount = self.unit_box.currentData(), self.amount_box.value()
        return TuningOptions(
            sampler=str(self.sampler_box.currentData()),
            budget=Budget(
                seconds=float(amount) if unit == "seconds" else None,
                evaluations=amount if unit == "evaluations" else None,
            ),
            racing=self.racing_box.isChecked(),
        )
