"""Tests of what the threads of a process mean for a copy of it."""

from __future__ import annotations

import _thread
import asyncio
import ctypes
import multiprocessing
import os
import sys
import threading
import time
import unittest
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

from _vivarium.threads import native, owners
from _vivarium.threads.obstacles import Obstacle, Threads, fork

from tests.confine.confined import in_child


def settled(prepare: Callable[[], object]) -> Obstacle | None:
    """Return what prevents a copy of a process that has just done this."""

    def look() -> Obstacle | None:
        kept = prepare()
        found = Threads().settle()
        del kept
        return found

    found = in_child(look)
    return tuple(found) if found else None


def obstacle(prepare: Callable[[], object]) -> str:
    """Return what a copy would not have, as it is told."""
    found = settled(prepare)
    return found[0] if found else "nothing"


class UnknownThreadsTest(unittest.TestCase):
    """What the C library keeps about threads."""

    def test_a_thread_of_which_nothing_is_known_yet_is_an_unknown_one(self) -> None:
        threads = native.NativeThreads()
        threads._place = 3
        self.assertIsNone(threads._start_routine([]))


class PythonThreadsTest(unittest.TestCase):
    """Threads that run Python code."""

    def test_a_process_with_one_thread_can_be_copied(self) -> None:
        self.assertIsNone(settled(lambda: None))

    def test_a_thread_of_the_program_is_named(self) -> None:
        def start() -> None:
            threading.Thread(target=time.sleep, args=(60,), daemon=True, name="poller").start()

        self.assertEqual(obstacle(start), "a twin would not have a live thread ('poller')")

    def test_a_thread_without_the_threading_module_counts(self) -> None:
        def start() -> None:
            is_running = threading.Event()
            _thread.start_new_thread(lambda: (is_running.set(), time.sleep(60)), ())
            is_running.wait()

        self.assertEqual(obstacle(start), "a twin would not have a live thread")

    def test_many_threads_are_summed_up(self) -> None:
        def start() -> None:
            for index in range(5):
                threading.Thread(target=time.sleep, args=(60,), daemon=True, name=f"t{index}").start()

        self.assertRegex(obstacle(start), r"^a twin would not have a live thread \('t\d'\), .* and 2 more$")

    def test_a_thread_with_a_hostile_name_is_told_without_running_its_code(self) -> None:
        class Name(str):
            def __format__(self, _spec: str) -> str:
                os._exit(9)

            __str__ = __repr__ = __getitem__ = __len__ = __format__  # type: ignore[assignment]

        def start() -> None:
            thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
            thread.start()
            vars(thread)["_name"] = Name("x")

        self.assertEqual(obstacle(start), "a twin would not have a live thread")

    def test_threads_that_have_just_ended_are_no_obstacle(self) -> None:
        def come_and_go() -> None:
            threads = [threading.Thread(target=int) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        self.assertIsNone(settled(come_and_go))

    def test_open_things_of_the_standard_library_come_with_a_remedy(self) -> None:
        def timer() -> object:
            waiting = threading.Timer(60, print)
            waiting.daemon = True
            waiting.start()
            return waiting

        def pool() -> object:
            return multiprocessing.get_context("fork").Pool(1)

        def queue() -> object:
            made = multiprocessing.get_context("fork").Queue()
            made.put(1)
            made.get()
            return made

        for make, what, remedy in ((timer, "Timer", "Cancel"), (pool, "Pool", "with Pool"), (queue, "Queue", "close")):
            found = settled(make)
            assert found is not None
            self.assertIn(what, found[0])
            self.assertIn(remedy, found[1])


class ExecutorTest(unittest.TestCase):
    """Threads that an executor keeps for later work."""

    def test_idle_threads_are_ended_and_started_again_for_the_next_work(self) -> None:
        def use() -> list[object]:
            executor = ThreadPoolExecutor(3)
            first = list(executor.map(abs, range(-50, 0)))
            found = Threads().settle()
            count = native.count()
            again = list(executor.map(abs, range(-50, 0)))
            return [found, count, first == again, len(vars(executor)["_threads"]) <= 3]

        self.assertEqual(in_child(use), [None, 1, True, True])

    def test_an_initializer_runs_for_the_threads_that_are_started_again(self) -> None:
        def use() -> object:
            made: list[int] = []
            executor = ThreadPoolExecutor(1, initializer=made.append, initargs=(1,))
            for _ in range(3):
                executor.submit(int).result()
                Threads().settle()
            return len(made)

        self.assertEqual(in_child(use), 3)

    def test_an_executor_that_works_is_left_alone_and_finishes(self) -> None:
        def use() -> list[object]:
            go = threading.Event()
            with ThreadPoolExecutor(2) as executor:
                future = executor.submit(go.wait)
                found = Threads().settle()
                go.set()
                return [found and found[0], future.result(), executor.submit(abs, -3).result()]

        self.assertEqual(in_child(use), ["a twin would not have a ThreadPoolExecutor that is still working", True, 3])

    def test_an_executor_can_be_shut_down_after_its_threads_were_ended(self) -> None:
        def use() -> list[object]:
            executor = ThreadPoolExecutor(2)
            executor.submit(int).result()
            Threads().settle()
            executor.shutdown()
            try:
                executor.submit(int)
            except RuntimeError:
                return [True]
            return [False]

        self.assertEqual(in_child(use), [True])

    def test_the_threads_behind_to_thread_are_ended(self) -> None:
        def use() -> list[object]:
            loop = asyncio.new_event_loop()
            first = loop.run_until_complete(asyncio.to_thread(abs, -1))
            found = Threads().settle()
            return [first, found, native.count(), loop.run_until_complete(asyncio.to_thread(abs, -2))]

        # The fork of an event loop's process would share its selector: the loop is made in the child.
        self.assertEqual(in_child(use), [1, None, 1, 2])

    def test_another_kind_of_executor_is_not_touched(self) -> None:
        class Own(ThreadPoolExecutor):
            pass

        def use() -> list[object]:
            executor = Own(1)
            executor.submit(int).result()
            found = Threads().settle()
            return [found and found[0], native.count()]

        self.assertEqual(in_child(use), ["a twin would not have an open Own", 2])


class NativeThreadsTest(unittest.TestCase):
    """Threads that run no Python code."""

    def test_a_thread_of_an_unknown_library_is_named_after_it(self) -> None:
        def start() -> None:
            libc = ctypes.CDLL(None)
            ident = ctypes.c_ulong()
            libc.pthread_create(ctypes.byref(ident), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)

        self.assertRegex(obstacle(start), r"^a twin would not have threads of libc[.-]")

    def test_a_busy_thread_has_an_owner_too(self) -> None:
        def start() -> list[str]:
            threading.Thread(target=_spin, daemon=True).start()
            threads = native.NativeThreads()
            return [str(each.library == threads.python()) for each in threads.others()]

        self.assertEqual(in_child(start), ["True"])

    def test_a_fork_beside_known_threads_warns_nobody_and_changes_no_filters(self) -> None:
        def start() -> list[object]:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            with warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                before = list(warnings.filters)
                pid = fork()
                if pid == 0:
                    os._exit(int(warnings.filters != before))
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                return [len(shown), warnings.filters == before, code]

        self.assertEqual(in_child(start), [0, True, 0])


class UnseenTest(unittest.TestCase):
    """Machines that show no threads."""

    def test_a_package_with_native_code_that_is_not_known_may_have_threads(self) -> None:
        import _ssl

        module = ModuleType("strange.core")
        module.__spec__ = _ssl.__spec__
        self.assertEqual(owners.unseen({"strange.core": module}), "strange")
        self.assertIsNone(owners.unseen({"numpy.core": module, "_ssl": _ssl, "plain": ModuleType("plain")}))
        self.assertIsNone(owners.unseen(dict(sys.modules)))


def _spin() -> None:
    while True:
        pass
