"""What the benchmark times: a scene on one simulator, many steps in one compiled call."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from contact_core.base.errors import ContactStackError
from contact_core.robot.scene_config import SolverConfig
from contact_experiments import INSTALL_PEERS
from contact_experiments.tamsi.benchmark.compliance import (
    SAMPLES,
    ContactAgreement,
    fit_time_constant,
)
from contact_experiments.tamsi.benchmark.scene import BenchmarkScene
from tamsi_sim.arrays.data import CONTACTS, STEPS
from tamsi_sim.drake.parity import PARITY

OURS = "ours"
PARITY_RUN = "ours_parity"
DRAKE_TAMSI = "drake_ktamsi"
DRAKE_SAP = "drake_ksap"
MUJOCO = "mujoco"
MUJOCO_DEFAULT = "mujoco_default"


class PeerError(ContactStackError):
    """A simulator is missing, or gives up on a scene.

    Install the extra `experiments`, or leave the simulator out.
    """


class SceneRunner(ABC):
    """A scene on one simulator."""

    @abstractmethod
    def restart(self) -> None:
        """Go back to the scene's start."""

    @abstractmethod
    def run(self) -> None:
        """Take all steps of the scene; this is what is timed.

        Raises:
            PeerError: If the simulator gives up.
        """

    @abstractmethod
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (nq) positions and (nv) velocities in our convention."""

    @abstractmethod
    def contacts(self) -> float:
        """Return the mean number of contact points per step of the last run; NaN if unknown."""


class OurRunner(SceneRunner):
    """The engine of this package."""

    def __init__(self, scene: BenchmarkScene, solver: SolverConfig) -> None:
        """Build the engine.

        Args:
            scene: The scene.
            solver: Settings of the scheme.
        """
        self._scene = scene
        self._engine = scene.engine(solver)

    def restart(self) -> None:
        """Go back to the scene's start."""
        self._scene.restart(self._engine)

    def run(self) -> None:
        """Take all steps of the scene, see the base class.

        Raises:
            ContactStackError: If a step fails; unlike a peer's, that is no figure.
        """
        status, _, _ = self._engine.roll(self._scene.forces)
        if status:
            raise ContactStackError(f"{self._scene.name}: {status.remedy}")

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and velocities, see the base class."""
        return self._engine.q.copy(), self._engine.v.copy()

    def contacts(self) -> float:
        """Return the contact points per step, see the base class."""
        counters = self._engine.work.counters
        return float(counters[CONTACTS] / counters[STEPS])


class DrakeRunner(SceneRunner):
    """A Drake diagram of plant, scene graph and, if forces vary, a table of forces.

    Everything runs in C++.
    """

    def __init__(self, scene: BenchmarkScene, approximation: str) -> None:
        """Build the diagram.

        Args:
            scene: The scene.
            approximation: Drake's contact approximation, see DrakePlant.

        Raises:
            PeerError: If Drake is not installed, or this version does not have it.
        """
        try:
            from pydrake.systems.analysis import Simulator
            from pydrake.systems.framework import DiagramBuilder

            from tamsi_sim.drake.drake_plant import DrakePlant
        except ImportError as error:
            raise PeerError("Drake is not installed: pip install 'drake<=1.51.1'") from error
        logging.getLogger("drake").setLevel(logging.ERROR)
        self._scene = scene
        builder = DiagramBuilder()
        try:
            self._model = DrakePlant(
                builder, scene.built, scene.surface_of, scene.time_step, approximation,
                stiffness=scene.stiffness, damping=scene.damping,
            )  # fmt: skip
        except RuntimeError as error:
            raise PeerError(f"Drake has no '{approximation}': {error}") from error
        plant = self._model.plant
        port = plant.get_applied_generalized_force_input_port()
        forces = self._model.generalized_force(scene.forces)
        varying = bool(np.any(forces != forces[0]))
        if varying:
            source = builder.AddSystem(_force_table(forces, scene.time_step))
            builder.Connect(source.get_output_port(), port)
        self._simulator = Simulator(builder.Build())
        self._root = self._simulator.get_mutable_context()
        self._context = plant.GetMyMutableContextFromRoot(self._root)
        if not varying:
            port.FixValue(self._context, forces[0])
        self.restart()

    def restart(self) -> None:
        """Go back to the scene's start."""
        self._root.SetTime(0.0)
        self._model.set_state(self._context, self._scene.q, self._scene.v)
        self._simulator.Initialize()

    def run(self) -> None:
        """Take all steps of the scene, see the base class."""
        self.advance(self._scene.steps)

    def advance(self, steps: int) -> None:
        """Go on until so many steps have been taken since the start.

        Raises:
            PeerError: If Drake gives up.
        """
        try:
            # Step k, from 0, is taken at k h, so the last one is taken before this time.
            self._simulator.AdvanceTo((steps - 0.5) * self._scene.time_step)
        except RuntimeError as error:
            raise PeerError(f"Drake gave up: {error}") from error

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and velocities, see the base class."""
        return self._model.state(self._context)

    def contacts(self) -> float:
        """Return NaN: Drake does not count over its steps."""
        return float("nan")


class MujocoRunner(SceneRunner):
    """MuJoCo's own rollout, in C."""

    def __init__(self, scene: BenchmarkScene, time_constant: float | None = None) -> None:
        """Build the model.

        Args:
            scene: The scene.
            time_constant: Of its contacts [s]; None for MuJoCo's default.

        Raises:
            PeerError: If MuJoCo is not installed.
        """
        try:
            import mujoco
            from mujoco import rollout
        except ImportError as error:
            raise PeerError(f"MuJoCo is not installed: {INSTALL_PEERS}") from error
        from contact_experiments.tamsi.peers import mujoco_model

        self._scene, self._mujoco, self._rollout = scene, mujoco, rollout
        self._translation = mujoco_model
        self._model = mujoco_model.mujoco_model(
            scene.built, scene.time_step, scene.surface.friction, scene.stiffness, scene.damping,
            time_constant,
        )  # fmt: skip
        self._data = mujoco.MjData(self._model)
        actuated = scene.built.arrays.joints.q >= 0
        self._control = np.ascontiguousarray(scene.forces[:, actuated])[None]
        self.restart()

    def restart(self) -> None:
        """Go back to the scene's start."""
        self._mujoco.mj_resetData(self._model, self._data)
        start = self._translation.mujoco_state(self._scene.built, self._scene.q, self._scene.v)
        self._data.qpos, self._data.qvel = start
        kind = self._mujoco.mjtState.mjSTATE_FULLPHYSICS
        self._start = np.zeros((1, self._mujoco.mj_stateSize(self._model, kind)))
        self._mujoco.mj_getState(self._model, self._data, self._start[0], kind)

    def run(self) -> None:
        """Take all steps of the scene, see the base class."""
        if self._model.nu:
            self._rollout.rollout(self._model, self._data, self._start, self._control)
        else:
            self._rollout.rollout(self._model, self._data, self._start, nstep=self._scene.steps)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and velocities, see the base class."""
        return self._translation.our_state(self._scene.built, self._data.qpos, self._data.qvel)

    def contacts(self) -> float:
        """Return the contact points per step, counted in a run of its own."""
        self.restart()
        total = 0
        for control in self._control[0]:
            self._data.ctrl[:] = control
            self._mujoco.mj_step(self._model, self._data)
            total += self._data.ncon
        return total / self._scene.steps

    def depths(self) -> ContactAgreement:
        """Return what the contacts of the second half of the run are like."""
        self.restart()
        wanted, found = _sampled(self._scene.steps), []
        for k, control in enumerate(self._control[0]):
            self._data.ctrl[:] = control
            self._mujoco.mj_step(self._model, self._data)
            if k in wanted:
                found.append(-np.array(self._data.contact.dist))
        return ContactAgreement.of(found)


def our_depths(scene: BenchmarkScene) -> ContactAgreement:
    """Return what our contacts in the second half of a scene are like."""
    engine, wanted, found = scene.engine(SolverConfig()), _sampled(scene.steps), []
    for k in range(scene.steps):
        engine.applied[:] = scene.forces[k]
        engine.step()
        if k in wanted:
            contacts = engine.work.contacts
            found.append(contacts.depth[: contacts.number[0]].copy())
    return ContactAgreement.of(found)


def _sampled(steps: int) -> set[int]:
    """Steps after which contacts are looked at."""
    return set(np.linspace(steps // 2, steps - 1, min(SAMPLES, steps)).astype(int).tolist())


class EqualMujocoRunner(MujocoRunner):
    """MuJoCo with contacts that give way as ours do.

    Attributes:
        fit: How soft they are.
    """

    def __init__(self, scene: BenchmarkScene) -> None:
        """Fit the softness and build the model.

        Args:
            scene: The scene.

        Raises:
            PeerError: If MuJoCo is not installed.
        """
        self.fit = fit_time_constant(
            our_depths(scene),
            lambda time_constant: MujocoRunner(scene, time_constant).depths(),
            scene.time_step,
        )
        super().__init__(scene, self.fit.time_constant)


RUNNERS: dict[str, Callable[[BenchmarkScene], SceneRunner]] = {
    OURS: lambda scene: OurRunner(scene, SolverConfig()),
    PARITY_RUN: lambda scene: OurRunner(scene, PARITY),
    DRAKE_TAMSI: lambda scene: DrakeRunner(scene, "tamsi"),
    DRAKE_SAP: lambda scene: DrakeRunner(scene, "sap"),
    MUJOCO: EqualMujocoRunner,
    MUJOCO_DEFAULT: MujocoRunner,
}


def table_cost(scene: BenchmarkScene) -> float:
    """Measure what Drake spends on a diagram that only reads the table of forces.

    Args:
        scene: The scene.

    Returns:
        CPU time per step, part of Drake's cost of the scene [us].
    """
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder
    from pydrake.systems.primitives import ZeroOrderHold

    builder = DiagramBuilder()
    source = builder.AddSystem(_force_table(scene.forces, scene.time_step))
    hold = builder.AddSystem(ZeroOrderHold(scene.time_step, scene.forces.shape[1]))
    builder.Connect(source.get_output_port(), hold.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    start = time.process_time_ns()
    simulator.AdvanceTo((scene.steps - 0.5) * scene.time_step)
    return 1e-3 * (time.process_time_ns() - start) / scene.steps


def _force_table(forces: np.ndarray, time_step: float) -> Any:
    """Return a Drake system whose output at k h is row k."""
    from pydrake.systems.primitives import TrajectorySource
    from pydrake.trajectories import DiscreteTimeTrajectory

    times = list(time_step * np.arange(len(forces)))
    rows = [row[:, None] for row in forces]
    return TrajectorySource(DiscreteTimeTrajectory(times, rows, 0.1 * time_step))
