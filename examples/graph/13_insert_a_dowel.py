"""Insert a dowel; run `contact-stack launch sim scene:=insert_dowel` first."""

from contact_stack_msgs.action import Insert

from contact_ros import GraphClient, to_array

goal = Insert.Goal(diameter=0.019, radius=0.012, depth=0.02, speed=0.05, distance=0.06, force=15.0)
goal.direction.z = -1.0
with GraphClient() as client:
    result = client.run(Insert, "insert", goal)
print(f"{1e3 * result.depth:.0f} mm deep, its end at {to_array(result.tip)} m")
print(result.error_string)
