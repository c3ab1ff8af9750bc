"""Output of programs that are interrupted while they print."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
import unittest

from _vivarium.cell.order import Order
from _vivarium.cell.streams import Output

SECONDS = 2.0


class InterruptedOutputTest(unittest.TestCase):
    """A stream into a pipe, and interrupts at random moments."""

    def setUp(self) -> None:
        reader, self.writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.received = bytearray()
        self.reading = threading.Thread(target=lambda: self.received.extend(_read_all(reader)))
        self.reading.start()
        self.output = Output(self.writer, "<stdout>", Order())
        before = signal.signal(signal.SIGALRM, _interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)

    def printed(self) -> list[str]:
        """Return the lines that arrived, once everything has."""
        self.output.flush()
        os.close(self.writer)
        self.reading.join()
        return self.received.decode().split("\n")

    def test_nothing_is_printed_twice(self) -> None:
        number = interrupts = 0
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            number += 1
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + 0.00001 * (number % 7))
                for _ in range(20):
                    number += 1
                    print(number, file=self.output, flush=True)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupts += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        printed = self.printed()
        self.assertGreater(interrupts, 1000)
        twice = [line for line, after in itertools.pairwise(printed) if line == after != ""]
        self.assertEqual(twice, [])

    def test_an_interrupted_long_print_takes_nothing_from_the_next_one(self) -> None:
        whole = interrupts = 0
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + 0.00001 * (interrupts % 7))
                for _ in range(20):
                    print("x" * 100_000, file=self.output, flush=True)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupts += 1
            print("\n" + "y" * 100_000, file=self.output, flush=True)
            whole += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        lines = [line for line in self.printed() if "y" in line]
        self.assertGreater(interrupts, 100)
        self.assertEqual({len(line) for line in lines}, {100_000})
        self.assertEqual(len(lines), whole)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _read_all(fd: int) -> bytes:
    chunks = []
    while chunk := os.read(fd, 65536):
        chunks.append(chunk)
    return b"".join(chunks)


if __name__ == "__main__":
    unittest.main()
