"""Ask the planner to push a box; run `contact-stack launch planners` first.

The plan is that of a planar scene: it is printed here, not executed by the arm.
"""

from contact_stack_msgs.action import PlanThroughContact

from contact_ros import GraphClient

goal = PlanThroughContact.Goal(example="pushing", mode="first", samples=50, iterations=5)
with GraphClient() as client:
    plan = client.run(PlanThroughContact, "plan_through_contact", goal, timeout=120.0)
print(f"{plan.status_name}: {plan.remedy}" if plan.remedy else plan.status_name)
print("cost:", " -> ".join(f"{cost:.1f}" for cost in plan.cost_history))
for contact in plan.contacts:
    print(f"{contact.link} pushes {contact.other} with up to {max(contact.normal_force):.1f} N")
