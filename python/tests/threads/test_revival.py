"""Tests of threads that run again in a copy of their process."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
import unittest
from collections.abc import Callable
from unittest import mock

from _vivarium.confine import kernel
from _vivarium.threads import native, owners, revival
from _vivarium.threads.native import NativeThread
from _vivarium.threads.obstacles import Obstacle, Threads, fork
from _vivarium.threads.revival import Revival

from tests.confine.confined import in_child

LIBC = ctypes.CDLL(None)
WAIT_S = 5.0
# The C library goes on using a semaphore while a thread waits for it, so none is freed before its process ends.
SEMAPHORES: list[Semaphore] = []


class Semaphore:
    """A semaphore of the C library: a thread whose start routine is `sem_wait` waits in a futex, and then ends."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(64)
        LIBC.sem_init(self._memory, 0, 0)
        SEMAPHORES.append(self)

    def start(self) -> int:
        """Start a thread that waits. Returns its identity."""
        ident = ctypes.c_ulong()
        routine = ctypes.cast(LIBC.sem_wait, ctypes.c_void_p)
        assert LIBC.pthread_create(ctypes.byref(ident), None, routine, self._memory) == 0
        return ident.value

    def post(self) -> None:
        LIBC.sem_post(self._memory)


def wait_for_ever(name: bytes = b"a-waiting-one") -> None:
    """Start a thread that waits for a semaphore."""
    LIBC.pthread_setname_np(ctypes.c_ulong(Semaphore().start()), name)


def endless_loop() -> int:
    """Return the address of code that never ends. It is never unmapped: a thread may run it until its process ends."""
    anonymous = (revival.MAP_PRIVATE_ANONYMOUS, -1, 0)
    code = kernel.syscall("mmap", 0, revival.PAGE, revival.PROT_READ | revival.PROT_WRITE, *anonymous)
    ctypes.memmove(code, b"\xeb\xfe", 2)  # jmp to itself
    kernel.syscall("mprotect", code, revival.PAGE, revival.PROT_READ | revival.PROT_EXEC)
    return code


def others() -> list[NativeThread]:
    """Return the other threads, all of which wait."""
    until = time.monotonic() + WAIT_S
    while True:
        found = native.NativeThreads().others()
        if all(one.descriptor and revival.is_waiting(one) for one in found):
            return found
        assert time.monotonic() < until


def settles_at(count: int) -> bool:
    """Return whether so many threads are there after a while. Before Python 3.13, a joined thread may still be ending."""
    until = time.monotonic() + WAIT_S
    while native.count() != count and time.monotonic() < until:
        time.sleep(0.001)
    return native.count() == count


def in_copy(revived: Revival, work: Callable[[], object]) -> object:
    """Fork a copy, which gets its threads back, and return what it says."""
    read, write = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            revived.claim()
            revived.revive()
            os.write(write, repr(work()).encode())
        except BaseException as error:  # the copy must not run the tests of its parent
            os.write(write, repr(error).encode())
        os._exit(0)
    revived.release()
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as file:
        return file.read()


@unittest.skipUnless(kernel.ARCH == "x86_64", "threads run again on x86-64 alone")
class RevivalTest(unittest.TestCase):
    def test_threads_go_on_in_a_copy_and_can_end_there(self) -> None:
        def work() -> list[object]:
            semaphore, revived = Semaphore(), Revival()
            for _ in range(3):
                semaphore.start()
            revived.stop(others())

            def finish() -> list[object]:
                there = settles_at(4)
                for _ in range(3):
                    semaphore.post()
                return [there, settles_at(1)]

            said = in_copy(revived, finish)
            return [said, native.count()]

        self.assertEqual(in_child(work), ["[True, True]", 4])

    def test_they_can_be_joined_by_the_identity_that_they_had(self) -> None:
        def work() -> object:
            semaphore, revived = Semaphore(), Revival()
            ident = semaphore.start()
            revived.stop(others())

            def join() -> int:
                semaphore.post()
                return LIBC.pthread_join(ctypes.c_ulong(ident), None)

            return in_copy(revived, join)

        self.assertEqual(in_child(work), "0")

    def test_a_copy_of_a_copy_has_them_too(self) -> None:
        def work() -> object:
            semaphore, revived = Semaphore(), Revival()
            semaphore.start()
            revived.stop(others())

            def again() -> object:
                later = Revival()
                later.stop(others())
                return in_copy(later, lambda: (settles_at(2), semaphore.post(), settles_at(1)))

            return in_copy(revived, again)

        self.assertEqual(in_child(work), repr("(True, None, True)"))

    def test_new_threads_do_not_get_their_stacks(self) -> None:
        def work() -> object:
            semaphore, revived = Semaphore(), Revival()
            for _ in range(4):
                semaphore.start()
            revived.stop(others())

            def crowd() -> object:
                more = [threading.Thread(target=lambda: sum(range(10_000))) for _ in range(20)]
                for thread in more:
                    thread.start()
                for thread in more:
                    thread.join()
                for _ in range(4):
                    semaphore.post()
                return settles_at(1)

            return in_copy(revived, crowd)

        self.assertEqual(in_child(work), "True")

    def test_their_names_are_kept(self) -> None:
        def work() -> object:
            revived = Revival()
            wait_for_ever()
            revived.stop(others())
            return in_copy(revived, lambda: [settles_at(2), *[revival.name_of(one) for one in others()]])

        self.assertEqual(in_child(work), "[True, 'a-waiting-one']")

    def test_a_thread_that_works_is_not_stopped_and_goes_on(self) -> None:
        def work() -> list[object]:
            ident = ctypes.c_ulong()
            assert LIBC.pthread_create(ctypes.byref(ident), None, ctypes.c_void_p(endless_loop()), None) == 0
            threads = native.NativeThreads()
            until = time.monotonic() + WAIT_S
            while not threads.others()[0].descriptor and time.monotonic() < until:
                time.sleep(0.001)
            try:
                Revival().stop(threads.others())
                problem = "none"
            except OSError as error:
                problem = str(error.strerror)
            before = time.process_time()
            time.sleep(0.1)
            return [problem, time.process_time() > before]

        self.assertEqual(in_child(work), ["a thread was working", True])

    def test_a_program_that_handles_the_signal_keeps_it(self) -> None:
        def work() -> list[bool]:
            before = Revival().is_possible()
            signal.signal(revival._SIGNAL, lambda *_: None)
            return [before, Revival().is_possible()]

        self.assertEqual(in_child(work), [True, False])


@unittest.skipUnless(kernel.ARCH == "x86_64", "threads run again on x86-64 alone")
class SettlingTest(unittest.TestCase):
    def settle(self, prepare: Callable[[], object]) -> Obstacle | None:
        def look() -> Obstacle | None:
            prepare()
            with mock.patch.object(owners, "fate_of", return_value=(owners.REVIVED, "the threads of x", "y")):
                return Threads().settle()

        found = in_child(look)
        return tuple(found) if found else None

    def test_waiting_threads_of_a_library_that_can_be_revived_are_no_obstacle(self) -> None:
        self.assertIsNone(self.settle(wait_for_ever))

    def test_they_are_one_where_that_is_not_possible(self) -> None:
        with mock.patch.object(Revival, "is_possible", return_value=False):
            found = self.settle(wait_for_ever)
        self.assertEqual(found, ("a twin would not have the threads of x", "y"))

    def test_threads_of_an_allocator_are_left_out(self) -> None:
        with mock.patch.object(Revival, "is_possible", return_value=False):
            self.assertIsNone(self.settle(lambda: wait_for_ever(b"jemalloc_bg_thd")))


if __name__ == "__main__":
    unittest.main()
