"""Tell the estimator what the gripper holds, and tare; run `contact-stack launch sim` first."""

from contact_stack_msgs.msg import ContactArray
from contact_stack_msgs.srv import SetPayload
from std_srvs.srv import Trigger

from contact_ros import GraphClient

with GraphClient() as client:
    client.call(SetPayload, "set_payload", SetPayload.Request(mass=0.1))
    answer = client.call(Trigger, "contact_estimator/tare", Trigger.Request())
    print(answer.message)
    client.wait_for(ContactArray, "contacts", lambda array: array.state == ContactArray.UNTARED)
    client.wait_for(ContactArray, "contacts", lambda array: array.state != ContactArray.UNTARED)
print("tared")
