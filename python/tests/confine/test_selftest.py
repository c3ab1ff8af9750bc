"""Tests of the self-test: it finds walls that are open."""

from __future__ import annotations

import os
import unittest

from _vivarium.confine import identity, kernel, selftest
from _vivarium.confine.seccomp import filter as seccomp

from tests.confine.confined import in_child


def _alone() -> None:
    """Enter namespaces in which a try that succeeds does no harm."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEWNS | (0 if uid == 0 else kernel.NEWUSER))
    if uid != 0:
        identity.map_ids(1000, uid, gid)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)


def _verify_without_walls() -> str:
    _alone()
    try:
        selftest.verify("namespaces", False, {"CORE": 0, "NOFILE": 1}, 0, own_files=True)
    except selftest.WallsOpen as error:
        return str(error)
    return "nothing"


def _verify_landlock_without_walls() -> str:
    _alone()
    os.environ["TMPDIR"] = "/tmp"
    try:
        selftest.verify("landlock", True, {}, 0, own_files=False)
    except selftest.WallsOpen as error:
        return str(error)
    return "nothing"


def _verify_behind_seccomp() -> str:
    _alone()
    kernel.no_new_privileges()
    seccomp.install(seccomp.assemble(shared_memory=False, families=()))
    try:
        selftest.verify("namespaces", False, {}, 0, own_files=True)
    except selftest.WallsOpen as error:
        return str(error)
    return "nothing"


class SelfTest(unittest.TestCase):
    """Open walls are named, closed ones are not."""

    def test_open_walls_are_named(self) -> None:
        """Without any wall, nearly everything is possible."""
        found = in_child(_verify_without_walls)
        for name in ("tracing", "netlink", "processes of the host", "the limit NOFILE"):
            self.assertIn(name, found)

    def test_open_walls_without_namespaces_are_named(self) -> None:
        """What Landlock does not know is tried as well."""
        found = in_child(_verify_landlock_without_walls)
        for name in (
            "the modes of files",
            "its subreaper",
            "connections of the host",
            "unix sockets",
            "limits of others",
        ):
            self.assertIn(name, found)

    def test_closed_walls_are_not_named(self) -> None:
        """Behind the filter of system calls, the others are still missing."""
        found = in_child(_verify_behind_seccomp)
        self.assertIn("processes of the host", found)
        for name in ("tracing", "netlink", "vsock", "keys", "io_uring", "mounting", "user namespace"):
            self.assertNotIn(name, found)


if __name__ == "__main__":
    unittest.main()
