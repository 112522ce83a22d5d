"""Which commands can work now; one that cannot is grey, and its tips say why."""

from __future__ import annotations

from gpuexplorer.core.config import RunConfig
from gpuexplorer.gui.actions import Commands
from gpuexplorer.gui.session import Session


def follow_knobs(
    commands: Commands, session: Session, config: RunConfig | None, nothing_tuned: str
) -> None:
    """Allow what depends on the knobs; ``config`` is None where they make no run.

    ``nothing_tuned`` says why nothing can be used that was tuned; "" where it can.
    """
    experiment = session.experiment
    device = no_device(session)
    no_run = device or ("" if config is not None else "The knobs, as they stand, make no run.")
    for action, reason in (
        (commands.undo, "" if experiment.can_undo else "No knob was moved."),
        (commands.redo, "" if experiment.can_redo else "No knob was taken back."),
        (commands.self_test, device),
        (commands.use_tuned, no_run or nothing_tuned),
        (commands.copy_command, no_run),
        (commands.copy_script, no_run),
    ):
        commands.allow(action, reason)


def follow_state(commands: Commands, session: Session, *, has_result: bool) -> None:
    """Allow what depends on what is measured; ``has_result``: a view holds some of its own."""
    measuring = session.live or session.jobs.measuring
    has_run = session.live_model.current is not None
    for action, reason in (
        (commands.stop, "" if measuring else "Nothing is being measured."),
        (commands.pin, "" if has_run else "No run has begun yet."),
        (commands.export, "" if has_run or has_result else "No run has begun yet."),
        (commands.analyse, not_analysed(session)),
    ):
        commands.allow(action, reason)


def no_device(session: Session) -> str:
    """Return why no device can be used; "" where one can."""
    if session.experiment.device is not None:
        return ""
    if session.experiment.devices is None:
        return "Devices are still being looked for."
    return "No device here can run work."


def not_analysed(session: Session) -> str:
    """Return why Nsight Compute cannot look into the run that is shown; "" where it can."""
    device, run = session.device, session.live_model.current
    if device is None:
        return no_device(session)
    if not device.is_nvidia_gpu:
        return f"Nsight Compute looks into NVIDIA GPUs alone, and {device.name} is none."
    if session.no_profiler:
        return f"{session.no_profiler}."
    if session.jobs.measuring and session.jobs.current is not None:
        return f"The engine is busy {session.jobs.current.doing}."
    if run is None or run.record is None:
        return "Nothing is measured yet that could be analysed."
    if run.origin:
        return f"This run came from {run.origin}, and only a run measured here can be analysed."
    if not session.measures_same(run):
        return "The source, the engine or the device is another than this run's: measure it again."
    return ""
