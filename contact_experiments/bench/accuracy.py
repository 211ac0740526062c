"""``contact-stack bench accuracy``: error over CPU time, beside Drake's CENIC and MuJoCo."""

from __future__ import annotations

import argparse
import json
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from contact_core.base.errors import ContactStackError
from contact_core.base.figures import GREY, METHODS, new_figure, save
from contact_core.base.results import add_json_option, at_least, write_json
from contact_core.robot.scene_config import SolverConfig
from contact_experiments.tamsi.benchmark.accuracy_scenes import SAMPLES, SCENES, AccuracyScene
from contact_experiments.tamsi.benchmark.compliance import fit_time_constant
from contact_experiments.tamsi.benchmark.report import machine, machine_line
from contact_experiments.tamsi.benchmark.runners import MujocoRunner, PeerError, our_depths
from contact_experiments.tamsi.benchmark.scene import BenchmarkScene

OURS, FIXED, CENIC, MUJOCO = "ours", "ours, fixed steps", "CENIC", "MuJoCo"
SETTINGS = {
    OURS: (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    FIXED: (5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5),
    CENIC: (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    MUJOCO: (5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5),
}
"""Accuracies, or time steps [s]."""
LIMITS = {OURS: (1e-9, 1e-8), CENIC: (1e-9, 1e-8), MUJOCO: (2.5e-6, 5e-6)}
"""Settings that an engine's limit is taken from, and by whose difference it is known."""
ERRORS = np.geomspace(1e-3, 1.0, 13)
"""At which the curves are compared [mm]."""
USUAL = 1e-5
"""CENIC's accuracy, which ours is compared with."""
VAGUE = 0.1
"""A limit that is not known any better is named [mm]."""
FIT_STEP = 5e-4
"""At which MuJoCo's softness is fitted [s]."""
STYLE = {
    OURS: (METHODS["tamsi"], "o-"),
    FIXED: (GREY, "o:"),
    CENIC: (METHODS["cenic"], "^-"),
    MUJOCO: (METHODS["mujoco"], "s-"),
}

Curve = Sequence[tuple[float, float]]
"""Pairs of an error [mm] and what it costs [ms]."""


class Run(ABC):
    """A scene in one engine at one setting."""

    @abstractmethod
    def restart(self) -> None:
        """Go back to the scene's start."""

    @abstractmethod
    def run(self) -> None:
        """Simulate the scene; this is what is timed.

        Raises:
            ContactStackError: If the engine gives up.
        """

    @abstractmethod
    def samples(self) -> np.ndarray:
        """Return (n, nq) the positions at the ends of the scene's periods."""


class OurRun(Run):
    """The engine of this package."""

    def __init__(self, scene: BenchmarkScene, solver: SolverConfig, stride: int = 1) -> None:
        """Build the engine.

        Args:
            scene: The scene.
            solver: Settings of the scheme.
            stride: Steps from one sample to the next.
        """
        self._scene, self._stride = scene, stride
        self._engine = scene.engine(solver)
        self._start = self._engine.save()
        self._q: np.ndarray = np.empty((0, 0))

    def restart(self) -> None:
        """Go back to the scene's start."""
        self._engine.restore(self._start)

    def run(self) -> None:
        """Simulate the scene, see the base class."""
        status, self._q, _ = self._engine.roll(self._scene.forces)
        if status:
            raise ContactStackError(f"{self._scene.name}: {status.name}")

    def samples(self) -> np.ndarray:
        """Return the positions, see the base class."""
        return self._q[self._stride :: self._stride]


class CenicRun(Run):
    """Drake's error-controlled integrator of convex contact."""

    def __init__(self, scene: BenchmarkScene, accuracy: float) -> None:
        """Build the diagram.

        Args:
            scene: The scene.
            accuracy: Of the integrator.

        Raises:
            PeerError: If Drake is not installed, or has no CENIC.
        """
        try:
            from pydrake.systems.analysis import (
                ApplySimulatorConfig,
                GetIntegrationSchemes,
                Simulator,
                SimulatorConfig,
            )
            from pydrake.systems.framework import DiagramBuilder
            from pydrake.systems.primitives import TrajectorySource, ZeroOrderHold
            from pydrake.trajectories import DiscreteTimeTrajectory

            from tamsi_sim.drake.drake_plant import DrakePlant
        except ImportError as error:
            raise PeerError("Drake is not installed: pip install 'drake<=1.51.1'") from error
        if "cenic" not in GetIntegrationSchemes():
            raise PeerError("this Drake has no CENIC")
        logging.getLogger("drake").setLevel(logging.ERROR)
        self._scene = scene
        builder = DiagramBuilder()
        self._model = DrakePlant(
            builder, scene.built, scene.surface_of, 0.0, "lagged", stiffness=scene.stiffness,
            damping=scene.damping,
        )  # fmt: skip
        plant, forces = self._model.plant, self._model.generalized_force(scene.forces)
        port = plant.get_applied_generalized_force_input_port()
        constant = bool(np.all(forces == forces[0]))
        if not constant:
            period = scene.time_step
            rows = [row[:, None] for row in (*forces, forces[-1])]
            times = [period * k for k in range(len(rows))]
            table = builder.AddSystem(
                TrajectorySource(DiscreteTimeTrajectory(times, rows, 0.1 * period))
            )
            hold = builder.AddSystem(ZeroOrderHold(period, forces.shape[1]))
            builder.Connect(table.get_output_port(), hold.get_input_port())
            builder.Connect(hold.get_output_port(), port)
        self._simulator = Simulator(builder.Build())
        config = SimulatorConfig(integration_scheme="cenic", accuracy=accuracy)
        config.use_error_control = True
        ApplySimulatorConfig(config, self._simulator)
        self._root = self._simulator.get_mutable_context()
        self._context = plant.GetMyMutableContextFromRoot(self._root)
        if constant:
            port.FixValue(self._context, forces[0])
        self._stride = max(1, scene.steps // SAMPLES)
        self._q: list[np.ndarray] = []

    def restart(self) -> None:
        """Go back to the scene's start."""
        self._root.SetTime(0.0)
        self._model.set_state(self._context, self._scene.q, self._scene.v)
        self._simulator.Initialize()

    def run(self) -> None:
        """Simulate the scene, see the base class."""
        self._q = []
        for k in range(self._stride, self._scene.steps + 1, self._stride):
            try:
                self._simulator.AdvanceTo(k * self._scene.time_step)
            except RuntimeError as error:
                raise PeerError(f"Drake gave up: {error}") from error
            self._q.append(self._model.state(self._context)[0])

    def samples(self) -> np.ndarray:
        """Return the positions, see the base class."""
        return np.array(self._q)


class MujocoRun(Run):
    """MuJoCo with the solver and integrator that its documentation recommends."""

    def __init__(self, scene: BenchmarkScene, solref: tuple[float, float], stride: int) -> None:
        """Build the model.

        Args:
            scene: The scene, at its time step.
            solref: Of every contact, see its documentation.
            stride: Steps from one sample to the next.

        Raises:
            PeerError: If MuJoCo is not installed.
        """
        try:
            import mujoco
            from mujoco import rollout
        except ImportError as error:
            raise PeerError("MuJoCo is not installed") from error
        from contact_experiments.tamsi.peers import mujoco_model as translation

        self._scene, self._stride, self._rollout = scene, stride, rollout
        self._our_state = translation.our_state
        self._model = translation.mujoco_model(
            scene.built, scene.time_step, scene.surface.friction, scene.stiffness,
            # Without the damping h K that makes a spring an implicit one.
            scene.damping - scene.time_step * scene.stiffness,
        )  # fmt: skip
        self._model.geom_solref[:] = solref
        self._data = mujoco.MjData(self._model)
        start = translation.mujoco_state(scene.built, scene.q, scene.v)
        self._data.qpos, self._data.qvel = start
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self._start = np.zeros((1, mujoco.mj_stateSize(self._model, kind)))
        mujoco.mj_getState(self._model, self._data, self._start[0], kind)
        actuated = scene.built.arrays.joints.q >= 0
        self._control = np.ascontiguousarray(scene.forces[:, actuated])[None]
        self._states: np.ndarray = np.empty((0, 0))

    def restart(self) -> None:
        """Do nothing: a run starts at the scene's start."""

    def run(self) -> None:
        """Simulate the scene, see the base class."""
        given = {"control": self._control} if self._model.nu else {"nstep": self._scene.steps}
        states, _ = self._rollout.rollout(self._model, self._data, self._start, **given)
        self._states = states[0, self._stride - 1 :: self._stride]

    def samples(self) -> np.ndarray:
        """Return the positions, see the base class."""
        built, nq, nv = self._scene.built, self._model.nq, self._model.nv
        # Time comes first.
        rows = [(row[1 : 1 + nq], row[1 + nq : 1 + nq + nv]) for row in self._states]
        return np.array([self._our_state(built, *row)[0] for row in rows])


def _refined(scene: BenchmarkScene, time_step: float) -> BenchmarkScene:
    """Return a scene at about another time step, of which a period has a whole number."""
    parts = max(1, round(scene.time_step / time_step))
    forces = np.repeat(scene.forces, parts, axis=0)
    return replace(scene, time_step=scene.time_step / parts, forces=forces)


def _solref(scene: BenchmarkScene, given: AccuracyScene) -> tuple[float, float]:
    """Return MuJoCo's ``solref`` with which it gives way as we do."""
    if given.solref is not None:
        return given.solref
    fine = _refined(scene, FIT_STEP)
    fit = fit_time_constant(
        our_depths(fine), lambda t: MujocoRunner(fine, t).depths(), fine.time_step
    )
    return fit.time_constant, 1.0


def _makers(
    scene: BenchmarkScene, solref: Callable[[], tuple[float, float]]
) -> dict[str, Callable[[float], Run]]:
    """Return what builds each engine at a setting."""
    stride = max(1, scene.steps // SAMPLES)

    def ours(accuracy: float) -> Run:
        return OurRun(scene, SolverConfig(accuracy=accuracy), stride)

    def fixed(time_step: float) -> Run:
        fine = _refined(scene, time_step)
        return OurRun(fine, SolverConfig(), stride * fine.steps // scene.steps)

    def mujoco(time_step: float) -> Run:
        fine = _refined(scene, time_step)
        return MujocoRun(fine, solref(), stride * fine.steps // scene.steps)

    return {
        OURS: ours, FIXED: fixed, CENIC: lambda accuracy: CenicRun(scene, accuracy), MUJOCO: mujoco
    }  # fmt: skip


def _places(scene: BenchmarkScene, samples: np.ndarray) -> np.ndarray:
    """Return (n, shapes, 3) the centres of the shapes of what moves [mm]."""
    engine, moving = scene.engine(SolverConfig()), scene.built.arrays.geometry.body >= 0
    places = []
    for q in samples:
        engine.q[:] = q
        engine.evaluate()
        places.append(1e3 * engine.work.poses.position[moving])
    return np.array(places)


def measure(
    name: str,
    rounds: int,
    settings: Mapping[str, Sequence[float]] = SETTINGS,
    limits: Mapping[str, Sequence[float]] = LIMITS,
    periods: int | None = None,
) -> dict[str, Any]:
    """Measure a scene.

    Args:
        name: Of :data:`SCENES`.
        rounds: How often each run is timed, interleaved; a first one does not count.
        settings: Engine -> accuracies or time steps.
        limits: Engine -> the settings of its limit.
        periods: Only so many periods of the scene; all of them if None.

    Returns:
        Engine -> ``limit``, by how much the places of its two finest runs differ [mm];
        ``distance`` of its limit from ours [mm]; ``solref`` of MuJoCo; and ``runs`` with
        ``setting``, ``error`` [mm] and ``cpu`` [ms], or why one ``failed``. Or only
        why the engine is ``missing``.
    """
    given = SCENES[name]
    scene = given.make(name)
    scene = replace(scene, forces=scene.forces[:periods])
    solref = cache(lambda: _solref(scene, given))
    makers = _makers(scene, solref)
    result: dict[str, Any] = {}
    runs: dict[tuple[str, float], Run] = {}
    truth: dict[str, np.ndarray] = {}
    for engine, values in limits.items():
        try:
            fine = [_places(scene, _once(makers[engine](value))) for value in values]
        except ContactStackError as error:
            result[engine] = {"missing": str(error)}
            continue
        truth[engine] = fine[0]
        distance = float(np.abs(fine[0] - truth[OURS]).max()) if OURS in truth else math.nan
        result[engine] = {"limit": _error(*fine), "distance": distance, "runs": []}
    for engine, values in settings.items():
        # Steps of equal length have the same limit.
        limit = truth.get(OURS if engine == FIXED else engine)
        if limit is None:
            continue
        found = result.setdefault(engine, {"runs": []})["runs"]
        for value in values:
            try:
                run = makers[engine](value)
                samples = _once(run)
            except ContactStackError as error:
                found.append({"setting": value, "failed": str(error)})
                continue
            error_ = _error(_places(scene, samples), limit)
            found.append({"setting": value, "error": error_})
            runs[engine, value] = run
    if MUJOCO in truth:
        result[MUJOCO]["solref"] = solref()
    for (engine, value), cpu in _interleaved(runs, rounds).items():
        _at(result, engine, value)["cpu"] = cpu
    return result


def _at(result: Mapping[str, Any], engine: str, setting: float) -> dict[str, Any]:
    """Return an engine's run at a setting; nothing if there is none."""
    runs: list[dict[str, Any]] = result.get(engine, {}).get("runs", [])
    return next((run for run in runs if run["setting"] == setting), {})


def _once(run: Run) -> np.ndarray:
    run.restart()
    run.run()
    return run.samples()


def _error(places: np.ndarray, limit: np.ndarray) -> float:
    """Return the greatest distance of a place from that in the limit [mm]."""
    return float(np.linalg.norm(places - limit, axis=-1).max())


def _interleaved(
    runs: Mapping[tuple[str, float], Run], rounds: int
) -> dict[tuple[str, float], float]:
    """Return the median CPU time of each run, one after the other in every round [ms]."""
    times: dict[tuple[str, float], list[float]] = {key: [] for key in runs}
    for _ in range(rounds):
        for key, run in runs.items():
            run.restart()
            start = time.process_time_ns()
            run.run()
            times[key].append(1e-6 * (time.process_time_ns() - start))
    return {key: float(np.median(values)) for key, values in times.items()}


def curve(found: Mapping[str, Any]) -> Curve:
    """Return an engine's runs that no other one beats in both, from the coarsest to the finest.

    Args:
        found: What :func:`measure` returns of an engine.
    """
    points = sorted((r["cpu"], r["error"]) for r in found.get("runs", ()) if "cpu" in r)
    front: list[tuple[float, float]] = []
    for cpu, error in points:
        if not front or error < front[-1][0]:
            front.append((error, cpu))
    return front


def cost(points: Curve, error: float) -> float:
    """Return what an error costs, by a line between logarithms.

    Args:
        points: A curve.
        error: [mm].

    Returns:
        [ms]; that of the coarsest run for greater errors, inf where no run is as good.
    """
    if not points or error < points[-1][0]:
        return math.inf
    errors, cpus = (np.log(np.maximum(values, 1e-12)) for values in zip(*points, strict=True))
    return float(np.exp(np.interp(math.log(error), errors[::-1], cpus[::-1])))


def compare(result: Mapping[str, Any]) -> dict[str, Any]:
    """Compare our curve with the peers'.

    Args:
        result: Of :func:`measure`.

    Returns:
        Peer -> share of :data:`ERRORS` that ours has for less, None without the peer; ``ratio``,
        CPU time of CENIC at :data:`USUAL` over ours at its error, 0 where ours never gets there.
    """
    ours = curve(result[OURS])
    compared: dict[str, Any] = {}
    for peer in (CENIC, MUJOCO):
        its = curve(result.get(peer, {}))
        costs = [(cost(ours, error), cost(its, error)) for error in ERRORS]
        costs = [pair for pair in costs if min(pair) < math.inf]
        wins = [own < other for own, other in costs]
        compared[peer] = float(np.mean(wins)) if its and wins else None
    usual = _at(result, CENIC, USUAL)
    own = cost(ours, usual.get("error", math.inf))
    compared["ratio"] = usual["cpu"] / own if "cpu" in usual else None
    return compared


def summary(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return in how many scenes ours is below both curves everywhere, and the median ratio.

    Args:
        results: Scene -> what :func:`measure` returned.
    """
    compared = [compare(result) for result in results.values()]
    shares = [[c[p] for p in (CENIC, MUJOCO) if c[p] is not None] for c in compared]
    ratios = [c["ratio"] for c in compared if c["ratio"] is not None]
    return {
        "scenes": len(results),
        "below_both": sum(bool(s) and min(s) == 1.0 for s in shares),
        "below_cenic": sum(c[CENIC] == 1.0 for c in compared),
        "below_mujoco": sum(c[MUJOCO] == 1.0 for c in compared),
        "ratio": float(np.median(ratios)) if ratios else None,
    }


def row(name: str, result: Mapping[str, Any]) -> str:
    """Show a scene as a row of the table.

    Args:
        name: Of the scene.
        result: Of :func:`measure`.
    """
    compared = compare(result)
    cells = [name]
    shown = (OURS, 1e-3), (OURS, USUAL), (CENIC, 1e-3), (CENIC, USUAL), (MUJOCO, 1e-3)
    for engine, setting in shown:
        run = _at(result, engine, setting)
        cells.append(" @ ".join(_short(run[k]) for k in ("error", "cpu")) if "cpu" in run else "-")
    cells += ["-" if compared[p] is None else f"{compared[p]:.0%}" for p in (CENIC, MUJOCO)]
    cells.append("-" if compared["ratio"] is None else f"{compared['ratio']:.1f}")
    return f"| {' | '.join(cells)} |"


def _short(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"


HEADER = (
    "error [mm] @ CPU time [ms]\n"
    "| scene | ours 1e-3 | ours 1e-5 | CENIC 1e-3 | CENIC 1e-5 | MuJoCo 1 ms | below CENIC |"
    " below MuJoCo | CENIC 1e-5 / ours |\n|---|---|---|---|---|---|---|---|---|"
)


def _vague(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the engines that have no limit to speak of, and to what it is known [mm]."""
    return ", ".join(
        f"{engine} on {name} {found['limit']:.2g}"
        for name, result in results.items()
        for engine, found in result.items()
        if found.get("limit", 0.0) > VAGUE
    )


def plot(results: Mapping[str, Mapping[str, Any]], path: Path) -> Path:
    """Draw error over CPU time, scene by scene.

    Args:
        results: Scene -> what :func:`measure` returned.
        path: Image to write.
    """
    columns = min(7, len(results))
    rows = math.ceil(len(results) / columns)
    figure, grid = new_figure(rows, columns, (2.2 * columns, 2.2 * rows + 0.4))
    for axes in grid.flat[len(results) :]:
        axes.set_visible(False)
    for axes, (name, result) in zip(grid.flat, results.items(), strict=False):
        axes.axhspan(ERRORS[0], ERRORS[-1], color="0.95", lw=0)
        for engine, (color, line) in STYLE.items():
            runs = [r for r in result.get(engine, {}).get("runs", ()) if "cpu" in r]
            axes.plot(
                [r["cpu"] for r in runs], [max(r["error"], 1e-6) for r in runs], line,
                color=color, label=engine, ms=3.5, lw=1.1,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", title=name.replace("_", " "), ylim=(1e-5, 1e3))
        axes.tick_params(labelsize=7)
        axes.title.set_fontsize(9)
    figure.supxlabel("CPU time [ms]", fontsize=9)
    figure.supylabel("error [mm]", fontsize=9)
    lines, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper center", frameon=False, ncols=len(STYLE))
    return save(figure, path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--scene", nargs="+", choices=list(SCENES), metavar="NAME", default=list(SCENES),
        help=f"only these: {', '.join(SCENES)}",
    )  # fmt: skip
    parser.add_argument("--rounds", type=at_least(1), default=3, help="that count (default 3)")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path("out/bench/accuracy"),
        help="where the picture and what was measured of each scene are written, which another "
        "call goes on from (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--again", action="store_true", help="measure scenes that were measured before, too"
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.
    """
    about = machine()
    print(f"{machine_line(about)}\n{HEADER}")
    results: dict[str, Any] = {}
    with tqdm(args.scene, unit="scene", leave=False) as bar:
        for name in bar:
            bar.set_description(name)
            part = args.out / f"{name}.json"
            if args.again or not part.exists():
                write_json(measure(name, args.rounds), part)
            results[name] = json.loads(part.read_text())
            bar.write(row(name, results[name]))
    figures = summary(results)
    print(
        f"\nof {figures['scenes']} scenes, ours is below at every error from {ERRORS[0]:g} to "
        f"{ERRORS[-1]:g} mm: both in {figures['below_both']}, CENIC in {figures['below_cenic']}, "
        f"MuJoCo in {figures['below_mujoco']}\n"
        f"median of CPU(CENIC {USUAL:g}) / CPU(ours at its error): "
        f"{math.nan if figures['ratio'] is None else figures['ratio']:.1f}"
    )
    print(f"limits that are known to no better than {VAGUE:g} mm: {_vague(results)}")
    print(f"picture: {plot(results, args.out / 'accuracy.png')}")
    write_json({"machine": about, "summary": figures, "scenes": results}, args.json)
    return 0
