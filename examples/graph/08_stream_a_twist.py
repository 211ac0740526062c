"""Move the tool up by hand for two seconds; run `contact-stack launch sim` first."""

import time

from contact_stack_msgs.msg import ControllerStatus
from geometry_msgs.msg import TwistStamped

from contact_ros import GraphClient
from contact_ros.stamps import to_time

with GraphClient() as client:
    client.wait_for(ControllerStatus, "controller_status", lambda status: status.joint_command)
    publisher = client.node.create_publisher(TwistStamped, "target_twist", 1)
    first = time.monotonic()
    while (elapsed := time.monotonic() - first) < 2.0:
        message = TwistStamped()
        message.header.stamp = to_time(time.monotonic_ns())
        message.twist.linear.z = 0.05 * min(elapsed, 2.0 - elapsed)
        publisher.publish(message)
        time.sleep(1.0 / 30.0)
    status = client.wait_for(ControllerStatus, "controller_status")
print(f"the controller says {status.status_name}")
