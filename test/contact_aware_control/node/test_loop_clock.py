"""The loop's time goes on evenly, whatever ROS time does."""

from contact_aware_control.node.controller_parts import LoopClock


def test_jumps_of_ros_time_do_not_reach_the_loop():
    ros, steady = [10_000], [500]
    clock = LoopClock(lambda: ros[0], lambda: steady[0])
    assert clock.now() == 10_000
    steady[0] += 5
    ros[0] += 1_000_000
    assert clock.now() == 10_005
    ros[0] = 3
    assert clock.now() == 10_005


def test_stamps_are_translated_with_the_present_offset():
    """A goal that starts in 7 ns by ROS time starts in 7 ns, also after a jump."""
    ros, steady = [10_000], [500]
    clock = LoopClock(lambda: ros[0], lambda: steady[0])
    ros[0] = 99_000
    assert clock.from_ros(99_007) == clock.now() + 7


def test_it_stands_still_while_a_simulator_is_paused_and_takes_its_steps():
    ros, steady = [100], [7]
    clock = LoopClock(lambda: ros[0], lambda: steady[0])
    clock.stop(True)
    steady[0] += 50
    clock.stop(True)  # told twice
    assert clock.now() == 100
    clock.step(5)
    clock.stop(False)
    assert (clock.now(), clock.stood) == (105, 45)
    steady[0] += 3
    assert clock.now() == 108
    ros[0] = 160
    assert clock.from_ros(161) == 109
