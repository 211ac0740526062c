"""Entry point of ``make setup``: ``python3 -m bootstrap`` in the root of the repository.

``python3 -m bootstrap graph`` leaves out what only planners and benchmarks need.
"""

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

    return setup_project.main(everything=sys.argv[1:] != ["graph"])


if __name__ == "__main__":
    sys.exit(main())
