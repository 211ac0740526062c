"""Sweeps: results kept and found again, side by side, on a cluster, and never stale."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sweep_tasks import draw, kill_the_first, note, owned, total

from contact_core.base import fingerprint
from contact_core.base.errors import ConfigError
from contact_core.base.sweep import Plugin, Sweep, Workers

FOUR = [(0,), (1,), (2,), (3,)]
PLUGIN = """
from contact_core.base.registry import Registry
from contact_core.base import sweep
sweep.OWN = 7
"""


def test_results_are_in_the_order_of_the_tasks_and_found_again(tmp_path: Path) -> None:
    marks, results = tmp_path / "marks", tmp_path / "results"
    marks.mkdir()
    tasks = [(marks, number) for number in range(4)]
    assert Sweep(folder=results, show=False).run(note, tasks[:2]) == [0, 1]
    assert Sweep(Workers(2), results, show=False).run(note, tasks) == [0, 1, 4, 9]
    assert Sweep(folder=results, show=False).run(note, tasks[::-1]) == [9, 4, 1, 0]
    assert len(list(marks.iterdir())) == 4


def test_what_is_not_worth_keeping_is_computed_again(tmp_path: Path) -> None:
    sweep = Sweep(folder=tmp_path, show=False)
    sweep.run(draw, FOUR, keep=lambda result: False)
    assert not list(tmp_path.rglob("*.pkl"))


def test_a_part_of_an_array_is_what_its_copy_is(tmp_path: Path) -> None:
    values = np.arange(12.0).reshape(3, 4)
    sweep = Sweep(folder=tmp_path, show=False)
    for same in (values, np.hstack((values, values))[:, :4]):
        assert sweep.run(total, [(same,)]) == [66.0]
    assert len(list(tmp_path.rglob("*.pkl"))) == 1


def test_an_interrupted_sweep_keeps_what_it_has(tmp_path: Path) -> None:
    marks, results = tmp_path / "marks", tmp_path / "results"
    marks.mkdir()
    script = (
        "from pathlib import Path; from contact_core.base.sweep import Sweep, Workers;"
        "import sweep_tasks;"
        f"Sweep(Workers(2), Path({str(results)!r}), show=False)"
        f".run(sweep_tasks.slow_note, [(Path({str(marks)!r}), n) for n in range(40)])"
    )
    words = [sys.executable, "-c", script]
    with subprocess.Popen(
        words, cwd=Path(__file__).parents[2] / "helpers", stderr=subprocess.DEVNULL
    ) as process:
        while len(list(results.rglob("*.pkl"))) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(20.0) != 0
    kept = len(list(results.rglob("*.pkl")))
    assert 3 <= kept < 40
    # Each that is kept was computed once; those on the way are lost.
    assert len(list(marks.iterdir())) <= kept + 4


def test_processes_change_no_bit() -> None:
    alone = Sweep(show=False).run(draw, FOUR)
    beside = Sweep(Workers(2), show=False).run(draw, FOUR)
    for one, other in zip(alone, beside, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_plugin_is_loaded_in_every_process_and_is_part_of_the_key(tmp_path: Path) -> None:
    plugin = Plugin("own.py", PLUGIN)
    sweep = Sweep(Workers(2), tmp_path, [plugin], show=False)
    assert sweep.run(owned, FOUR) == [0, 7, 14, 21]
    other = Plugin("own.py", PLUGIN.replace("7", "8"))
    assert Sweep(Workers(1), tmp_path, [other], show=False).run(owned, FOUR) == [0, 8, 16, 24]


def test_a_plugin_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*missing.py"):
        Plugin.read(tmp_path / "missing.py")


def test_sources_behind_a_function_change_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of what is imported, however indirectly, and of parameters."""
    module = "contact_experiments.tamsi.paper.box_figures"
    sources = {path.name for path in fingerprint._sources(module)}
    assert {"box_figures.py", "newton.py", "figures.py", "narrow_phase.py"} <= sources
    assert not sources & {"irs_lqr.py", "cpf.py", "lemke.py"}
    before = fingerprint.fingerprint(module)
    changed = tmp_path / "scene.yaml"
    changed.write_text("mass: 1.0")
    data = fingerprint._data()
    monkeypatch.setattr(fingerprint, "_data", lambda: data | {changed})
    fingerprint.fingerprint.cache_clear()
    assert fingerprint.fingerprint(module) != before
    fingerprint.fingerprint.cache_clear()


@pytest.fixture(scope="module")
def there() -> Iterator[Sweep]:
    """A sweep on a cluster of two workers."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield Sweep(Workers(cluster=cluster.scheduler_address), show=False)


def test_a_cluster_does_lost_tasks_again_and_changes_no_bit(there: Sweep, tmp_path: Path) -> None:
    tasks = [(tmp_path, number) for number in range(6)]
    assert there.run(kill_the_first, tasks) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "killed").exists()
    for one, other in zip(Sweep(show=False).run(draw, FOUR), there.run(draw, FOUR), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_worker_with_other_sources_is_refused(
    there: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contact_core.base import cluster as module

    with monkeypatch.context() as changed:
        changed.setattr(module, "fingerprint", lambda name: "older")
        with pytest.raises(ConfigError, match="has other sources"):
            there.run(draw, FOUR)
    with monkeypatch.context() as changed:
        changed.setattr(module, "versions", lambda: {"numpy": "1.0"})
        with pytest.raises(ConfigError, match=r"has numpy .*, this machine 1\.0"):
            there.run(draw, FOUR)


def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    from contact_core.base import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    with pytest.raises(ConfigError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        Sweep(Workers(cluster="tcp://127.0.0.1:9"), show=False).run(draw, FOUR)
