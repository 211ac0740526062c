"""Our contact QPs against well-kept solvers, on the problems of every kind of scene."""

from contact_experiments.irs.contact_qps import EXAMPLES, PEERS, measure_contact_qps, missing_peers


def test_every_solver_finds_the_same_motion():
    figures = measure_contact_qps(count=30)
    assert set(figures) == set(EXAMPLES)
    for name, solvers in figures.items():
        assert {"ours", "quadprog", "osqp"} <= set(solvers), name
        assert set(solvers) == {"ours", *PEERS} - set(missing_peers()), name
        assert all(values["per_second"] > 0.0 for values in solvers.values())
        assert solvers["quadprog"]["largest_difference"] < 1e-9
        # Splitting and interior-point methods stop at their own tolerances.
        others = [v["largest_difference"] for s, v in solvers.items() if s != "ours"]
        assert max(others) < 0.02
