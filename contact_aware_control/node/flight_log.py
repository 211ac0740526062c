"""The flight recorder in the graph: where records are written, and when."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from rclpy.logging import get_logging_directory
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from contact_aware_control.incident_log import FlightRecord, FlightRecorder
from contact_aware_control.incident_log.file import save
from contact_aware_control.safety_config import RecorderConfig


class FlightLog:
    """Write records beside the control loop, in threads of their own."""

    def __init__(
        self,
        node: Node,
        recorder: FlightRecorder,
        config: RecorderConfig,
        lock: threading.Lock,
        service: str,
    ) -> None:
        """Offer the service.

        Args:
            node: The controller's node.
            recorder: What is written.
            config: Where, and how often at most.
            lock: Held while the loop ticks.
            service: Name of the service that writes a record.
        """
        self._logger = node.get_logger()
        self._recorder = recorder
        self._lock = lock
        folder = config.folder or Path(str(get_logging_directory())) / "flight"
        self._folder = Path(folder).expanduser()
        self._files_left = config.files
        self._threads: list[threading.Thread] = []
        self._service = node.create_service(Trigger, service, self._dump)
        self.last = ""

    def close(self) -> None:
        """Wait until everything is written."""
        for thread in self._threads:
            thread.join()

    def write(self, reason: str, done: Future | None = None) -> None:
        """Write a record in the background; the lock is held.

        Args:
            reason: Why.
            done: Gets the path, or the error as text.
        """
        if done is None:
            if self._files_left == 0:
                return
            self._files_left -= 1
        record = self._recorder.record(reason)
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(
            threading.Thread(target=self._save, args=(record, done), name="flight record")
        )
        self._threads[-1].start()

    def _save(self, record: FlightRecord, done: Future | None) -> None:
        path = self._folder / f"{time.strftime('%Y%m%d_%H%M%S')}_{record.reason}.npz"
        number = 1
        while path.exists():
            number += 1
            path = path.with_stem(f"{path.stem.removesuffix(f'_{number - 1}')}_{number}")
        try:
            save(record, path)
        except OSError as error:
            text = f"the flight record cannot be written: {error}"
            self._logger.error(text)
        else:
            text = self.last = str(path)
            self._logger.info(f"flight record: contact-stack replay {path}")
        if done is not None:
            done.set_result((path.exists(), text))

    async def _dump(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        done = Future()
        with self._lock:
            self.write("on_request", done)
        response.success, response.message = await done
        return response
