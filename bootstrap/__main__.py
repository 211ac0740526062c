"""Entry point of ``make setup``: ``python3 -m bootstrap`` in the root of the repository.

``python3 -m bootstrap graph`` leaves out what only planners and benchmarks need, and
``python3 -m bootstrap kilted`` takes another distribution of ROS 2 than Jazzy.
"""

import signal
import sys

from bootstrap import supported_python


def main() -> int:
    """Set the project up.

    Returns:
        The exit code: 0 on success, 1 after one line (and the log of a failed step).
    """
    unsupported = supported_python.problem(sys.version_info[:2])
    if unsupported:
        print("error: " + unsupported, file=sys.stderr)
        return 1
    from bootstrap import setup_project

    chosen = [word for word in sys.argv[1:] if word != "graph"]
    if len(chosen) > 1 or not set(chosen) <= set(setup_project.ROS_LOCKS):
        valid = ", ".join(setup_project.ROS_LOCKS)
        print(f"error: no wheels of ROS={' '.join(chosen)} (valid: {valid})", file=sys.stderr)
        return 1
    return setup_project.main("".join(chosen), everything="graph" not in sys.argv[1:])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
