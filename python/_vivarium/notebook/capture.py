"""What `%%capture` takes: text of both streams, and what the cell shows."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load


class CapturedIO:
    """What `%%capture name` puts into the variable."""

    def __init__(self, resend: Callable[[Any], None]) -> None:
        self.stdout = ""
        self.stderr = ""
        self._items: list[Any] = []
        self._resend = resend

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Return what was shown, each by its MIME types."""
        return [item["data"] for item in self._items]

    def show(self) -> None:
        """Print and show what was captured."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for item in self._items:
            self._resend(item)

    __call__ = show

    def __str__(self) -> str:
        """Return the text that was printed."""
        return self.stdout


@contextmanager
def capturing(publisher: Any, *, stdout: bool, stderr: bool, display: bool) -> Iterator[CapturedIO]:
    """Take what is printed and shown meanwhile."""
    captured = CapturedIO(publisher.resend)
    before = sys.stdout, sys.stderr
    out, err = io.StringIO(), io.StringIO()
    if stdout:
        sys.stdout = out
    if stderr:
        sys.stderr = err
    earlier = publisher.divert(captured._items.append) if display else None
    try:
        yield captured
    finally:
        if display:
            publisher.divert(earlier)
        sys.stdout, sys.stderr = before
        captured.stdout, captured.stderr = out.getvalue(), err.getvalue()
