"""The charts of the studies: speed against error, what each switch bought, two devices."""

from __future__ import annotations

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.studies_precision import precision_chart
from gpuexplorer.charts.studies_speedup import speedup_chart
from gpuexplorer.charts.studies_switches import waterfall_chart
from gpuexplorer.core.studies import PrecisionStudy, Study, SwitchesStudy

__all__ = ["can_draw", "precision_chart", "speedup_chart", "study_chart", "waterfall_chart"]


def study_chart(study: Study) -> ChartSpec:
    """Return the chart of a study; one of which nothing was measured has empty panels."""
    if isinstance(study, PrecisionStudy):
        return precision_chart(study)
    if isinstance(study, SwitchesStudy):
        return waterfall_chart(study)
    return speedup_chart(study)


def can_draw(study: Study) -> bool:
    """Whether a study has anything to draw yet."""
    if isinstance(study, PrecisionStudy):
        return any(study.error(point) is not None for point in study.points)
    if isinstance(study, SwitchesStudy):
        return study.baseline is not None
    return any(point.first or point.second or point.second_with for point in study.points)
