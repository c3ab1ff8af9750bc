"""A zygote refuses a level that its machine cannot hold."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

from _vivarium.confine.landlock import ruleset as landlock
from _vivarium.zygote import setup

CONFIG = {
    "level": "landlock",
    "instance": "x",
    "cgroups": False,
    "limits": {"cpus": None, "memoryBytes": 1 << 30, "processes": 64},
    "ahead": 0,
    "twinDelayMs": 20,
    "sessions": "/",
    "socket": "",
}


class FakeProbes:
    """A machine on which sessions have user ids of their own, or not."""

    def __init__(self, has_uids: bool) -> None:
        self._has_uids = has_uids

    def answer(self) -> tuple[bool, bool]:
        return self._has_uids, True


def problem_of(version: int, *, has_uids: bool) -> str:
    """Return why the level landlock is refused with this version of Landlock."""
    probes: Any = FakeProbes(has_uids)
    with (
        mock.patch.object(landlock, "abi", return_value=version),
        mock.patch.object(setup.probe, "reach", return_value={"ok": False, "detail": "what comes next"}),
        mock.patch.object(setup.kernel, "become_subreaper", side_effect=OSError("what comes next")),
    ):
        try:
            setup.enter(CONFIG, (), probes)
        except OSError as error:
            return str(error)
    return ""


class LandlockTest(unittest.TestCase):
    def test_a_user_shared_with_the_host_needs_scoped_signals(self) -> None:
        self.assertIn("needs version 6 of Landlock (Linux 6.12)", problem_of(5, has_uids=False))
        self.assertIn("what comes next", problem_of(6, has_uids=False))

    def test_users_of_their_own_do_not(self) -> None:
        self.assertIn("needs version 2 of Landlock (Linux 5.19)", problem_of(1, has_uids=True))
        self.assertIn("what comes next", problem_of(2, has_uids=True))


if __name__ == "__main__":
    unittest.main()
