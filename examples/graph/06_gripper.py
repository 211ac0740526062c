"""Close the gripper with 20 N until something stops it; run `contact-stack launch sim` first."""

from control_msgs.action import ParallelGripperCommand

from contact_ros import GraphClient

goal = ParallelGripperCommand.Goal()
goal.command.position = [0.0]  # of one finger [m]
goal.command.effort = [20.0]  # of one finger [N]
with GraphClient() as client:
    result = client.run(ParallelGripperCommand, "gripper", goal)
width = 2e3 * result.state.position[0]
print(f"holds something {width:.0f} mm wide" if result.stalled else "closed on nothing")
