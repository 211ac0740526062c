"""Batches over threads: the same bits as one thread, the same steps as one engine."""

import numpy as np
import pytest
from builders import arm_instance, engine_of, mug_instance, pose

from contact_core.base.errors import ConfigError
from contact_experiments.tamsi.cases import ParallelGripper
from tamsi_sim.arrays.status import StepStatus


def samples(count=7, steps=60):
    case = ParallelGripper()
    engine = case.engine()
    rng = np.random.default_rng(0)
    inputs = case.forces(steps) + rng.normal(0.0, 1.0, (count, steps, 8))
    return engine, inputs


def test_threads_do_not_change_a_bit():
    engine, inputs = samples()
    one, two = (engine.rollouts(engine.q, engine.v, inputs, threads=n) for n in (1, 2))
    assert one.q.tobytes() == two.q.tobytes()
    assert one.v.tobytes() == two.v.tobytes()
    assert not one.status.any()


def test_a_sample_is_what_the_engine_does():
    engine, inputs = samples()
    before = engine.q.copy()
    result = engine.rollouts(engine.q, engine.v, inputs)
    np.testing.assert_array_equal(engine.q, before)
    _, q, v = engine.roll(inputs[3])
    np.testing.assert_allclose(result.q[3], q, atol=1e-12)
    np.testing.assert_allclose(result.v[3], v, atol=1e-9)


def test_position_targets():
    engine = engine_of([arm_instance(), mug_instance(pose(x=1.0, y=1.0))])
    engine.work.drives.stiffness[:7] = 500.0
    engine.work.drives.damping_ratio[:7] = 1.0
    targets = np.tile(engine.built.q[: len(engine.v)] * 0.0, (2, 50, 1))
    targets[1, :, 0] = 0.2
    result = engine.rollouts(engine.q, engine.v, targets, "target")
    engine.work.drives.target[0] = 0.2
    engine.step(50)
    np.testing.assert_allclose(result.q[1, -1], engine.q, atol=1e-12)
    assert result.q[1, -1, 0] > result.q[0, -1, 0] + 0.01


def test_a_failed_sample_does_not_disturb_the_others():
    engine, inputs = samples()
    good = engine.rollouts(engine.q, engine.v, inputs, threads=1)
    inputs[2, 10, 0] = np.nan
    result = engine.rollouts(engine.q, engine.v, inputs, threads=1)
    assert result.status[2] == StepStatus.NOT_FINITE
    assert np.isfinite(result.q[2, :11]).all()
    assert np.isnan(result.q[2, 11:]).all()
    np.testing.assert_array_equal(np.delete(result.q, 2, 0), np.delete(good.q, 2, 0))


def test_bad_arguments_are_named():
    engine, inputs = samples()
    with pytest.raises(
        ConfigError, match=r"no command 'torque' \(valid: effort, target, feedforward\)"
    ):
        engine.rollouts(engine.q, engine.v, inputs, "torque")
    with pytest.raises(ConfigError, match=r"inputs must be \(n, T, 8\), got \(60, 8\)"):
        engine.rollouts(engine.q, engine.v, inputs[0])
    with pytest.raises(ConfigError, match=r"q must be \(9,\) or \(7, 9\), got \(3,\)"):
        engine.rollouts(engine.q[:3], engine.v, inputs)
