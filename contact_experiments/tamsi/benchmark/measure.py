"""One scene on all simulators, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from contact_core.base.errors import ContactStackError
from contact_experiments.tamsi.benchmark.compliance import Fit
from contact_experiments.tamsi.benchmark.runners import (
    DRAKE_TAMSI,
    MUJOCO,
    OURS,
    PARITY_RUN,
    RUNNERS,
    PeerError,
    SceneRunner,
)
from contact_experiments.tamsi.benchmark.scene import BenchmarkScene

# In parity settings the velocities of all rounds equal those of Drake's kTamsi [m/s or rad/s];
# in the default ones, which have another friction law, the positions stay close [m or rad].
PARITY_TOLERANCE = 1e-6
DEFAULTS_TOLERANCE = 5e-2
"""On the Allegro hand kTamsi, whose contacts creep, is 0.031 off ours with accuracies down to 1e-6,
our own fixed steps 0.011 [m or rad]."""


class AgreementError(ContactStackError):
    """A timed run does not agree with Drake's kTamsi.

    Discard the timing; a change of the engine or of Drake has changed the physics.
    """


@dataclass(frozen=True)
class SceneResult:
    """The cost of one scene.

    Attributes:
        name: Name of the scene.
        nv: Degrees of freedom.
        bodies: Moving bodies.
        pairs: Pairs of shapes that may touch.
        microseconds: Simulator -> CPU time per step in each round [us].
        contacts: Simulator -> mean number of contact points per step; NaN if unknown.
        missing: Simulator -> why it has no figures.
        fit: How soft MuJoCo's contacts were made to be like ours; None without MuJoCo.
        velocity_error: max |v - v of kTamsi| at the end, parity settings; None without kTamsi.
        position_error: max |q - q of kTamsi| at the end, default settings; None without it.
    """

    name: str
    nv: int
    bodies: int
    pairs: int
    microseconds: dict[str, np.ndarray]
    contacts: dict[str, float]
    missing: dict[str, str]
    fit: Fit | None
    velocity_error: float | None
    position_error: float | None

    def cost(self, simulator: str) -> float | None:
        """Return the median CPU time per step [us]; None if the simulator has no figures."""
        rounds = self.microseconds.get(simulator)
        return None if rounds is None else float(np.median(rounds))

    def ratios(self, simulator: str, reference: str = OURS) -> np.ndarray | None:
        """Return each round's cost relative to ours; None if there are no figures."""
        rounds = self.microseconds.get(simulator)
        return None if rounds is None else rounds / self.microseconds[reference]


def measure(
    scene: BenchmarkScene,
    rounds: int,
    simulators: Sequence[str] = tuple(RUNNERS),
    on_round: Callable[[], None] = lambda: None,
) -> SceneResult:
    """Run a scene on every simulator in turn, several times.

    A round that is not counted comes first, so that caches are warm.

    Args:
        scene: The scene.
        rounds: How many rounds count.
        simulators: Which ones, names of RUNNERS.
        on_round: Called after every round.

    Returns:
        The figures; what a simulator cannot do is among them.

    Raises:
        AgreementError: If a run of ours and one of kTamsi end differently.
    """
    runners, missing = _prepare(scene, simulators)
    times: dict[str, list[float]] = {name: [] for name in runners}
    velocity_error = position_error = None
    for k in range(rounds + 1):
        for name, runner in list(runners.items()):
            try:
                seconds = _timed(runner)
            except PeerError as error:
                missing[name] = str(error)
                del runners[name], times[name]
                continue
            if k > 0:
                times[name].append(1e6 * seconds / scene.steps)
        if DRAKE_TAMSI in runners:
            velocity_error, position_error = _check_agreement(scene.name, runners)
        on_round()
    arrays = scene.built.arrays
    return SceneResult(
        name=scene.name,
        nv=len(arrays.joints.q),
        bodies=len(arrays.bodies.parent),
        pairs=len(scene.built.pairs),
        microseconds={name: np.array(values) for name, values in times.items()},
        contacts={name: runner.contacts() for name, runner in runners.items()},
        missing=missing,
        fit=getattr(runners.get(MUJOCO), "fit", None),
        velocity_error=velocity_error,
        position_error=position_error,
    )


def _prepare(
    scene: BenchmarkScene, simulators: Sequence[str]
) -> tuple[dict[str, SceneRunner], dict[str, str]]:
    runners: dict[str, SceneRunner] = {}
    missing: dict[str, str] = {}
    missing.update({name: why for name, why in scene.left_out.items() if name in simulators})
    for name in simulators:
        if name in missing:
            continue
        try:
            runners[name] = RUNNERS[name](scene)
        except PeerError as error:
            missing[name] = str(error)
    return runners, missing


def _timed(runner: SceneRunner) -> float:
    """Return the CPU time of one run [s]."""
    runner.restart()
    start = time.process_time_ns()
    runner.run()
    return 1e-9 * (time.process_time_ns() - start)


def _check_agreement(scene: str, runners: dict[str, SceneRunner]) -> tuple[float, float]:
    """Compare the ends of this round's runs."""
    q, v = runners[DRAKE_TAMSI].state()
    velocity_error = float(np.abs(runners[PARITY_RUN].state()[1] - v).max())
    position_error = float(np.abs(runners[OURS].state()[0] - q).max())
    if not velocity_error < PARITY_TOLERANCE:
        raise AgreementError(
            f"{scene}: in parity settings our velocities differ from those of Drake's kTamsi by "
            f"{velocity_error:.1e}, allowed are {PARITY_TOLERANCE:g}"
        )
    if not position_error < DEFAULTS_TOLERANCE:
        raise AgreementError(
            f"{scene}: our positions differ from those of Drake's kTamsi by "
            f"{position_error:.1e}, allowed are {DEFAULTS_TOLERANCE:g}"
        )
    return velocity_error, position_error
