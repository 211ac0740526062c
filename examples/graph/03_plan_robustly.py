"""Push a block over uncertain friction; run `contact-stack launch planners` first.

The plan is that of the block's own model: it is printed here, not executed by the arm.
"""

from contact_stack_msgs.action import PlanRobustContact
from contact_stack_msgs.msg import UncertainParameter

from contact_ros import GraphClient

friction = UncertainParameter(kind=UncertainParameter.FRICTION, sigma=0.1)
goal = PlanRobustContact.Goal(problem="block", uncertainty=[friction], beta=0.6, theta=0.6)
with GraphClient() as client:
    plan = client.run(PlanRobustContact, "plan_robust_contact", goal, timeout=300.0)
print(f"{plan.status_name}: {plan.remedy}" if plan.remedy else plan.status_name)
