"""A small launch runner for machines without ``ros2 launch``, for the same XML files."""
