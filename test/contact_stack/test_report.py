"""What is said at the end of a demo."""

from contact_stack.demo.contact_tracking.demo import verdict


def test_a_baseline_without_enough_contact_is_reported_and_does_not_fail_the_demo():
    lines, failed = verdict({"qp": [], "qp_frictionless": ["pass 'up': 0.4 s"], "greedy": []})
    assert lines == ["note: qp_frictionless: pass 'up': 0.4 s"]
    assert not failed


def test_the_contact_aware_controllers_must_reach_enough_contact():
    for controller in ("qp", "qp_incremental"):
        lines, failed = verdict({controller: ["pass 'up': 0.4 s"], "greedy": ["pass 'up': 0 s"]})
        assert lines == [
            f"failed run: {controller}: pass 'up': 0.4 s",
            "note: greedy: pass 'up': 0 s",
        ]
        assert failed


def test_nothing_is_said_of_runs_that_can_be_judged():
    assert verdict({"qp": [], "greedy": []}) == ([], False)
