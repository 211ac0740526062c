"""The command ``contact-stack view``: a recording in the browser, or as a page to keep."""

from __future__ import annotations

import argparse
import math
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import viser
from tqdm import tqdm

from contact_core.base.errors import ContactStackError
from contact_core.base.results import at_least
from contact_core.base.waiting import LONG
from contact_core.model.drawing import for_any_locale
from contact_stack.viewer.browser import ADDRESS, open_browser
from contact_stack.viewer.page import Page, narrow_view
from contact_stack.viewer.recording import GAP, RATE, Recording, beside, load_recording
from contact_stack.viewer.scene_model import scene_model_of

SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
"""As they are called -> how many seconds of the recording pass in one."""

STEP = 0.05
"""Of the timeline [s]."""


NARROW_EXPORT = """<script>
// Nobody steps back for a narrow window here, as a server does; Viser takes a camera from the URL.
if (matchMedia("(max-aspect-ratio: 1)").matches && !location.search) {{
  location.replace("?initialCameraPosition={}&initialCameraLookAt={}");
}}
</script>"""


class RecordingPlayer:
    """Shows the pictures of a recording on a page, as a person asks.

    Attributes:
        time: Of the picture that is shown [s].
        playing: Whether the next ones follow by themselves.
    """

    def __init__(self, page: Page, recording: Recording) -> None:
        """Add the controls to the page, and show the first picture.

        Args:
            page: The page.
            recording: The recording.
        """
        self.time, self.playing, self._speed = 0.0, True, 1.0
        self._page, self._recording = page, recording
        self._lock = threading.RLock()  # buttons are pressed in threads of the page
        gui = page.server.gui
        with gui.add_folder("recording", order=0.5):
            end = max(math.ceil(recording.duration / STEP), 1) * STEP
            self._timeline = gui.add_slider("time [s]", 0.0, round(end, 2), STEP, 0.0)
            self._button = gui.add_button("pause", icon=viser.Icon.PLAYER_PAUSE)
            speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1")
        self._timeline.on_update(self._scrub)
        self._button.on_click(lambda event: self.play(not self.playing))
        speed.on_update(self._set_speed)
        page.draw(recording.at(0.0))

    def play(self, playing: bool) -> None:
        """Play, from the start where it has ended, or pause."""
        with self._lock:
            if playing and self.time >= self._recording.duration:
                self.time = 0.0
            self.playing = playing
        self._button.label = "pause" if playing else "continue"
        self._button.icon = viser.Icon.PLAYER_PAUSE if playing else viser.Icon.PLAYER_PLAY

    def advance(self, seconds: float) -> None:
        """Go on, if it plays.

        Args:
            seconds: How much real time has passed [s].
        """
        with self._lock:
            if self.playing:
                self.time = min(self.time + self._speed * seconds, self._recording.duration)
                self._timeline.value = round(self.time, 2)  # type: ignore[misc]
                if self.time >= self._recording.duration:
                    self.play(False)
        self._page.draw(self._recording.at(self.time))

    def run(self) -> None:
        """Play until this is interrupted, while somebody looks."""
        last = time.monotonic()
        while True:
            time.sleep(1.0 / RATE)
            now = time.monotonic()
            self.advance(now - last if self._page.watched else 0.0)
            last = now

    def _scrub(self, event: Any) -> None:
        # Our own steps come back as events too, without anybody behind them.
        if event.client is not None:
            with self._lock:
                self.play(False)
                self.time = float(event.target.value)

    def _set_speed(self, event: Any) -> None:
        self._speed = SPEEDS[event.target.value]


def export(page: Page, recording: Recording, file: Path) -> None:
    """Write a recording as one HTML page that plays in a browser, without a server.

    Args:
        page: Where it is drawn.
        recording: The recording.
        file: The HTML file, whose folder is made.

    Raises:
        OSError: If it cannot be written.
    """
    page.draw(recording.pictures[0])
    serializer = page.server.get_scene_serializer()
    for picture in tqdm(recording.pictures, file.name, unit=" pictures", delay=LONG, leave=False):
        page.draw(picture)
        serializer.insert_sleep(1.0 / RATE)
    file.parent.mkdir(parents=True, exist_ok=True)
    views = (",".join(f"{number:.3f}" for number in view) for view in narrow_view())
    text = serializer.as_html().replace("<head>", f"<head>{NARROW_EXPORT.format(*views)}", 1)
    file.write_text(for_any_locale(text))


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
        "--html", type=Path, metavar="FILE", help="write a page that plays by itself, and exit"
    )
    parser.add_argument(
        "--beside", type=Path, metavar="FILE",
        help="show another recording as well, its arm as an outline, e.g. the baseline's",
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
        "--page-port", type=at_least(FIRST_PORT, LAST_PORT), default=PORT, metavar="PORT",
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
    model = scene_model_of(args.scene, args.robot) if args.scene or args.robot else None
    recording = load_recording(args.file, model, args.robot_name)
    if recording.left_out:
        print(
            f"{args.file}: gaps of more than {GAP:.0f} s are left out ({recording.left_out})",
            file=sys.stderr,
        )
    if not recording.whole:
        print(
            f"{args.file}: it has no end, so {recording.duration:.1f} s may not be all "
            "(contact-stack recover makes a whole copy of what is there)",
            file=sys.stderr,
        )
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
