"""The loop's time goes on evenly, whatever ROS time does."""

import pytest

from contact_aware_control.node.controller_parts import LoopClock


def test_jumps_of_ros_time_do_not_reach_the_loop():
    ros, steady = [10_000], [500]
    clock = LoopClock(lambda: ros[0], 5, lambda: steady[0])
    assert clock.now() == 10_000
    steady[0] += 5
    ros[0] += 1_000_000
    assert clock.now() == 10_005
    ros[0] = 3
    assert clock.now() == 10_005


def test_stamps_are_translated_with_the_present_offset():
    """A goal that starts in 7 ns by ROS time starts in 7 ns, also after a jump."""
    ros, steady = [10_000], [500]
    clock = LoopClock(lambda: ros[0], 5, lambda: steady[0])
    ros[0] = 99_000
    assert clock.from_ros(99_007) == clock.now() + 7


def test_it_stands_still_while_a_simulator_is_paused_and_takes_its_steps():
    ros, steady = [100], [7]
    clock = LoopClock(lambda: ros[0], 5, lambda: steady[0])
    assert clock.hear(2000) == 2000
    clock.stop(True)
    steady[0] += 50
    clock.stop(True)  # told twice
    assert clock.now() == 100
    assert clock.hear(2000) is None
    assert clock.hear(2005) == 2005
    clock.stop(False)
    assert clock.now() == 105
    steady[0] += 3
    assert clock.now() == 108
    ros[0] = 160
    assert clock.from_ros(161) == 109


@pytest.mark.parametrize("late", [0, 30])
def test_stamps_of_a_driver_go_on_evenly_after_a_pause_of_which_word_comes_late(late):
    """Else a state looks older than the last one, and the arm is disarmed."""
    steady = [0]
    clock = LoopClock(lambda: 0, 5_000_000, lambda: steady[0])
    begin = 1_000_000_000
    assert clock.hear(begin) == begin
    assert clock.hear(begin + 5_000_000) == begin + 5_000_000
    clock.stop(True)
    steady[0] += 400_000_000 + late * 1_000_000
    # The simulator stood for 400 ms; the state comes before the word, or after it.
    if late:
        clock.stop(False)
        assert clock.hear(begin + 5_000_000) == begin + 5_000_000
    assert clock.hear(begin + 410_000_000) == begin + 10_000_000
    assert clock.hear(begin + 415_000_000) == begin + 15_000_000
    assert not clock.stopped
    clock.stop(False)
    # A gap of which nobody says that it was a pause stays one.
    assert clock.hear(begin + 900_000_000) == begin + 500_000_000
