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

    def test_nothing_is_printed_twice(self) -> None:
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        received = bytearray()
        reading = threading.Thread(target=lambda: received.extend(_read_all(reader)))
        reading.start()
        output = Output(writer, "<stdout>", Order())
        before = signal.signal(signal.SIGALRM, _interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        number = interrupts = 0
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            number += 1
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + 0.00001 * (number % 7))
                for _ in range(20):
                    number += 1
                    print(number, file=output, flush=True)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupts += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        output.flush()
        os.close(writer)
        reading.join()
        printed = received.decode().split("\n")
        self.assertGreater(interrupts, 1000)
        twice = [line for line, after in itertools.pairwise(printed) if line == after != ""]
        self.assertEqual(twice, [])


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _read_all(fd: int) -> bytes:
    chunks = []
    while chunk := os.read(fd, 65536):
        chunks.append(chunk)
    return b"".join(chunks)


if __name__ == "__main__":
    unittest.main()
