"""A connection to the host that never waits for the other side: frames in and out."""

from __future__ import annotations

import os
import select

from _vivarium import protocol
from _vivarium.values.hints import Any

_CHUNK = 1 << 18


class Channel:
    """Cuts what arrives into messages, and keeps what the host has not taken yet. The descriptor stays its owner's."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._incoming = bytearray()
        self._outgoing = bytearray()

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._fd

    def events(self) -> int:
        """Return what to wait for on it."""
        return select.EPOLLIN | (select.EPOLLOUT if self._outgoing else 0)

    @property
    def is_flushed(self) -> bool:
        """Whether the host has taken everything."""
        return not self._outgoing

    def skip_past(self, token: bytes) -> None:
        """Discard what was meant for a predecessor, up to and including `token`, and pass the token on to the host."""
        while (found := self._incoming.find(token)) < 0:
            del self._incoming[: -len(token)]
            select.select([self], [], [])
            self._read()
        del self._incoming[: found + len(token)]
        self._outgoing += token
        self.flush()

    def receive(self) -> list[dict[str, Any]]:
        """Read what there is. Returns all messages that are complete; raises `Closed` when the host is gone."""
        self._read()
        return self.take()

    def take(self) -> list[dict[str, Any]]:
        """Return all messages that have been read and not returned yet."""
        messages, used = protocol.cut(self._incoming)
        del self._incoming[:used]
        return messages

    def send(self, message: dict[str, object]) -> None:
        """Send a message as soon as the host takes it."""
        self._outgoing += protocol.encode(message)
        self.flush()

    def flush(self) -> None:
        """Write as much as the host takes now."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._fd, self._outgoing)]
        except BlockingIOError:
            return
        except OSError as error:
            raise protocol.Closed(str(error)) from error

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            raise protocol.Closed(str(error)) from error
        if not chunk:
            raise protocol.Closed("end of stream")
        self._incoming += chunk
