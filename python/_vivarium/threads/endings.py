"""Ends threads whose owners start others when they need them, and has a copy forget those that it did not get."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time

from _vivarium.threads.running import LOKY, TQDM, PythonThread, executor_of, state_of
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.text import attempt

OMP_PAUSE_HARD = 2
TRACKERS = ("multiprocessing.resource_tracker", *(f"{package}.backend.resource_tracker" for package in LOKY))


def end(threads: list[PythonThread], until: float) -> None:
    """End threads that were found to be idle, or give up at that time."""
    pools: dict[int, tuple[Any, Any, list[threading.Thread]]] = {}
    for each in threads:
        if each.thread is None:
            continue
        if each.what == TQDM[0]:
            attempt(lambda monitor=each.thread: _end_monitor(monitor, until))
        else:
            executor, queue = executor_of(each.frame)
            pools.setdefault(id(queue), (executor, queue, []))[2].append(each.thread)
    for executor, queue, members in pools.values():
        if executor is not None and not state_of(executor)["_shutdown"]:
            _end_idle(executor, queue, members, until)


def pause_openmp(libraries: list[str]) -> None:
    """End the threads of each GNU OpenMP that is loaded. It starts others for the next parallel region."""
    for path in libraries:
        attempt(lambda path=path: ctypes.CDLL(path, mode=os.RTLD_NOLOAD).omp_pause_resource_all(OMP_PAUSE_HARD))


def pause_opencv() -> None:
    """End the threads of OpenCV, which does so when it may use one only. It starts others when it needs them."""
    number, change = member("cv2", "getNumThreads"), member("cv2", "setNumThreads")
    if number is not None and change is not None:
        attempt(lambda: _change_and_back(number(), change))


def _change_and_back(number: int, change: Any) -> None:
    change(1)
    change(number)


def forget() -> None:
    """In a copy that takes over: drop what belonged to processes and threads that are gone."""
    if any(f"{package}.reusable_executor" in sys.modules for package in LOKY):
        for directory in ("/dev/shm", os.environ.get("TMPDIR", "/tmp")):
            attempt(lambda directory=directory: _remove_leftovers(directory))
    for package in LOKY:
        executor = member(f"{package}.reusable_executor", "_executor")
        if executor is not None:
            attempt(lambda executor=executor: _close(executor))
            attempt(lambda package=package: setattr(sys.modules[f"{package}.reusable_executor"], "_executor", None))
    for module in TRACKERS:
        tracker = member(module, "_resource_tracker")
        if tracker is not None:
            attempt(lambda tracker=tracker: _leave(state_of(tracker)))
    children = member("multiprocessing.process", "_children")
    if type(children) is set:
        children.clear()


def _end_idle(executor: Any, queue: Any, threads: list[threading.Thread], until: float) -> None:
    """End the threads of a ThreadPoolExecutor as `shutdown` does, and have it start others at the next `submit`."""
    state = state_of(executor)
    state["_shutdown"] = True
    queue.put(None)  # each worker hands it on to the next
    for thread in threads:
        threading.Thread.join(thread, max(0.0, until - time.monotonic()))
    while not queue.empty():
        attempt(queue.get_nowait)
    state["_threads"] = {thread for thread in threads if threading.Thread.is_alive(thread)}
    state["_idle_semaphore"] = threading.Semaphore(0)
    state["_shutdown"] = False


def _end_monitor(monitor: Any, until: float) -> None:
    """End tqdm's monitor. The next progress bar finds it ended, and starts another one."""
    state_of(monitor)["was_killed"].set()
    threading.Thread.join(monitor, max(0.0, until - time.monotonic()))
    for name in ("_atexit_signal", "exit"):  # registered by newer and older versions, once for each monitor
        attempt(lambda name=name: atexit.unregister(getattr(monitor, name)))


def _close(executor: Any) -> None:
    """Have an executor without threads refuse work: a program that kept a reference to it would wait for ever."""
    state_of(state_of(executor)["_flags"])["shutdown"] = True


def _remove_leftovers(directory: str) -> None:
    """Remove the arrays and semaphores of joblib whose process is gone, as is the tracker that would remove them."""
    import re
    import shutil

    for name in os.listdir(directory):
        owner = re.match(r"(?:joblib_memmapping_folder_|sem\.loky-)(\d+)[_-]", name)
        if owner is None:
            continue
        try:
            os.kill(int(owner[1]), 0)
        except ProcessLookupError:
            path = os.path.join(directory, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)


def _leave(tracker: dict[str, Any]) -> None:
    """Have a resource tracker start its process again without a warning about the old one."""
    fd = tracker.get("_fd")
    tracker["_fd"] = tracker["_pid"] = None
    if type(fd) is int:
        os.close(fd)
