"""A worker's own descriptors are out of the way of everything else."""

from __future__ import annotations

import os
import resource
import unittest

from join import CONTROL, PRIVATE_FDS, move_low
from tests.confined import in_child


class MoveLowTest(unittest.TestCase):
    def test_what_lies_where_the_private_ones_belong_is_moved(self) -> None:
        def move() -> list[object]:
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * CONTROL), hard))
            read_end, write_end = os.pipe()
            high = CONTROL + PRIVATE_FDS - 1
            os.dup2(read_end, high)
            low = move_low(high)
            os.write(write_end, b"x")
            return [low < CONTROL, os.read(low, 1) == b"x", move_low(low) == low]

        self.assertEqual(in_child(move), [True, True, True])


if __name__ == "__main__":
    unittest.main()
