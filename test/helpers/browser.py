"""A real browser: headless Chromium with software rendering, driven over Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import matplotlib.image
import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "browser"


class Browser:
    """One page of a browser; a context manager.

    Every method is a command of ``test/browser/browser.mjs``.
    """

    def __init__(self) -> None:
        """Start it; skips the test, loudly, where ``make test`` could not install it."""
        node = shutil.which("node")
        if node is None or not (FOLDER / "node_modules").is_dir():
            pytest.skip("NO BROWSER: install Node.js with npm, then `make browser`")
        # Chromium's language has to be one that JavaScript knows, and where it is unpacked, one's
        # own: another user's cannot be started, and two workers would unpack it at once.
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        unpacked = Path(tempfile.gettempdir()) / f"test_browser_{os.getuid()}{worker}"
        unpacked.mkdir(mode=0o700, exist_ok=True)
        language = {"LANG": "en_US.UTF-8", "LANGUAGE": "en_US"}
        environment = {**os.environ, **language, "TMPDIR": str(unpacked)}
        self._process = subprocess.Popen(
            [node, "browser.mjs"],
            cwd=FOLDER,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return the browser."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def do(self, command: str, **options: Any) -> Any:
        """Give a command, and return its answer.

        Args:
            command: Its name.
            options: What it needs.

        Raises:
            AssertionError: If it failed.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, **options}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["answer"]

    def picture(self, path: Path) -> np.ndarray:
        """Return a screenshot, (height, width, 3) in 0..1, and keep it as a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.do("screenshot", path=str(path.resolve()))
        return np.asarray(matplotlib.image.imread(path))[..., :3]
