"""ROS-free ground floor shared by every package of the stack."""
