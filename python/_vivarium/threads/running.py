"""Tells what the threads that run Python code are for, from their frames. None of their own code is run."""

from __future__ import annotations

import sys
import threading
from types import FrameType, FunctionType

from _vivarium.record import Record
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.text import printable, type_name

LOKY = ("joblib.externals.loky", "loky")
NAME_LIMIT = 60

# What a thread means for a twin.
ENDS = "ends"  # it can be ended, and its owner starts another one when it needs it
FORGETS = "forgets"  # it may go on: a copy is made to forget it
PASSES = "passes"  # it may well be idle or gone in a moment
STAYS = "stays"

POOL = ("an open multiprocessing Pool", "Close pools with `with Pool() as pool:`.")
PROCESSES = ("an open ProcessPoolExecutor", "Close executors with `with ProcessPoolExecutor() as executor:`.")
QUEUE = ("a multiprocessing Queue that was written to", "Call `close()` and `join_thread()` of queues after use.")
TIMER = ("a Timer that has not fired yet", "Cancel timers, or wait for them with `join()`.")
WORKING = ("a ThreadPoolExecutor that is still working", "Wait for its futures before the cell ends.")
JOBLIB = ("joblib workers that are still working", "Wait for their results before the cell ends.")
TQDM = ("tqdm's monitor thread", "Set `tqdm.tqdm.monitor_interval = 0` first.")
LIVE = ("a live thread", "Wait for threads with `join()` before the cell ends.")

BY_MODULE = {
    "multiprocessing.pool": POOL,
    "multiprocessing.queues": QUEUE,
    "concurrent.futures.process": PROCESSES,
    **{f"{package}.process_executor": PROCESSES for package in LOKY},
}


class PythonThread(Record):
    """A thread that runs Python code."""

    thread: threading.Thread | None  # None if it was started without `threading`
    frame: FrameType
    fate: str
    what: str
    remedy: str


def running() -> dict[int, PythonThread]:
    """Return all threads but the current one, by the identity that Python knows them by."""
    here = threading.get_ident()
    known = dict(threading._active)  # type: ignore[attr-defined]
    frames = {ident: frame for ident, frame in sys._current_frames().items() if ident != here}
    loky = _loky(frames, known)
    return {
        ident: PythonThread(known.get(ident), frame, *(loky.get(ident) or _judge(frame, known.get(ident))))
        for ident, frame in frames.items()
    }


def executor_of(frame: FrameType) -> tuple[Any, Any]:
    """Return the executor, None if it is gone, and the work queue of a thread that `_worker` runs."""
    local = frame.f_locals
    return local["executor_reference"](), local["work_queue"]


def state_of(value: object) -> dict[str, Any]:
    """Return the attributes of an object, whatever its class makes of looking them up."""
    return object.__getattribute__(value, "__dict__")


def _judge(frame: FrameType, thread: threading.Thread | None) -> tuple[str, str, str]:
    kind = type(thread)
    if kind is threading.Timer:
        return (STAYS, *TIMER)
    if kind is member("tqdm._monitor", "TMonitor"):
        return (ENDS, *TQDM)
    frames = _outer(frame)
    worker = _code(member("concurrent.futures.thread", "_worker"))
    if worker is not None and any(each.f_code is worker for each in frames):
        return _judge_worker(frame, worker)
    modules = [_module(each) for each in frames]
    starters = [name for name in modules if name != "threading"]
    if not starters and kind is threading.Thread and modules[0] == "threading" and _is_over(thread):
        return (PASSES, *LIVE)
    known = BY_MODULE.get(starters[-1]) if starters else None
    if known is not None:
        return (STAYS, *known)
    return (STAYS, f"{LIVE[0]}{_name(thread)}", LIVE[1])


def _loky(frames: dict[int, FrameType], known: dict[int, Any]) -> dict[int, tuple[str, str, str]]:
    """Return what the threads of joblib's shared executor mean.

    If it has nothing to do they hold no locks, and a copy that forgets the executor gets another one when it needs it.
    Shutting it down instead would cost seconds: its processes would start, and import libraries, for each run.
    """
    found: dict[int, tuple[str, str, str]] = {}
    for package in LOKY:
        executor = member(f"{package}.reusable_executor", "_executor")
        base = member(f"{package}.process_executor", "ProcessPoolExecutor")
        if executor is None or base is None or base not in type(executor).__mro__:
            continue
        state = state_of(executor)
        queue = state.get("_call_queue")
        manager, feeder = state.get("_executor_manager_thread"), queue and state_of(queue).get("_thread")
        is_idle = not state.get("_pending_work_items") and not (queue and state_of(queue).get("_buffer"))
        waiting = _code(threading.Condition.wait)
        for ident, frame in frames.items():
            owner = known.get(ident)
            is_waiting = (owner is manager and _module(frame) == "selectors") or frame.f_code is waiting
            if owner is not None and (owner is manager or owner is feeder):
                found[ident] = (FORGETS if is_idle and is_waiting else PASSES, *JOBLIB)
    return found


def _judge_worker(frame: FrameType, worker: object) -> tuple[str, str, str]:
    """Judge a thread of a ThreadPoolExecutor. It waits for work if nothing but `_worker` itself runs in it."""
    if frame.f_code is not worker:
        return (PASSES, *WORKING)
    executor, queue = executor_of(frame)
    if type(queue) is not member("queue", "SimpleQueue"):
        return (STAYS, *WORKING)
    if executor is None:
        return (PASSES, *LIVE)
    if type(executor) is not member("concurrent.futures.thread", "ThreadPoolExecutor"):
        return (STAYS, f"an open {type_name(executor)}", "Call its `shutdown()` after use.")
    return (ENDS if queue.empty() else PASSES, *WORKING)


def _is_over(thread: threading.Thread | None) -> bool:
    """Return whether the function of a thread has returned: `run` forgets it then."""
    return thread is not None and "_target" not in state_of(thread)


def _outer(frame: FrameType | None) -> list[FrameType]:
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _module(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__") if type(frame.f_globals) is dict else None
    return name if type(name) is str else ""


def _code(function: object) -> object | None:
    return function.__code__ if type(function) is FunctionType else None


def _name(thread: threading.Thread | None) -> str:
    name = state_of(thread).get("_name") if thread is not None else None
    return f" ('{printable(name)[:NAME_LIMIT]}')" if type(name) is str else ""
