"""Wipe the table below the tool; run `contact-stack launch sim scene:=push_box` first."""

from contact_stack_msgs.action import Wipe
from geometry_msgs.msg import Vector3

from contact_ros import GraphClient

goal = Wipe.Goal(speed=0.05, distance=0.1, lift=0.02, force=10.0)
goal.direction.z = -1.0
goal.path = [Vector3(x=0.05), Vector3(x=0.05, y=0.02), Vector3(y=0.02)]
with GraphClient() as client:
    result = client.run(Wipe, "wipe", goal)
print(f"wiped {1e3 * result.wiped:.0f} mm {result.error_string}")
