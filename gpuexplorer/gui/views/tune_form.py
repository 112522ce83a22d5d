"""How to tune: which sampler, which budget, and whether clear losers are given up early."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QSpinBox

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.core.tuning import Budget
from gpuexplorer.gui.views.cluster_choice import ClusterChoice
from gpuexplorer.gui.views.job_form import JobForm
from gpuexplorer.gui.widgets.list_box import ListBox
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


class TuneForm(JobForm):
    """``options`` is what the choices say; ``subject`` names the problem."""

    def __init__(self) -> None:
        super().__init__("tune")
        self.section("Of the knobs as they stand")
        self.subject = self.line("Problem")
        self.column.addWidget(self.subject)
        self.section("Search")
        self.sampler_box = ListBox("tuneSampler", "Who says which configuration comes next")
        for name in SAMPLERS:
            self.sampler_box.addItem(tr(TITLES[name]), name)
            at = self.sampler_box.count() - 1
            self.sampler_box.setItemData(at, tr(SAMPLERS[name]), Qt.ItemDataRole.ToolTipRole)
            try:
                check_sampler(name)
            except ExplorerError as error:
                model = self.sampler_box.model()
                model.setData(model.index(at, 0), 0, Qt.ItemDataRole.UserRole - 1)
                self.sampler_box.setItemData(at, tr(str(error)), Qt.ItemDataRole.ToolTipRole)
        self.sampler_box.setAccessibleName(tr("Search"))
        self.column.addWidget(self.sampler_box)
        self.racing_box = QCheckBox(tr("&Drop losers early"))
        self.racing_box.setObjectName("tuneRacing")
        self.racing_box.setChecked(True)
        self.racing_box.setToolTip(
            tr("Without it every configuration gets the same seven launches")
        )
        self.column.addWidget(self.racing_box)
        self.section("Budget")
        self.amount_box = QSpinBox()
        self.amount_box.setObjectName("tuneAmount")
        self.amount_box.setAccessibleName(tr("Budget"))
        self.unit_box = ListBox(
            "tuneUnit", "How long to search, the final included, or how many to try"
        )
        self.unit_box.setSizeAdjustPolicy(
            ListBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.unit_box.addItem(tr("seconds"), "seconds")
        self.unit_box.addItem(tr("configurations"), "evaluations")
        self.unit_box.addItem(tr("all of them"), "all")
        budget = QHBoxLayout()
        budget.addWidget(self.amount_box)
        budget.addWidget(self.unit_box, 1)
        self.column.addLayout(budget)
        self.section("Measure on")
        self.cluster = ClusterChoice("tune")
        self.cluster.changed.connect(self.changed)
        self.column.addWidget(self.cluster)
        self._unit_chosen()
        self.sampler_box.currentIndexChanged.connect(lambda _: self._sampler_chosen())
        self.unit_box.currentIndexChanged.connect(lambda _: self._unit_chosen())
        self.amount_box.valueChanged.connect(lambda _: self.changed.emit())
        self.racing_box.toggled.connect(lambda _: self.changed.emit())

    def _sampler_chosen(self) -> None:
        """Every configuration is what a grid is for, and no other sampler."""
        grid = self.sampler_box.currentData() == "grid"
        self.unit_box.setCurrentIndex(self.unit_box.findData("all" if grid else "seconds"))
        self.changed.emit()

    def _unit_chosen(self) -> None:
        unit = self.unit_box.currentData()
        self.amount_box.setEnabled(unit != "all")
        if unit == "seconds":
            self.amount_box.setRange(1, MOST_SECONDS)
            self.amount_box.setValue(DEFAULT_SECONDS)
        elif unit == "evaluations":
            self.amount_box.setRange(1, MOST_EVALUATIONS)
            self.amount_box.setValue(DEFAULT_EVALUATIONS)
        self.changed.emit()

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
