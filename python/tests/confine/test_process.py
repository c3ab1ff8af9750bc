"""Tests of system calls, identities and limits."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from _vivarium.confine import identity, kernel, limits

from tests.confine.confined import NOBODY, SESSION_UID, errno_of, identities, in_child, in_namespaces, needs_root


class Kernel(unittest.TestCase):
    def test_system_calls_go_by_name(self) -> None:
        self.assertEqual(kernel.syscall("getpid"), os.getpid())

    def test_an_error_names_the_call(self) -> None:
        with self.assertRaisesRegex(OSError, "setns: Bad file descriptor"):
            kernel.setns(-1)
        with self.assertRaisesRegex(OSError, "no_such_call: unknown"):
            kernel.syscall("no_such_call")
        with self.assertRaisesRegex(OSError, "mount of nofs on /usr"):
            kernel.mount(None, "/usr", "nofs")

    def test_all_descriptors_but_the_kept_ones_are_closed(self) -> None:
        def answered() -> Any:  # the pipe to the test must stay open
            highest = max(int(name) for name in os.listdir("/proc/self/fd"))
            keep = range(3, highest + 1)
            extra = [os.dup2(0, highest + 1 + n) for n in range(4)]
            kernel.close_fds_except([*keep, extra[1]])
            return [errno_of(lambda: os.fstat(fd)) for fd in extra]

        expected = [errno.EBADF, 0, errno.EBADF, errno.EBADF]
        self.assertEqual(in_child(answered), expected)
        with mock.patch.dict(kernel.SYSCALLS):
            del kernel.SYSCALLS["close_range"]
            self.assertEqual(in_child(answered), expected)

    def test_a_child_dies_with_its_parent(self) -> None:
        read_end, write_end = os.pipe()

        def parent() -> None:
            if os.fork() == 0:
                kernel.die_with_parent()
                os.write(write_end, b"x")
                signal.pause()
            os.read(read_end, 1)

        in_child(parent)
        os.close(write_end)
        self.assertEqual(os.read(read_end, 1), b"")  # end of file: no process holds the other end
        os.close(read_end)

    def test_a_subreaper_adopts_orphans(self) -> None:
        def attempt() -> bool:
            kernel.become_subreaper()
            read_end, write_end = os.pipe()
            if os.fork() == 0:
                if os.fork() == 0:
                    os.write(write_end, str(os.getpid()).encode())
                os._exit(0)
            orphan = int(os.read(read_end, 32))
            return orphan in (os.wait()[0], os.wait()[0])

        self.assertTrue(in_child(attempt))

    def test_a_namespace_has_its_own_hostname_and_loopback(self) -> None:
        def attempt() -> Any:
            kernel.set_hostname(b"enclosure")
            kernel.loopback_up()
            return os.uname().nodename, Path("/proc/self/net/dev").read_text().count(":")

        for uid in identities():
            self.assertEqual(in_namespaces(attempt, uid), ["enclosure", 1])


class Identity(unittest.TestCase):
    def test_mapped_ids_are_seen_inside(self) -> None:
        for uid in identities():
            self.assertEqual(in_namespaces(os.getuid, uid), 0 if uid == 0 else 1000)

    @needs_root
    def test_a_uid_is_taken_for_good(self) -> None:
        def attempt() -> Any:
            os.setgroups([1, 2])
            identity.become(SESSION_UID, NOBODY)
            back = errno_of(lambda: os.setresuid(0, 0, 0))
            return os.getresuid(), os.getresgid(), os.getgroups(), back

        uids, gids, groups, back = in_child(attempt)
        self.assertEqual((uids, gids, groups, back), ([SESSION_UID] * 3, [NOBODY] * 3, [], errno.EPERM))

    @needs_root
    def test_a_guard_can_signal_a_session_that_cannot_signal_it(self) -> None:
        def attempt() -> Any:
            started, start = os.pipe()
            answers, answer = os.pipe()
            guard = os.getpid()
            session = os.fork()
            if session == 0:
                os.read(started, 1)
                identity.become(SESSION_UID, SESSION_UID)
                os.write(answer, bytes([errno_of(lambda: os.kill(guard, 0))]))
                signal.pause()
            identity.watch_over(SESSION_UID, SESSION_UID - 1)
            os.write(start, b"x")
            refusal = os.read(answers, 1)[0]
            os.kill(session, signal.SIGKILL)
            back = errno_of(lambda: os.setresuid(0, 0, 0))
            return refusal, os.waitstatus_to_exitcode(os.waitpid(session, 0)[1]), back

        self.assertEqual(in_child(attempt), [errno.EPERM, -signal.SIGKILL, errno.EPERM])

    def test_no_capability_is_left_nor_comes_back(self) -> None:
        def attempt() -> Any:
            identity.drop_capabilities()
            kernel.no_new_privileges()
            rows = dict(
                line.split(":\t")
                for line in Path("/proc/self/status").read_text().splitlines()
                if line.startswith("Cap")
            )
            child = subprocess.run(["grep", "CapEff", "/proc/self/status"], capture_output=True, text=True).stdout
            return rows, child, errno_of(lambda: kernel.unshare(kernel.NEWNS))

        for uid in identities():
            rows, child, number = in_namespaces(attempt, uid)
            self.assertEqual({int(value, 16) for value in rows.values()}, {0})
            self.assertEqual(int(child.split()[1], 16), 0)
            self.assertEqual(number, errno.EPERM)

    def test_without_privileges_dropping_is_harmless(self) -> None:
        def attempt() -> None:
            if os.getuid() == 0:
                identity.become(NOBODY, NOBODY)
            identity.drop_capabilities()

        self.assertIsNone(in_child(attempt))


class Limits(unittest.TestCase):
    def test_limits_are_clamped_to_the_inherited_hard_limit(self) -> None:
        def attempt() -> Any:
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
            limits.set_limits({"NOFILE": 4096, "CORE": 0, "STACK": (1 << 20, 2 << 20), "NPROC": resource.RLIM_INFINITY})
            return [resource.getrlimit(which) for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)]

        self.assertEqual(in_child(attempt), [[200, 200], [0, 0]])

    def test_soft_and_hard_differ_when_asked(self) -> None:
        def attempt() -> Any:
            limits.set_limits({"NOFILE": (50, 60)})
            limits.set_limits({"NOFILE": (55, resource.RLIM_INFINITY)})
            return resource.getrlimit(resource.RLIMIT_NOFILE)

        self.assertEqual(in_child(attempt), [55, 60])

    def test_open_files_are_raised_to_the_hard_limit(self) -> None:
        def attempt() -> Any:
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
            return limits.raise_open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)

        self.assertEqual(in_child(attempt), [200, [200, 200]])


if __name__ == "__main__":
    unittest.main()
