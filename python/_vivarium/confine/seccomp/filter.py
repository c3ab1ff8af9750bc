"""Filters system calls: listed ones are allowed, dangerous ones get EPERM, all others ENOSYS."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import socket
import struct
from collections.abc import Iterable

from _vivarium.confine import kernel
from _vivarium.confine.seccomp.calls import ALLOWED, ATTRIBUTES, OWNERS, PRETENDED, REFUSED, TIMES

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_FIRST_X32_CALL = 0x40000000

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_GREATER, _JUMP_AT_LEAST, _JUMP_ANY_BIT = 0x15, 0x25, 0x35, 0x45
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000

_SET_MODE_FILTER = 1
_ALL_THREADS = 1

_NEW_NAMESPACES = 0x7E020000
_CLONE_PARENT = 0x8000  # the child's parent would be a process outside of the session
_PRIO_PROCESS = 0
_CALLER = 0  # as the number of a process
_PID_1 = 1
_SHARED_ANONYMOUS = 0x21
_SOCKET_TYPE_MASK = 0xF
_FICLONE = 0x40049409
_F_SETLEASE = 1024
_S_ISUID = 0o4000
_CREATING = os.O_CREAT | (os.O_TMPFILE & ~os.O_DIRECTORY)
# The place of the mode among the arguments, and that of the flags that say whether there is one.
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
_OPENING = {"open": (1, 2), "openat": (2, 3)}

# TCGETS TCSETS TCSETSW TCSETSF TIOCGPGRP TIOCSPGRP SIOCOUTQ TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX FIOASYNC
_IOCTLS = (0x5401, 0x5402, 0x5403, 0x5404, 0x540F, 0x5410, 0x5411, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x5452)

# SET_PDEATHSIG GET_PDEATHSIG GET_DUMPABLE GET_KEEPCAPS SET_NAME GET_NAME GET_SECCOMP CAPBSET_READ GET_TSC
# GET_SECUREBITS SET_TIMERSLACK GET_TIMERSLACK SET_NO_NEW_PRIVS GET_NO_NEW_PRIVS SET_THP_DISABLE
# GET_THP_DISABLE SVE_GET_VL SET_VMA
_PRCTLS = (1, 2, 3, 7, 15, 16, 21, 23, 25, 27, 29, 30, 38, 39, 41, 42, 51, 0x53564D41)

# Others would let a session make the kernel load protocol modules.
_INTERNET_TYPES = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW)
_INTERNET_PROTOCOLS = (0, socket.IPPROTO_ICMP, socket.IPPROTO_TCP, socket.IPPROTO_UDP, socket.IPPROTO_ICMPV6)

Instruction = tuple[int, int, int, int]


@functools.cache
def assemble(
    *,
    shared_memory: bool,
    families: tuple[int, ...],
    own_pids: bool = False,
    own_files: bool = True,
    refused: tuple[str, ...] = (),
    closing: tuple[str, ...] = (),
) -> bytes:
    """Return the filter program.

    Without `shared_memory` (there is no memory cgroup to count it), memory that RLIMIT_DATA does not count is refused.
    `families` are the allowed socket families. Connected pairs are always possible.
    With `own_pids` (a pid namespace) a process can change limits and priority of all others but pid 1, else its own.
    Without `own_files` (those of the host belong to the same user) the metadata of files cannot be changed.
    `refused` are calls that would be allowed otherwise. `closing` are calls that a process needs to close more walls.
    """
    program = _check_architecture()
    rules = {**_argument_rules(shared_memory, families, own_pids), **({} if own_files else _metadata_rules())}
    for name, body in {**rules, **{name: [_fail(errno.EPERM)] for name in refused}}.items():
        if name in kernel.SYSCALLS:
            program += [(_JUMP_EQUAL, 0, len(body), kernel.SYSCALLS[name]), *body]
    allowed = [*ALLOWED, *closing, *(["memfd_create"] if shared_memory else [])]
    for first, last in _ranges(allowed):
        program += [(_JUMP_AT_LEAST, 0, 2, first), (_JUMP_GREATER, 1, 0, last), _return(_ALLOW)]
    for first, last in _ranges([*REFUSED, "memfd_create"]):
        program += [(_JUMP_AT_LEAST, 0, 2, first), (_JUMP_GREATER, 1, 0, last), _fail(errno.EPERM)]
    program.append(_fail(errno.ENOSYS))  # not KILL: libc falls back to an older call
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def install(program: bytes) -> None:
    """Install the filter for every thread of this process; needs `no_new_privileges` first."""
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    thread = kernel.syscall("seccomp", _SET_MODE_FILTER, _ALL_THREADS, header)
    if thread:
        raise OSError(errno.EBUSY, f"seccomp: thread {thread} has a filter of its own")


def _check_architecture() -> list[Instruction]:
    """Kill the process on calls of another architecture, whose numbers differ; then load the number."""
    if kernel.ARCH not in _AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"seccomp: no table for {kernel.ARCH}")
    same = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[kernel.ARCH]), _return(_KILL_PROCESS)]
    program = [*same, (_LOAD, 0, 0, 0)]
    if kernel.ARCH == "x86_64":
        program += [(_JUMP_AT_LEAST, 0, 1, _FIRST_X32_CALL), _return(_KILL_PROCESS)]
    return program


def _argument_rules(shared_memory: bool, families: tuple[int, ...], own_pids: bool) -> dict[str, list[Instruction]]:
    """Return rules for calls that depend on their arguments; each ends in a return."""
    allow = _return(_ALLOW)
    rules = {
        "clone": [_load(0), (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES | _CLONE_PARENT), _fail(errno.EPERM), allow],
        "clone3": [_fail(errno.ENOSYS)],  # its flags are in memory, which a filter cannot read
        # Path.copy of Python 3.14 fails on ENOTTY, and falls back to a plain copy on EOPNOTSUPP.
        "ioctl": [
            *[_load(1), (_JUMP_EQUAL, 0, 1, _FICLONE), _fail(errno.EOPNOTSUPP)],
            *_require(1, _IOCTLS, errno.ENOTTY),
            allow,
        ],
        "prctl": [*_require(0, _PRCTLS, errno.EPERM), allow],
        "prlimit64": [*_if_null(2, allow), *_of_session(0, own_pids), allow],  # without new limits it only reads
        "setpriority": [*_require(0, (_PRIO_PROCESS,), errno.EPERM), *_of_session(1, own_pids), allow],
        "sched_setaffinity": [*_of_session(0, own_pids), allow],
        "socket": [
            *_require(0, families, errno.EAFNOSUPPORT),
            *[_load(0), (_JUMP_EQUAL, 0, 1, socket.AF_UNIX), allow],
            *_require(1, _INTERNET_TYPES, errno.ESOCKTNOSUPPORT, mask=_SOCKET_TYPE_MASK),
            *_require(2, _INTERNET_PROTOCOLS, errno.EPROTONOSUPPORT),
            allow,
        ],
        "socketpair": [*_require(0, (socket.AF_UNIX,), errno.EAFNOSUPPORT), *_pair_types(families), allow],
    }
    rules.update(_set_uid_rules())
    if not shared_memory:
        shared = [_load(3), (_AND, 0, 0, _SHARED_ANONYMOUS), (_JUMP_EQUAL, 0, 1, _SHARED_ANONYMOUS)]
        rules["mmap"] = [*shared, _fail(errno.ENOMEM), allow]
    return rules


def _set_uid_rules() -> dict[str, list[Instruction]]:
    """Return rules that keep a session from making programs that run as the owner of a shared directory."""
    allow = _return(_ALLOW)

    def refuse(mode: int) -> list[Instruction]:
        return [_load(mode), (_JUMP_ANY_BIT, 0, 1, _S_ISUID), _fail(errno.EPERM), allow]

    rules = {name: refuse(mode) for name, mode in _MODES.items()}
    for name, (flags, mode) in _OPENING.items():
        rules[name] = [_load(flags), (_JUMP_ANY_BIT, 1, 0, _CREATING), allow, *refuse(mode)]
    return {**rules, "openat2": [_fail(errno.ENOSYS)]}  # its mode is in memory, which a filter cannot read


def _metadata_rules() -> dict[str, list[Instruction]]:
    """Return rules that keep a session from changing files that it may not open, or only read."""
    # A lease on a file that may only be read holds up everybody who opens it to write.
    lease = [_load(1), (_JUMP_EQUAL, 0, 1, _F_SETLEASE), _fail(errno.EACCES), _return(_ALLOW)]
    rules = {"fcntl": lease}
    for names, code in ((PRETENDED, 0), (OWNERS, errno.EPERM), (ATTRIBUTES, errno.EOPNOTSUPP)):
        rules.update({name: [_fail(code)] for name in names})
    for name, (path, times) in TIMES.items():
        rules[name] = [*_if_null(path, _fail(0)), *_if_null(times, _fail(errno.EACCES)), _fail(0)]
    return rules


def _of_session(index: int, own_pids: bool) -> list[Instruction]:
    """Refuse the number of a process that is not of the session. A filter does not know which one is the caller's."""
    if own_pids:
        return [_load(index), (_JUMP_EQUAL, 0, 1, _PID_1), _fail(errno.EPERM)]
    return _require(index, (_CALLER,), errno.EPERM)


def _if_null(index: int, end: Instruction) -> list[Instruction]:
    """End the program if a pointer is null; otherwise continue after the block."""
    low, high = _load(index), (_LOAD, 0, 0, 20 + 8 * index)
    return [low, (_JUMP_EQUAL, 0, 3, 0), high, (_JUMP_EQUAL, 0, 1, 0), end]


def _pair_types(families: tuple[int, ...]) -> list[Instruction]:
    """Refuse datagram pairs where unix sockets are refused: one half can send to any path."""
    if socket.AF_UNIX in families:
        return []
    connected = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
    return _require(1, connected, errno.ESOCKTNOSUPPORT, mask=_SOCKET_TYPE_MASK)


def _require(index: int, values: Iterable[int], code: int, *, mask: int | None = None) -> list[Instruction]:
    """Fail with `code` unless the argument is one of `values`; otherwise continue after the block."""
    values = [int(value) for value in values]
    masked = [] if mask is None else [(_AND, 0, 0, mask)]
    tests = [(_JUMP_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [_load(index), *masked, *tests, _fail(code)]


def _load(index: int) -> Instruction:
    """Load the low half of an argument: each tested one is an int in the kernel, or has its flags there."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _return(action: int) -> Instruction:
    """End the program with `action`."""
    return (_RETURN, 0, 0, action)


def _fail(code: int) -> Instruction:
    """End the program; the call is not made. It fails with `code`, or seems to have worked if that is 0."""
    return _return(0x00050000 | code)


def _ranges(names: Iterable[str]) -> list[tuple[int, int]]:
    """Return the numbers of these calls as ranges."""
    ranges: list[tuple[int, int]] = []
    for number in sorted({kernel.SYSCALLS[name] for name in names if name in kernel.SYSCALLS}):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
