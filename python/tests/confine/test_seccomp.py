"""Tests of the filter: it refuses what namespaces do not stop, and lets ordinary programs work."""

from __future__ import annotations

import asyncio
import ctypes
import dbm.dumb
import errno
import fcntl
import json
import mmap
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from _vivarium.confine import kernel
from _vivarium.confine.seccomp import filter as seccomp

from tests.confine.confined import errno_of, in_child

CHANGES = ("limits", "priority", "processors")
INTERNET = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)


def filtered(
    work: Callable[[], Any],
    *,
    shared_memory: bool = True,
    families: tuple[int, ...] = INTERNET,
    own_pids: bool = False,
    own_files: bool = True,
    refused: tuple[str, ...] = (),
) -> Any:
    """Run `work` in a child behind the filter."""

    def child() -> Any:
        kernel.no_new_privileges()
        program = seccomp.assemble(
            shared_memory=shared_memory, families=families, own_pids=own_pids, own_files=own_files, refused=refused
        )
        seccomp.install(program)
        return work()

    return in_child(child)


def number_of(name: str, *args: Any) -> int:
    return errno_of(lambda: kernel.syscall(name, *args))


class Refusals(unittest.TestCase):
    def test_dangerous_calls_are_permission_errors(self) -> None:
        names = (
            *(
                "unshare",
                "setns",
                "ptrace",
                "process_vm_readv",
                "keyctl",
                "add_key",
                "io_uring_setup",
                "bpf",
                "userfaultfd",
            ),
            *(
                "mount",
                "open_tree",
                "pivot_root",
                "chroot",
                "perf_event_open",
                "open_by_handle_at",
                "shmget",
                "mq_open",
            ),
            *("splice", "setresuid", "personality", "seccomp", "execveat", "kexec_load", "landlock_create_ruleset"),
        )
        numbers = filtered(lambda: {name: number_of(name, 0, 0, 0, 0, 0, 0) for name in names})
        self.assertEqual(numbers, dict.fromkeys(names, errno.EPERM))

    def test_unknown_calls_are_not_implemented(self) -> None:
        self.assertEqual(filtered(lambda: number_of("mseal", 0, 0, 0)), errno.ENOSYS)
        self.assertEqual(filtered(lambda: number_of("clone3", 0, 0)), errno.ENOSYS)
        self.assertEqual(filtered(lambda: number_of("openat2", -100, b"/", 0, 24)), errno.ENOSYS)

    def test_no_file_becomes_set_uid(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/file"
            made = lambda flags, mode: errno_of(lambda: os.close(os.open(path, flags, mode)))  # noqa: E731
            create = os.O_CREAT | os.O_WRONLY
            attempt = lambda: [  # noqa: E731
                made(create, 0o4755),
                made(create, 0o2755),
                errno_of(lambda: os.chmod(path, 0o6755)),
                errno_of(lambda: os.chmod(path, 0o3755)),
                made(os.O_RDONLY, 0o4755),  # no file is made, so the mode does not count
                made(os.O_TMPFILE | os.O_WRONLY, 0o4755),
            ]
            self.assertEqual(filtered(attempt), [errno.EPERM, 0, errno.EPERM, 0, 0, errno.EPERM])

    def test_clone_makes_no_namespace(self) -> None:
        kinds = ("NEWNS", "NEWUSER", "NEWPID", "NEWNET", "NEWIPC", "NEWUTS", "NEWCGROUP")
        flags = [getattr(kernel, kind) | signal.SIGCHLD for kind in kinds]
        self.assertEqual(filtered(lambda: [number_of("clone", flag, 0, 0, 0, 0) for flag in flags]), [errno.EPERM] * 7)

    def test_clone_makes_no_child_of_another_process(self) -> None:
        flags = 0x8000 | signal.SIGCHLD  # CLONE_PARENT
        self.assertEqual(filtered(lambda: number_of("clone", flags, 0, 0, 0, 0)), errno.EPERM)

    def test_only_the_caller_can_be_changed_where_pids_are_those_of_the_machine(self) -> None:
        self.assertEqual(filtered(lambda: _changes(os.getpid())), dict.fromkeys(CHANGES, errno.EPERM))
        self.assertEqual(filtered(lambda: _changes(0)), dict.fromkeys(CHANGES, 0))

    def test_pid_1_cannot_be_changed_and_other_processes_of_the_session_can(self) -> None:
        attempt = lambda: [_changes(1), _changes(1 << 32 | 1), _changes(os.getpid()), _changes(0)]  # noqa: E731
        refused, possible = dict.fromkeys(CHANGES, errno.EPERM), dict.fromkeys(CHANGES, 0)
        self.assertEqual(filtered(attempt, own_pids=True), [refused, refused, possible, possible])

    def test_no_group_or_user_can_be_slowed_down(self) -> None:
        attempt = lambda: [number_of("setpriority", which, 0, 19) for which in (1, 2)]  # noqa: E731
        self.assertEqual(filtered(attempt, own_pids=True), [errno.EPERM] * 2)

    def test_only_listed_socket_families_types_and_protocols_open(self) -> None:
        netlink, vsock, packet, alg = 16, 40, 17, 38
        stream, seqpacket, dccp, sctp = 1, 5, 6, 132
        cases = [
            (netlink, 3, 0),
            (vsock, 1, 0),
            (packet, 3, 0),
            (alg, 5, 0),
            (2, dccp, 0),
            (2, seqpacket, 0),
            (2, stream, sctp),
        ]
        expected = [errno.EAFNOSUPPORT] * 4 + [errno.ESOCKTNOSUPPORT] * 2 + [errno.EPROTONOSUPPORT]
        self.assertEqual(filtered(lambda: [errno_of(lambda: socket.socket(*case)) for case in cases]), expected)
        self.assertEqual(filtered(lambda: errno_of(lambda: socket.socketpair(30, 1))), errno.EAFNOSUPPORT)

    def test_without_families_only_connected_pairs_are_left(self) -> None:
        def attempt() -> list[int]:
            makers = [lambda kind=kind: _close(*socket.socketpair(socket.AF_UNIX, kind)) for kind in (1, 5, 2)]
            return [errno_of(socket.socket), errno_of(lambda: socket.socket(socket.AF_UNIX)), *map(errno_of, makers)]

        expected = [errno.EAFNOSUPPORT, errno.EAFNOSUPPORT, 0, 0, errno.ESOCKTNOSUPPORT]
        self.assertEqual(filtered(attempt, families=()), expected)

    def test_only_harmless_process_attributes_can_be_changed(self) -> None:
        set_name, set_vma, set_pdeathsig = 15, 0x53564D41, 1
        set_dumpable, set_seccomp, set_mm, set_ptracer = 4, 22, 35, 0x59616D61
        name = ctypes.create_string_buffer(b"name")

        def attempt() -> Any:
            good = [
                number_of("prctl", set_name, name),
                number_of("prctl", set_pdeathsig, 9),
                number_of("prctl", set_vma, 99),
            ]
            return good, [number_of("prctl", op, 1, 0, 0, 0) for op in (set_dumpable, set_seccomp, set_mm, set_ptracer)]

        good, bad = filtered(attempt)
        self.assertEqual((good[:2], bad), ([0, 0], [errno.EPERM] * 4))
        self.assertNotEqual(good[2], errno.EPERM)

    def test_metadata_cannot_change_where_files_are_not_our_own(self) -> None:
        folder = tempfile.mkdtemp(prefix="vivarium-test-")
        self.addCleanup(shutil.rmtree, folder)
        path = f"{folder}/file"
        Path(path).write_text("x")
        before = os.stat(path)

        def attempt() -> Any:
            file = os.open(path, os.O_RDONLY)
            pretended = [
                errno_of(change)
                for change in (
                    lambda: os.chmod(path, 0o777),
                    lambda: os.chmod(file, 0o777),
                    lambda: os.utime(path, (1, 1)),
                    lambda: os.utime(path, (1, 1), follow_symlinks=False),
                    lambda: os.utime(file, (1, 1)),
                    lambda: os.utime(file),
                )
            ]
            owners = [errno_of(lambda: os.chown(each, os.getuid(), -1)) for each in (path, file)]
            attributes = [errno_of(lambda: os.setxattr(each, "user.x", b"x")) for each in (path, file)]
            lease = errno_of(lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK))
            now = [errno_of(lambda: os.utime(each)) for each in (path, f"{path}-missing")]
            flags = fcntl.fcntl(file, fcntl.F_GETFD)
            return pretended, owners, attributes, [lease, *now], flags

        pretended, owners, attributes, refused, _ = filtered(attempt, own_files=False)
        self.assertEqual((pretended, owners), ([0] * 6, [errno.EPERM] * 2))
        self.assertEqual((attributes, refused), ([errno.EOPNOTSUPP] * 2, [errno.EACCES] * 3))
        self.assertEqual(os.stat(path), before)

    def test_usual_programs_copy_files_where_metadata_cannot_change(self) -> None:
        folder = tempfile.mkdtemp(prefix="vivarium-test-")
        self.addCleanup(shutil.rmtree, folder)

        def attempt() -> Any:
            os.chdir(folder)
            Path("a").touch()
            Path("a").touch()
            Path("a").write_text("x")
            shutil.copy("a", "b")
            shutil.copy2("a", "c")
            os.mkdir("d")
            shutil.copy("a", "d")
            shutil.copytree("d", "e")
            shutil.unpack_archive(shutil.make_archive("f", "gztar", "d"), "g")
            subprocess.run(
                "cp -p a h; cp -a d i; touch -d 2001-01-01 a; touch j; mv h k", shell=True, capture_output=True
            )
            with dbm.dumb.open("l", "c") as database:
                database["x"] = "y"
            os.close(os.open("m", os.O_CREAT | os.O_WRONLY, 0o755))
            return [os.path.exists(name) for name in ("b", "c", "e/a", "g/a", "i/a", "j", "k", "l.dat")], os.access(
                "m", os.X_OK
            )

        self.assertEqual(filtered(attempt, own_files=False), [[True] * 8, True])

    def test_further_calls_can_be_refused(self) -> None:
        call = lambda: number_of("inotify_add_watch", -1, b"/", 1)  # noqa: E731
        self.assertEqual(filtered(call), errno.EBADF)
        self.assertEqual(filtered(call, refused=("inotify_add_watch",)), errno.EPERM)

    def test_terminal_input_cannot_be_forged(self) -> None:
        tiocsti, ficlone = 0x5412, 0x40049409

        def attempt() -> Any:
            with tempfile.TemporaryFile() as file:
                return [
                    errno_of(lambda: fcntl.ioctl(file, tiocsti, b"x")),
                    errno_of(lambda: fcntl.ioctl(file, ficlone, 0)),
                ]

        self.assertEqual(filtered(attempt), [errno.ENOTTY, errno.EOPNOTSUPP])

    def test_uncounted_memory_is_refused_without_a_memory_cgroup(self) -> None:
        def attempt() -> Any:
            mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
            return [errno_of(lambda: mmap.mmap(-1, 4096)), errno_of(lambda: os.memfd_create("x"))]

        self.assertEqual(filtered(attempt, shared_memory=False), [errno.ENOMEM, errno.EPERM])
        self.assertEqual(filtered(attempt, shared_memory=True), [0, 0])

    @unittest.skipUnless(kernel.ARCH == "x86_64", "x32 exists on x86_64 only")
    def test_calls_of_another_abi_kill_the_process(self) -> None:
        call = ctypes.CDLL(None).syscall
        self.assertEqual(filtered(lambda: call(ctypes.c_long(0x40000000 | 39))), {"signal": signal.SIGSYS})

    def test_a_filter_exists_for_both_architectures(self) -> None:
        tables = json.loads(Path(kernel.__file__).with_name("syscalls.json").read_text())
        for name, table in tables.items():
            with mock.patch.object(kernel, "ARCH", name), mock.patch.object(kernel, "SYSCALLS", table):
                program = seccomp.assemble(shared_memory=False, families=INTERNET)
            self.assertLess(len(program) // 8, 4096)
            self.assertLessEqual({"openat", "mmap", "futex", "clone", "socketpair", "memfd_create"}, set(table))

    def test_children_and_programs_inherit_the_filter(self) -> None:
        run = lambda: subprocess.run(["unshare", "-U", "true"], capture_output=True).returncode  # noqa: E731
        self.assertEqual(filtered(run), 1)


class OrdinaryWork(unittest.TestCase):
    def test_programs_threads_databases_and_processes_work(self) -> None:
        for shared_memory in (True, False):
            self.assertEqual(filtered(_work, shared_memory=shared_memory), ["out", [0, 1, 4], [[1]], [1, 4, 9], "echo"])

    def test_a_program_can_read_limits_and_change_its_own(self) -> None:
        def attempt() -> Any:
            os.sched_setaffinity(0, os.sched_getaffinity(0))
            os.sched_setaffinity(threading.get_native_id(), os.sched_getaffinity(0))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.prlimit(os.getpid(), resource.RLIMIT_FSIZE, resource.prlimit(os.getpid(), resource.RLIMIT_FSIZE))
            nice = subprocess.run("nice -n 3 nice; ulimit -n", shell=True, capture_output=True, text=True).stdout
            return [os.nice(1) > 0, len(nice.split()), len(resource.prlimit(os.getppid(), resource.RLIMIT_CORE))]

        self.assertEqual(filtered(attempt, own_pids=True), [True, 2, 2])

    def test_every_thread_gets_the_filter(self) -> None:
        def attempt() -> Any:
            seen: list[int] = []
            go = threading.Event()
            thread = threading.Thread(target=lambda: (go.wait(), seen.append(number_of("unshare", kernel.NEWUTS))))
            thread.start()
            kernel.no_new_privileges()
            seccomp.install(seccomp.assemble(shared_memory=True, families=()))
            go.set()
            thread.join()
            return seen

        self.assertEqual(in_child(attempt), [errno.EPERM])


def _changes(pid: int) -> dict[str, int]:
    """Try to change a process in every way; a change to what it is already."""
    limits = ctypes.create_string_buffer(struct.pack("qq", *resource.getrlimit(resource.RLIMIT_CORE)))
    processors = ctypes.create_string_buffer(b"\xff" * 128)
    return {
        "limits": number_of("prlimit64", pid, resource.RLIMIT_CORE, limits, 0),
        "priority": number_of("setpriority", os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0)),
        "processors": number_of("sched_setaffinity", pid, 128, processors),
    }


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        each.close()


def _square(number: int) -> int:
    return number * number


def _work() -> list[Any]:
    """Do what programs commonly do, without any library."""
    out = subprocess.run("echo out | cat", shell=True, capture_output=True, text=True, check=True).stdout.strip()
    squares: dict[int, int] = {}
    threads = [threading.Thread(target=lambda n=n: squares.update({n: n * n})) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(f"{folder}/x.db")
        database.execute("pragma journal_mode=delete")
        database.executescript("create table t (x); insert into t values (1);")
        rows = [list(row) for row in database.execute("select x from t")]
        database.close()
    return [out, sorted(squares.values()), rows, _processes(), asyncio.run(_echo())]


def _processes() -> list[int]:
    """Use a pool, which needs semaphores in shared files."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(_square, [1, 2, 3])


async def _echo() -> str:
    """Run a server and a client over the loopback."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"echo\n")
    line = await reader.readline()
    writer.close()
    server.close()
    return line.decode().strip()


if __name__ == "__main__":
    unittest.main()
