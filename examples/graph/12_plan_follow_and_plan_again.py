"""Plan a push, follow it, stop half-way and plan again from there.

Run `contact-stack launch push_box` first. The simulation tells where the box is; with a robot that
is your camera's part.
"""

import math
import time

from contact_stack_msgs.action import PlanThroughContact
from control_msgs.action import FollowJointTrajectory
from tf2_msgs.msg import TFMessage

from contact_ros import GraphClient


def plan(client: GraphClient) -> PlanThroughContact.Result:
    """Return a plan from where arm and box are."""
    objects = client.wait_for(TFMessage, "truth/objects").transforms
    (box,) = [item.transform for item in objects if item.child_frame_id == "box"]
    at, yaw = box.translation, 2.0 * math.atan2(box.rotation.z, box.rotation.w)
    print(f"the box is at {at.x:.2f}, {at.y:.2f}", flush=True)
    goal = PlanThroughContact.Goal(example="iiwa_push", mode="log_barrier")
    goal.time_budget.sec = 30  # the best plan so far is good enough: there is a next one
    goal.start_from_joint_states = True
    goal.initial_state = [at.x, at.y, at.z, 0.0, 0.0, yaw]
    return client.run(PlanThroughContact, "plan_through_contact", goal, timeout=60.0)


with GraphClient() as client:
    for attempt in ("first", "second"):
        found = plan(client)
        print(f"{attempt} plan: {found.status_name} {found.remedy}", flush=True)
        motion = FollowJointTrajectory.Goal(trajectory=found.commanded)
        sent = client.send(FollowJointTrajectory, "follow_joint_trajectory", motion)
        if attempt == "first":
            time.sleep(1.5)
            client.cancel(sent)
        ended = client.end_of(sent, timeout=60.0)
        print(f"its motion ended with state {ended.status} {ended.result.error_string}", flush=True)
