"""Tests of frames on a socket."""

import json
import os
import socket
import threading
import unittest

from _vivarium import protocol


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        self.ours, self.theirs = ours, theirs

    def test_a_frame_is_two_lengths_and_json(self) -> None:
        header = {"text": "ä\ud800\n", "list": [1, 2.5, None, True], "nested": {"a": {}}}
        protocol.send(self.ours.fileno(), header, b"\0\xff")
        data = self.theirs.recv(4096)
        length, behind = protocol.LENGTHS.unpack(data[:8])
        self.assertEqual((json.loads(data[8 : 8 + length]), data[8 + length :], behind), (header, b"\0\xff", 2))

    def test_values_that_json_cannot_hold_are_refused(self) -> None:
        for value in (float("nan"), float("inf"), b"x", object()):
            with self.subTest(value), self.assertRaises((ValueError, TypeError)):
                protocol.encode({"value": value})

    def test_frames_that_arrive_together_are_read_one_by_one(self) -> None:
        self.theirs.sendall(protocol.encode({"number": 1}) + protocol.encode({"number": 2}) + b"rest")
        received = [protocol.receive(self.ours.fileno()) for _ in range(2)]
        self.assertEqual((received, self.ours.recv(9)), ([{"number": 1}, {"number": 2}], b"rest"))

    def test_a_frame_that_arrives_in_parts_is_read_whole(self) -> None:
        os.set_blocking(self.ours.fileno(), False)
        frame = protocol.encode({"text": "x" * 3_000_000})

        def send_in_parts() -> None:
            for start, end in ((0, 3), (3, 11), (11, None)):
                self.theirs.sendall(frame[start:end])

        sender = threading.Thread(target=send_in_parts)
        sender.start()
        self.assertEqual(len(protocol.receive(self.ours.fileno())["text"]), 3_000_000)
        sender.join()

    def test_the_end_of_the_stream_and_an_invalid_frame_raise_closed(self) -> None:
        for data in (
            protocol.encode({"a": 1})[:-1],
            protocol.LENGTHS.pack(protocol.MAX_FRAME + 1, 0),
            protocol.encode({}, b"bytes"),
        ):
            with self.subTest(data):
                ours, theirs = socket.socketpair()
                with ours, theirs:
                    theirs.sendall(data)
                    theirs.shutdown(socket.SHUT_WR)
                    self.assertRaises(protocol.Closed, protocol.receive, ours.fileno())

    def test_everything_up_to_a_token_is_skipped(self) -> None:
        token = os.urandom(16)
        self.theirs.sendall(b"half a frame" + token)
        protocol.skip_past(self.ours.fileno(), token)
        self.theirs.sendall(protocol.encode({"number": 1}))
        self.assertEqual(protocol.receive(self.ours.fileno()), {"number": 1})


if __name__ == "__main__":
    unittest.main()
