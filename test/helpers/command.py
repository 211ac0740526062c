"""The command `contact-stack` as a process of its own."""

from __future__ import annotations

import sys

WITHOUT_LAUNCH_ROS = (
    *(sys.executable, "-c"),
    "import sys; sys.modules['launch_ros'] = None; "
    "from contact_stack.cli import main; sys.exit(main())",
)
"""Where launch_ros is installed the command leaves launch files to it, which says other things."""
