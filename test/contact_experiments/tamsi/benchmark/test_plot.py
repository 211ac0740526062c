"""The picture of the benchmark."""

import pytest

from contact_experiments.tamsi.benchmark.measure import measure
from contact_experiments.tamsi.benchmark.plot import plot_cost


@pytest.mark.parametrize("simulators", [("ours",), ("ours", "ours_parity", "drake_ktamsi")])
def test_picture_with_and_without_peers(short, tmp_path, simulators):
    result = measure(short("gripper_stiff", 20), 1, simulators)
    assert plot_cost([result], [result], tmp_path / "cost.png").stat().st_size > 10_000
    assert plot_cost([result], [], tmp_path / "alone.png").stat().st_size > 10_000
