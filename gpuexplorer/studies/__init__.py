"""Studies: precision against speed, what each switch buys, one device against another.

Each is an object made from what is asked for, so that it can be looked at before it runs:

    lab = PrecisionLab(request, workload, devices, How(rounds=12, seconds=1.0))
    study = lab.run(session, on_step=print)     # core.studies.PrecisionStudy

``session`` is anything with ``measure``: a blocking ``Session``, or a window's job.
``cancel`` may be called from any thread and acts between two runs; then, and after whatever ``run``
lets through, ``document`` returns what was measured by then.
"""

from gpuexplorer.studies.precision import PrecisionLab
from gpuexplorer.studies.running import How, Step
from gpuexplorer.studies.speedup import SpeedupLab
from gpuexplorer.studies.switches import SwitchesLab

Lab = PrecisionLab | SwitchesLab | SpeedupLab

__all__ = ["How", "Lab", "PrecisionLab", "SpeedupLab", "Step", "SwitchesLab"]
