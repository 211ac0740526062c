"""Print where the arm is touched; run `contact-stack launch sim` first."""

from contact_stack_msgs.msg import ContactArray

from contact_ros import GraphClient, to_array

STATES = {
    ContactArray.FREE: "free",
    ContactArray.CONVERGED: "touched",
    ContactArray.SEARCHING: "touched, still searching where",
    ContactArray.UNIDENTIFIABLE: "touched where the torques do not tell",
    ContactArray.AMBIGUOUS: "touched, or a load hangs on it",
    ContactArray.UNTARED: "not tared yet",
}

with GraphClient() as client:
    message = client.wait_for(
        ContactArray, "contacts", lambda array: array.state != ContactArray.UNTARED
    )
print(f"the arm is {STATES[message.state]}")
for contact in message.contacts:
    print(
        f"{contact.link} at {to_array(contact.point)} m: {to_array(contact.force)} N on the robot"
    )
