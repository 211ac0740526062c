"""The command ``contact-stack view``: a recording in the browser, or as a page to keep."""

from __future__ import annotations

import argparse
from contextlib import closing, suppress
from pathlib import Path

from contact_core.base.errors import ConfigError, ContactStackError
from contact_core.base.results import at_least
from contact_stack.viewer.browser import ADDRESS, open_browser
from contact_stack.viewer.page import Page
from contact_stack.viewer.player import RecordingPlayer, export
from contact_stack.viewer.recording import Recording, beside, load_recording
from contact_stack.viewer.scene_model import scene_model_of

HOST, PORT = "127.0.0.1", 8080
FIRST_PORT, LAST_PORT = 1024, 65535

EPILOG = """examples:
  contact-stack view out/mug_placement/qp.mcap
  contact-stack view out/mug_placement/qp.mcap --html mug.html
  contact-stack view out/mug_placement/qp.mcap --beside out/mug_placement/greedy.mcap
  contact-stack view my_bag.mcap --scene mug_placement
  contact-stack view my_bag.mcap --robot iiwa14_wsg50 --robot-name left

Any MCAP file will do that has joint states, also one of ros2 bag; what it has of contacts,
controller_status and truth/* is shown too. The recordings of our demos say what they show, of
others --scene or --robot has to. Ctrl-C ends it, with exit code 0."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("file", type=Path, metavar="FILE", help="recording (.mcap)")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page that plays without us, and end"
    )
    parser.add_argument(
        "--beside", type=Path, metavar="FILE",
        help="show the arm of another recording as well, translucent, e.g. the baseline's",
    )  # fmt: skip
    parser.add_argument(
        "--scene", default="", help="what is shown, a file of config/scenes or a path"
    )
    parser.add_argument(
        "--robot", default="", help="another robot, a file of config/robots or a path"
    )
    parser.add_argument(
        "--robot-name", default="", help="namespace of the robot, if there are several"
    )
    parser.add_argument(
        "--page-port", type=at_least(FIRST_PORT), default=PORT, metavar="PORT",
        help=f"of the page; the next free one if it is taken (default {PORT})",
    )  # fmt: skip
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the address only"
    )


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, also after Ctrl-C.

    Raises:
        ContactStackError: If the recording cannot be read or shown, or the page not be written.
    """
    if args.page_port > LAST_PORT:
        raise ConfigError(f"--page-port is {args.page_port} (valid: {FIRST_PORT} .. {LAST_PORT})")
    model = scene_model_of(args.scene, args.robot) if args.scene or args.robot else None
    recording = load_recording(args.file, model, args.robot_name)
    if args.beside is not None:
        recording = beside(recording, load_recording(args.beside, model, args.robot_name))
    if args.html is None:
        show(recording, args.page_port, args.browser)
        return 0
    page = film_page(recording, args.page_port)
    try:
        export(page, recording, args.html)
    except OSError as error:
        raise ContactStackError(f"cannot write {args.html}: {error.strerror}") from error
    finally:
        page.close()
    print(f"{args.html}: {recording.duration:.1f} s")
    return 0


def film_page(recording: Recording, port: int = PORT) -> Page:
    """Open a page with the robot and the objects of a recording."""
    return Page(recording.model, HOST, port, pictures=recording.pictures)


def show(recording: Recording, port: int, browser: bool) -> None:
    """Play a recording on a page until Ctrl-C.

    Args:
        recording: The recording.
        port: Of the page; the next free one if it is taken.
        browser: Whether to open it in the browser.
    """
    with suppress(KeyboardInterrupt), closing(film_page(recording, port)) as page:
        print(f"{ADDRESS.format(page.address)} (Ctrl-C ends it)", flush=True)
        if browser:
            open_browser(page.address)
        RecordingPlayer(page, recording).run()
