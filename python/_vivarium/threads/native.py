"""Finds out which library started each thread of this process, from what the C library keeps about the thread."""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_right

from _vivarium.confine import kernel
from _vivarium.record import Record
from _vivarium.values.hints import Any

TASKS = "/proc/self/task"
MEMORY = "/proc/self/mem"
WORD = 8
# glibc keeps the start routine of a thread, and then its argument, this close behind the head of its list of locks.
DESCRIPTOR_BYTES = 0x400
# A thread that waits for work is this close to its beginning. One that works has more frames on its stack.
IDLE_STACK_BYTES = 1024
START_ROUTINE_BYTES = 0x1000
CXX_RUNTIMES = ("libstdc++", "libc++")


class NativeThread(Record):
    """What is known about a thread."""

    tid: int
    descriptor: int  # an address in the structure that the C library keeps for the thread
    start: int  # the address of the function that it runs, 0 if that is unknown
    library: str  # the file that started it, or an empty text


class NativeThreads:
    """Looks at threads. A thread that was seen before is recognised by its start routine and argument."""

    def __init__(self) -> None:
        self.libraries = Libraries()
        self._place: int | None = None
        self._known: dict[int, tuple[list[int], NativeThread]] = {}

    def others(self) -> list[NativeThread]:
        """Return all threads but the main one. Raises OSError where they cannot be listed."""
        main = os.getpid()
        tids = [tid for tid in map(int, os.listdir(TASKS)) if tid != main]
        self._known = {tid: self._known[tid] for tid in tids if tid in self._known}
        try:
            memory = os.open(MEMORY, os.O_RDONLY)
        except OSError:
            return [NativeThread(tid, 0, 0, "") for tid in tids]
        try:
            return [self._look_at(tid, memory) for tid in tids]
        finally:
            os.close(memory)

    def python(self) -> str:
        """Return the file that holds the interpreter."""
        return self.libraries.at(_address(ctypes.pythonapi.Py_IsInitialized))

    def _look_at(self, tid: int, memory: int) -> NativeThread:
        head, size = ctypes.c_uint64(), ctypes.c_uint64()
        try:
            kernel.syscall("get_robust_list", tid, ctypes.byref(head), ctypes.byref(size))
            known = self._known.get(tid)
            if known is not None and _read(memory, head.value + (self._place or 0) * WORD, 2 * WORD) == known[0]:
                return known[1]
            words = _read(memory, head.value, DESCRIPTOR_BYTES)
        except OSError:  # it has ended, or its C library keeps no such list
            return NativeThread(tid, head.value, 0, "")
        place = self._start_routine(words)
        if place is None:  # not the structure that we know
            return NativeThread(tid, head.value, 0, "")
        library = self.libraries.at(words[place])
        if os.path.basename(library).startswith(CXX_RUNTIMES):
            library = self._starter_of(words[place + 1], memory)
        found = NativeThread(tid, head.value, words[place], library)
        self._known[tid] = (words[place : place + 2], found)
        return found

    def _start_routine(self, words: list[int]) -> int | None:
        """Return the place of the start routine, or None if that cannot be told. It is the same for all threads."""
        if not words:  # a thread that has just begun has told the kernel nothing yet
            return None
        for is_fresh in (False, True):
            if is_fresh:
                self.libraries.read()
            if self._place is None:
                self._place = self._find_place(words)
            if self._place is not None and self.libraries.is_code(words[self._place]):
                return self._place
        return None

    def _find_place(self, words: list[int]) -> int | None:
        """Return the place of the only pointer to code. One to the C library itself may be left from another thread."""
        own = self.libraries.at(_address(ctypes.pythonapi.getpid))
        code = {place: word for place, word in enumerate(words[:-1]) if self.libraries.is_code(word)}
        places = [place for place, word in code.items() if self.libraries.at(word) != own] or list(code)
        return places[0] if len(places) == 1 else None

    def _starter_of(self, state: int, memory: int) -> str:
        """Return who started a `std::thread`: the library with the virtual table of the state that it was given."""
        try:
            table = _read(memory, state, WORD)
        except OSError:
            return ""
        return self.libraries.at(table[0]) if table else ""


class Libraries:
    """Where files are mapped. Libraries are loaded at any time, and rarely unloaded."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._mappings: list[tuple[int, bool, str]] = []

    def read(self) -> None:
        """Take note of what is mapped now."""
        found: list[tuple[int, int, bool, str]] = []
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].startswith("/"):
                    start, end = fields[0].split("-")
                    found.append((int(start, 16), int(end, 16), "x" in fields[1], fields[5].rstrip("\n")))
        self._starts = [start for start, *_ in found]
        self._mappings = [(end, is_code, path) for _, end, is_code, path in found]

    def at(self, address: int) -> str:
        """Return the file that is mapped at an address, or an empty text."""
        if self._find(address) is None:
            self.read()
        found = self._find(address)
        return "" if found is None else found[1]

    def is_code(self, address: int) -> bool:
        """Return whether an address is known to lie in the code of a library."""
        found = self._find(address)
        return found is not None and found[0]

    def paths(self, prefix: str) -> list[str]:
        """Return the files whose names begin like that."""
        self.read()
        return sorted({path for _, _, path in self._mappings if os.path.basename(path).startswith(prefix)})

    def _find(self, address: int) -> tuple[bool, str] | None:
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        end, is_code, path = self._mappings[index]
        return (is_code, path) if address < end else None


def count() -> int | None:
    """Return the number of threads, or None where that cannot be seen."""
    try:
        return os.stat(TASKS).st_nlink - 2  # listing them takes ten times as long
    except OSError:
        return None


def is_idle(thread: NativeThread) -> bool:
    """Return whether a thread waits for work: blocked in a futex, a few frames away from its beginning."""
    try:
        with open(f"{TASKS}/{thread.tid}/syscall", encoding="ascii") as file:
            number, *fields = file.read().split()
        if number != str(kernel.SYSCALLS.get("futex")) or len(fields) < 2:
            return False
        memory = os.open(MEMORY, os.O_RDONLY)
        try:
            stack = _read(memory, int(fields[-2], 16), IDLE_STACK_BYTES)
        finally:
            os.close(memory)
    except (OSError, ValueError):  # it has ended, or the kernel does not tell
        return False
    return any(thread.start < word < thread.start + START_ROUTINE_BYTES for word in stack)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _read(memory: int, address: int, size: int) -> list[int]:
    """Read words of memory. Another thread may give it back at any moment, so it is not read through a pointer."""
    if not 0 < address < 1 << 63:
        return []
    data = os.pread(memory, size, address)
    return list(memoryview(data[: len(data) // WORD * WORD]).cast("Q"))
