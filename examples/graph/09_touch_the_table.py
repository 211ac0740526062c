"""Find out what is below the tool; run `contact-stack launch sim scene:=push_box` first."""

from contact_stack_msgs.action import GuardedMove

from contact_ros import GraphClient, to_array

goal = GuardedMove.Goal(speed=0.02, distance=0.1, force=10.0, must_touch=True)
goal.direction.z = -1.0
with GraphClient() as client:
    result = client.run(GuardedMove, "guarded_move", goal)
if result.touched:
    print(f"touched {result.link or 'something'}, the tool was at {to_array(result.surface)} m")
else:
    print(f"nothing within {1e3 * result.distance:.0f} mm {result.error_string}")
