"""Tests of `_vivarium.jupyter.pieces`: nothing is lost, and long text is sent early."""

from __future__ import annotations

import io
import unittest

from _vivarium.jupyter.pieces import PIECE, in_pieces


class Stream(io.StringIO):
    """Remembers how much it held at each flush."""

    def __init__(self) -> None:
        """Begin with nothing sent."""
        super().__init__()
        self.sent: list[int] = []

    def flush(self) -> None:
        """Note the length so far."""
        self.sent.append(self.tell())


class PiecesTest(unittest.TestCase):
    """What reaches the stream, and when."""

    def setUp(self) -> None:
        """Make a stream."""
        self.stream = Stream()
        in_pieces(self.stream)

    def test_short_text_is_left_to_the_stream(self) -> None:
        self.assertEqual(self.stream.write("short"), 5)
        self.assertEqual((self.stream.getvalue(), self.stream.sent), ("short", []))

    def test_long_text_is_sent_piece_by_piece(self) -> None:
        self.assertEqual(self.stream.write("x" * (2 * PIECE + 1)), 2 * PIECE + 1)
        self.assertEqual(self.stream.getvalue(), "x" * (2 * PIECE + 1))
        self.assertEqual(self.stream.sent, [PIECE, 2 * PIECE, 2 * PIECE + 1])

    def test_many_short_texts_are_sent_when_they_fill_a_piece(self) -> None:
        for _ in range(PIECE // 1024 + 1):
            self.stream.write("y" * 1024)
        self.assertEqual(self.stream.sent, [PIECE])

    def test_writing_anything_but_text_fails_as_before(self) -> None:
        with self.assertRaises(TypeError):
            self.stream.write(5)  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
