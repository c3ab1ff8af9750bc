"""Gives a copy of this process its threads back: a fork copies their memory, and this makes them run there again.

Before the fork, a signal stops each thread while it waits for work in a system call. The kernel then keeps its
registers on its own stack. In the copy, a new thread is made for each, with that stack and the same thread-local
memory. It tells the kernel what the old one had told it, and returns from the signal. To the library, it has just been
woken for nothing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import threading
import time

from _vivarium.confine import kernel
from _vivarium.record import Record
from _vivarium.threads.native import MEMORY, TASKS, NativeThread

STOP_S = 0.05  # a thread that waits is stopped within microseconds, on a busy machine within milliseconds
PAUSE_US = 20
MOST_THREADS = 200
PAGE = 4096
ENTRIES = 0x40  # where the list of stopped threads begins in the page of data
WAITS = frozenset({kernel.SYSCALLS.get("futex"), kernel.SYSCALLS.get("epoll_wait")})
SYSCALL = b"\x0f\x05"
# In what the kernel keeps of a stopped thread, in words: of `ucontext_t`.
RAX, RIP = 5 + 13, 5 + 16
# Where the C library keeps the number of a thread, before the head of its list of locks.
TID_BEFORE_LOCKS = 16
LOCKS_BYTES = 24
RSEQ_BYTES = 32
RSEQ_SIGNATURE = 0x53053053
PR_SET_NAME = 15
SA_SIGINFO, SA_RESTART = 4, 0x10000000
CLONE_A_THREAD = 0x3D0F00  # VM FS FILES SIGHAND THREAD SYSVSEM SETTLS PARENT_SETTID CHILD_CLEARTID
FUTEX_WAKE_PRIVATE = 129
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
MAP_PRIVATE_ANONYMOUS = 0x22

# What a stopped thread does: enters itself into the list, and waits until it may go on.
#   data: u32 entered, u32 written, u32 go; then for each thread a pointer to its registers and its descriptor
STOP = (
    b"\x64\x48\x8b\x04\x25\x10\x00\x00\x00"  # mov rax, fs:[16]        its descriptor
    b"\x49\xb8%s"  # mov r8, data
    b"\xb9\x01\x00\x00\x00"  # mov ecx, 1
    b"\xf0\x41\x0f\xc1\x08"  # lock xadd [r8], ecx     its place in the list
    b"\x48\xc1\xe1\x04"  # shl rcx, 4
    b"\x49\x89\x54\x08\x40"  # mov [r8+rcx+0x40], rdx  its registers, the third argument of a handler
    b"\x49\x89\x44\x08\x48"  # mov [r8+rcx+0x48], rax
    b"\xf0\x41\xff\x40\x04"  # lock inc dword [r8+4]
    b"\x41\x8b\x40\x08"  # wait: mov eax, [r8+8]   may it go on?
    b"\x85\xc0"  # test eax, eax
    b"\x75\x17"  # jnz out
    b"\x49\x8d\x78\x08"  # lea rdi, [r8+8]
    b"\xbe\x80\x00\x00\x00"  # mov esi, 128            FUTEX_WAIT_PRIVATE
    b"\x31\xd2"  # xor edx, edx
    b"\x4d\x31\xd2"  # xor r10, r10
    b"\xb8\xca\x00\x00\x00"  # mov eax, 202            futex
    b"\x0f\x05"  # syscall
    b"\xeb\xe1"  # jmp wait
    b"\xc3"  # out: ret
)
# begin(flags, stack, where its number goes, descriptor, calls): makes a thread that makes the calls and then goes on as
# the registers on its stack say. A call is five words: number and arguments; a negative number ends the list.
BEGIN = (
    b"\x41\x54"  # push r12
    b"\x4d\x89\xc4"  # mov r12, r8             the calls; a new thread inherits the registers
    b"\x49\x89\xd2"  # mov r10, rdx
    b"\x49\x89\xc8"  # mov r8, rcx
    b"\xb8\x38\x00\x00\x00"  # mov eax, 56             clone
    b"\x0f\x05"  # syscall
    b"\x48\x85\xc0"  # test rax, rax
    b"\x74\x03"  # jz next
    b"\x41\x5c"  # pop r12
    b"\xc3"  # ret
    b"\x49\x8b\x04\x24"  # next: mov rax, [r12]
    b"\x48\x85\xc0"  # test rax, rax
    b"\x78\x1c"  # js done
    b"\x49\x8b\x7c\x24\x08"  # mov rdi, [r12+8]
    b"\x49\x8b\x74\x24\x10"  # mov rsi, [r12+16]
    b"\x49\x8b\x54\x24\x18"  # mov rdx, [r12+24]
    b"\x4d\x8b\x54\x24\x20"  # mov r10, [r12+32]
    b"\x0f\x05"  # syscall
    b"\x49\x83\xc4\x28"  # add r12, 40
    b"\xeb\xdb"  # jmp next
    b"\xb8\x0f\x00\x00\x00"  # done: mov eax, 15       rt_sigreturn
    b"\x0f\x05"  # syscall
)


class _Action(ctypes.Structure):
    """`struct sigaction` of glibc."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Stopped(Record):
    """A thread that has been stopped."""

    tid: int
    name: bytes
    registers: int
    descriptor: int
    locks: int


class Revival:
    """Stops threads of this process for a fork, and lets them go on; in the copy, makes them run again."""

    def __init__(self) -> None:
        self._stopped: list[_Stopped] = []
        self._code = self._data = 0
        self._is_broken = False
        self._kept: list[object] = []  # what new threads read while they begin

    def is_possible(self) -> bool:
        """Return whether this is a machine and a C library that this code knows, and nobody uses our signal."""
        if self._is_broken or kernel.ARCH != "x86_64":
            return False
        try:
            ctypes.c_uint.in_dll(_LIBC, "__nptl_nthreads")
        except ValueError:
            return False
        return _handler() in (None, self._code)

    def stop(self, threads: list[NativeThread]) -> None:
        """Stop threads that wait. Raises OSError if one of them does not, and then all of them go on."""
        self._prepare()
        for place in range(3):
            self._word(place).value = 0
        try:
            for thread in threads:
                _HELD.syscall(kernel.SYSCALLS["tgkill"], os.getpid(), thread.tid, _SIGNAL)
            self._await(len(threads))
            locks = {thread.tid: thread.descriptor for thread in threads}
            self._stopped = [self._entry(place, locks) for place in range(len(threads))]
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Let stopped threads go on."""
        self._stopped = []
        self._word(2).value = 1
        kernel.syscall("futex", self._data + 8, FUTEX_WAKE_PRIVATE, 0x7FFFFFFF, 0, 0, 0)

    def claim(self) -> None:
        """In the copy, right after the fork: keep the C library from giving the stacks to other threads."""
        for thread in self._stopped:
            ctypes.c_int32.from_address(thread.locks - TID_BEFORE_LOCKS).value = thread.tid

    def revive(self) -> None:
        """In the copy: make the stopped threads run. Raises OSError if the kernel makes no more threads."""
        if not self._stopped:
            return
        _make_a_thread()
        begin = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_void_p] * 5)(self._code + len(STOP) + 6)
        threads = ctypes.c_uint.in_dll(_LIBC, "__nptl_nthreads")
        for thread in self._stopped:
            number = thread.locks - TID_BEFORE_LOCKS
            threads.value += 1  # else the first of them to end would end the process as its last thread
            result = begin(CLONE_A_THREAD, thread.registers, number, thread.descriptor, self._calls(thread))
            if result < 0:
                raise OSError(-result, os.strerror(-result))
        self._stopped = []

    def _prepare(self) -> None:
        if self._code == 0:
            anonymous = (MAP_PRIVATE_ANONYMOUS, -1, 0)
            self._data = kernel.syscall("mmap", 0, PAGE, PROT_READ | PROT_WRITE, *anonymous)
            code = kernel.syscall("mmap", 0, PAGE, PROT_READ | PROT_WRITE, *anonymous)
            text = STOP.replace(b"%s", self._data.to_bytes(8, "little")) + BEGIN
            ctypes.memmove(code, text, len(text))
            kernel.syscall("mprotect", code, PAGE, PROT_READ | PROT_EXEC)
            self._code = code
        action = _Action(handler=self._code, flags=SA_SIGINFO | SA_RESTART)
        ctypes.memset(ctypes.addressof(action.mask), 0xFF, ctypes.sizeof(action.mask))
        _LIBC.sigaction(_SIGNAL, ctypes.byref(action), None)

    def _await(self, count: int) -> None:
        until = time.monotonic() + STOP_S
        while self._word(1).value < count:
            if time.monotonic() > until:
                self._is_broken = True  # the signal may still come, so the list cannot be used again
                raise OSError(errno.EBUSY, "a thread does not stop")
            _HELD.usleep(PAUSE_US)

    def _entry(self, place: int, locks: dict[int, int]) -> _Stopped:
        registers, descriptor = (self._data_word(ENTRIES + 16 * place + at) for at in (0, 8))
        tid = next((tid for tid, head in locks.items() if 0 < head - descriptor < PAGE), 0)
        known = ctypes.c_int32.from_address(locks.get(tid, 0) - TID_BEFORE_LOCKS).value if tid else -1
        if known != tid or not _was_waiting(registers):
            raise OSError(errno.EBUSY, "a thread was working")
        with open(f"{TASKS}/{tid}/comm", "rb") as file:
            return _Stopped(tid, file.read().strip(), registers, descriptor, locks[tid])

    def _calls(self, thread: _Stopped) -> int:
        """Return the address of what a new thread tells the kernel about itself."""
        name = ctypes.create_string_buffer(thread.name)
        calls = [
            ("prctl", PR_SET_NAME, ctypes.addressof(name), 0, 0),
            ("set_robust_list", thread.locks, LOCKS_BYTES, 0, 0),
        ]
        offset = _rseq_offset()
        if offset is not None:
            calls.append(("rseq", thread.descriptor + offset, RSEQ_BYTES, 0, RSEQ_SIGNATURE))
        words = [word for call, *rest in calls for word in (kernel.SYSCALLS[call], *rest)]
        listed = (ctypes.c_int64 * (len(words) + 1))(*words, -1)
        self._kept += [name, listed]
        return ctypes.addressof(listed)

    def _word(self, place: int) -> ctypes.c_uint32:
        return ctypes.c_uint32.from_address(self._data + 4 * place)

    def _data_word(self, at: int) -> int:
        return ctypes.c_uint64.from_address(self._data + at).value


_LIBC = ctypes.CDLL(None, use_errno=True)
_HELD = ctypes.PyDLL(
    None
)  # its calls keep the interpreter locked: a thread must not be stopped when it has just got it
_SIGNAL = int(signal.SIGRTMAX) - 3


def is_waiting(thread: NativeThread) -> bool:
    """Return whether a thread is blocked in a system call in which threads wait for work."""
    try:
        with open(f"{TASKS}/{thread.tid}/syscall", encoding="ascii") as file:
            number = file.read().split(None, 1)[0]
    except (OSError, IndexError):  # it has ended, or the kernel does not tell
        return False
    return number.isdigit() and int(number) in WAITS


def name_of(thread: NativeThread) -> str:
    """Return the name that a thread has given itself, or an empty text."""
    try:
        with open(f"{TASKS}/{thread.tid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _was_waiting(registers: int) -> bool:
    """Return whether a signal has found a thread in a system call: one that is to be repeated, or was cut short."""
    rax = ctypes.c_int64.from_address(registers + 8 * RAX).value
    rip = ctypes.c_uint64.from_address(registers + 8 * RIP).value
    code = _read_code(rip - 2, 4)
    return (code[2:] == SYSCALL and rax in WAITS) or (code[:2] == SYSCALL and rax == -errno.EINTR)


def _read_code(address: int, size: int) -> bytes:
    """Read memory that may not be there. Raises OSError then."""
    memory = os.open(MEMORY, os.O_RDONLY)
    try:
        return os.pread(memory, size, address)
    finally:
        os.close(memory)


def _handler() -> int | None:
    """Return who handles our signal, None for nobody."""
    action = _Action()
    _LIBC.sigaction(_SIGNAL, None, ctypes.byref(action))
    return action.handler


def _rseq_offset() -> int | None:
    """Return where in its descriptor a thread shares data with the scheduler. The C library knows since 2.35."""
    try:
        size = ctypes.c_uint.in_dll(_LIBC, "__rseq_size").value
        return ctypes.c_ssize_t.in_dll(_LIBC, "__rseq_offset").value if 0 < size <= RSEQ_BYTES else None
    except ValueError:
        return None


def _make_a_thread() -> None:
    """Have the C library know that this process has threads: it saves itself locks while there are none."""
    thread = threading.Thread(target=int, name="revival")
    thread.start()
    thread.join()
