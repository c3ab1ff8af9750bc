"""Runs shell commands: output as it comes, an end to everything they started when they are interrupted."""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any  # slow to load

SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh")
POLITE_S = 0.2  # for a command to end by itself after an interrupt; the host waits for half a second in all
PAUSE_S = 0.005
CHUNK = 64 * 1024
MAX_DESCENDANTS = 10_000


def shell_command(command: str) -> list[str]:
    """Return what runs a command line: bash if there is one, else sh."""
    for path in SHELLS:
        if os.access(path, os.X_OK):
            return [path, "-c", command]
    raise FileNotFoundError("There is no shell in this session, neither bash nor sh. Write the step in Python.")


def run(command: Sequence[str], script: str | None = None) -> int:
    """Run a command whose output goes where that of `print` goes. `script` is its standard input, if it is given."""
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.flush()
    targets = [_descriptor(stream) for stream in streams]
    with _Command(command, targets, script) as process:
        relayed = {pipe.fileno(): stream for pipe, stream in zip((process.stdout, process.stderr), streams) if pipe}
        _relay(relayed)
        _await(process)
    return process.returncode


def collect(command: Sequence[str], script: str | None = None, *, merges: bool = True) -> tuple[str, str, int]:
    """Run a command and return what it printed to both streams, or with `merges` to the first, and its exit code."""
    chunks: tuple[list[bytes], list[bytes]] = ([], [])
    sys.stdout.flush()
    with _Command(command, [None, "merged" if merges else None], script) as process:
        pipes = zip((process.stdout, process.stderr), chunks)
        _relay({pipe.fileno(): _Collector(into) for pipe, into in pipes if pipe})
        _await(process)
    out, err = (b"".join(parts).decode("utf-8", "replace") for parts in chunks)
    return out, err, process.returncode


class _Command:
    """A running command in a process group of its own. Leaving it early ends it with everything it has started."""

    def __init__(self, command: Sequence[str], targets: Sequence[Any], script: str | None) -> None:
        import subprocess

        out, err = (subprocess.PIPE if target is None else target for target in targets)
        given = None if script is None else nameless_file(script.encode("utf-8", "surrogateescape"))
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=given,
                stdout=out,
                stderr=subprocess.STDOUT if err == "merged" else err,
                start_new_session=True,
            )
        finally:
            if given is not None:
                os.close(given)

    def __enter__(self) -> Any:
        return self._process

    def __exit__(self, kind: object, error: object, _: object) -> None:
        process = self._process
        if process.poll() is None:
            _end(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


class _Collector:
    """Takes bytes like a stream."""

    def __init__(self, into: list[bytes]) -> None:
        self.take = into.append


def _descriptor(stream: Any) -> int | None:
    """Return the descriptor behind a stream, or None if it has none: then its text is relayed."""
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def nameless_file(data: bytes) -> int:
    """Return a descriptor of a file without a name that holds the data, at its start."""
    try:
        fd = os.memfd_create("input")
    except (AttributeError, OSError):
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _relay(streams: dict[int, Any]) -> None:
    """Copy everything from these descriptors to their streams until all are at their end."""
    import codecs
    import select

    poll = select.poll()
    decoders = {}
    for fd in streams:
        poll.register(fd, select.POLLIN)
        decoders[fd] = codecs.getincrementaldecoder("utf-8")("replace")
    left = set(streams)
    while left:
        for fd, _ in poll.poll():
            data = os.read(fd, CHUNK)
            stream = streams[fd]
            if isinstance(stream, _Collector):
                stream.take(data)
            else:
                stream.write(decoders[fd].decode(data, not data))
            if not data:
                poll.unregister(fd)
                left.discard(fd)


def _await(process: Any) -> None:
    """Wait without reaping: `Popen.wait` would go on for a quarter of a second after an interrupt."""
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:  # the program has another handler for children, which was faster
        pass
    process.wait()


def _end(process: Any) -> None:
    """End a command and what it has started: with an interrupt, as from a keyboard, and then for certain."""
    others = _descendants(process.pid)
    _signal_group(process.pid, signal.SIGINT)
    until = time.monotonic() + POLITE_S
    while process.poll() is None and time.monotonic() < until:
        time.sleep(PAUSE_S)
    others |= _descendants(process.pid)
    _signal_group(process.pid, signal.SIGKILL)
    for pid in others:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass  # it has ended
    process.wait()


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass  # all of it has ended


def _descendants(pid: int) -> set[int]:
    """Return the processes that this one has started, and those that they have started."""
    found: set[int] = set()
    waiting = [pid]
    while waiting and len(found) < MAX_DESCENDANTS:
        parent = waiting.pop()
        for child in _children(parent) - found:
            found.add(child)
            waiting.append(child)
    return found


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found.update(map(int, file.read().split()))
    except OSError:
        pass  # it has ended, or this kernel does not tell
    return found
