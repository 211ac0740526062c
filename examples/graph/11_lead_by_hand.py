"""Lead the arm by hand for ten seconds, and say where it is; the driver has to run."""

from contact_stack_msgs.action import HandGuide

from contact_ros import GraphClient

with GraphClient() as client:
    result = client.run(HandGuide, "hand_guide", HandGuide.Goal(duration=10.0))
for name, position in zip(result.joint_names, result.positions, strict=True):
    print(f"{name}: {position:.4f} rad")
