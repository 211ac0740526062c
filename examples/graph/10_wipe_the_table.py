"""Press on the table below the tool, and wipe it; run 09 first."""

from contact_stack_msgs.action import CompliantMove

from contact_ros import GraphClient, to_array

goal = CompliantMove.Goal(speed=0.03, duration=5.0)
goal.compliance.z = 1.0  # as good as free: the force alone decides
goal.force.z = -10.0
goal.travel.x = 0.05
with GraphClient() as client:
    result = client.run(CompliantMove, "compliant_move", goal)
print(f"pressed with {to_array(result.force)} N at the end {result.error_string}")
