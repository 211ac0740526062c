"""Control of a stiffness-controlled arm that is not afraid of contact.

The controller and the contact particle filter of the papers `contact_aware_control` and
"contact particle filter", free of ROS; only the node modules import rclpy.
"""
