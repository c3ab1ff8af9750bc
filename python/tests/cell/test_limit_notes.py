"""Tests of naming the limit that an error comes from."""

import errno
import os
import socket
import types
import unittest
from unittest import mock

from _vivarium.cell.limit_notes import limit_note

LIMITS = {"memoryMb": 512, "processes": 8, "openFiles": 64, "fileMb": 2}
PROCESSES = "The session may have 8 processes and threads (limits.processes)."


def note_on(action) -> "str | None":
    """The note on what an action raises."""
    try:
        action()
    except BaseException as error:
        return limit_note(error, LIMITS)
    raise AssertionError("nothing was raised")


def refuse() -> None:
    """Fail with the same number as at the process limit."""
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


def failing(number: int):
    """An action that fails with an error of the kernel."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


class Liar(OSError):
    """Says something else when asked."""

    @property
    def __class__(self):
        raise SystemExit

    def __eq__(self, other: object) -> bool:
        raise SystemExit


class NotesTest(unittest.TestCase):
    def test_each_number_names_its_limit(self) -> None:
        self.assertEqual(note_on(failing(errno.EFBIG)), "One file may have 2 MB (limits.fileMb).")
        self.assertEqual(note_on(failing(errno.EMFILE)), "A process may have 64 files open (limits.openFiles).")
        self.assertEqual(note_on(failing(errno.ENOMEM)), "The session may use 512 MB of memory (limits.memoryMb).")

    def test_a_full_disk_is_not_a_limit_of_ours_but_full_memory_is(self) -> None:
        for free, expected in ((1 << 30, False), (0, True)):
            facts = mock.Mock(f_bavail=free, f_frsize=1)
            with mock.patch.object(os, "statvfs", return_value=facts):
                self.assertEqual(note_on(failing(errno.ENOSPC)) is not None, expected)
        with mock.patch.object(os, "statvfs", side_effect=FileNotFoundError):
            self.assertIsNone(note_on(failing(errno.ENOSPC)))
        self.assertIsNone(note_on(failing(errno.EDQUOT)))

    def test_only_a_line_that_starts_a_process_is_at_the_process_limit(self) -> None:
        left, right = socket.socketpair()
        with left, right:
            left.setblocking(False)
            fake = types.SimpleNamespace(fork=left.recv)  # a builtin that has nothing for us yet
            self.assertEqual(note_on(lambda: fake.fork(1)), PROCESSES)
            self.assertIsNone(note_on(lambda: left.recv(1)))
            self.assertIsNone(note_on(refuse))

    def test_threads_count_as_processes(self) -> None:
        def start(text: object):
            def fail() -> None:
                raise RuntimeError(text)

            return fail

        self.assertEqual(note_on(start("can't start new thread")), PROCESSES)
        self.assertIsNone(note_on(start("other")))
        self.assertIsNone(note_on(start(Liar())))

    def test_causes_are_looked_at_and_endless_chains_are_not(self) -> None:
        def chained() -> None:
            try:
                failing(errno.EMFILE)()
            except OSError as error:
                raise ValueError("no") from error

        self.assertIn("limits.openFiles", note_on(chained) or "")
        loop = ValueError()
        loop.__cause__ = loop
        self.assertIsNone(limit_note(loop, LIMITS))

    def test_hostile_errors_are_not_asked(self) -> None:
        self.assertIn("limits.openFiles", limit_note(Liar(errno.EMFILE, "x"), LIMITS) or "")
        with mock.patch("dis.get_instructions", side_effect=ValueError):
            self.assertIsNone(note_on(refuse))


if __name__ == "__main__":
    unittest.main()
