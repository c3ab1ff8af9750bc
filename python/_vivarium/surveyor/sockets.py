"""How much memory the kernel keeps for the sockets of an enclosure: what was sent and has not been read.

No process limit covers this memory. `sock_diag` reports it for every socket of a network namespace, including sockets
that no process has open because they are being passed through another socket.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterator

from _vivarium.confine import kernel
from _vivarium.confine.limits import DATAGRAMS
from _vivarium.record import Record
from _vivarium.surveyor.descriptors import socket_inodes
from _vivarium.surveyor.processes import read

# How long a meter is kept that nobody asks.
KEPT_S = 10.0
_USUAL_MOST = 212_992
_SOCK_DIAG = 4
_HEAD = struct.Struct("IHHII")
_ATTRIBUTE = struct.Struct("HH")
_BY_FAMILY, _REQUEST_DUMP, _ERROR, _DONE = 20, 0x301, 2, 3
_READ = 1 << 18
_ALL = 0xFFFFFFFF
# What is asked for of a unix socket: its other end, what waits in it, its memory. Then the numbers of the answers.
_SHOW = 0x4 | 0x10 | 0x20
_PEER, _WAITING, _MEMORY = 2, 4, 5
_INTERNET_MEMORY = 7
# Which sizes of a socket are memory in use: received, sent, reserved, options, received while it was busy.
_IN_USE = (0, 2, 4, 6, 7)
_INTERNET = tuple((family, kind) for family in (socket.AF_INET, socket.AF_INET6) for kind in (6, 17))  # TCP and UDP


class Found(Record):
    """One socket."""

    inode: int
    used: int
    is_datagram: bool = False
    peer: int = 0
    waiting: int = 0  # to be read from it; of datagrams only the first


class Sockets:
    """Measures the sockets of enclosures, by their network namespaces."""

    def __init__(self) -> None:
        self._own = _namespace("self")
        self._meters: dict[int, Meter] = {}

    def used_bytes(self, pids: list[int]) -> int:
        """Return the memory of all sockets of an enclosure, whose processes are these."""
        for pid in pids:
            try:
                return self._used_bytes(_namespace(pid), pid, pids)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # it has just ended, or it is the pid 1
        return 0

    def _used_bytes(self, namespace: int, pid: int, pids: list[int]) -> int:
        # The namespace of the machine holds other sockets as well.
        inodes = socket_inodes(pids) if namespace == self._own else None
        count = len(inodes) if inodes is not None else _count(pid)
        if count == 0:
            return 0
        try:
            return self._meter(namespace, pid).used_bytes(inodes)
        except OSError:  # a kernel that does not tell: each is taken to be full
            return count * _most_bytes()

    def _meter(self, namespace: int, pid: int) -> Meter:
        now = time.monotonic()
        # A meter keeps its namespace alive, so a number cannot come to mean another one.
        self._meters = {each: meter for each, meter in self._meters.items() if now - meter.asked_s < KEPT_S}
        if namespace not in self._meters:
            self._meters[namespace] = Meter(_open_channel(None if namespace == self._own else pid))
        self._meters[namespace].asked_s = now
        return self._meters[namespace]


class Meter:
    """Asks in one network namespace."""

    def __init__(self, channel: socket.socket) -> None:
        self.asked_s = 0.0
        self._channel = channel

    def used_bytes(self, inodes: set[int] | None) -> int:
        """Return the memory of these sockets, or of all in the namespace."""
        found = list(self._sockets())
        known = {one.inode for one in found}
        return sum(_bytes_of(one, known) for one in found if inodes is None or one.inode in inodes)

    def _sockets(self) -> Iterator[Found]:
        unix = struct.pack("BBHIIIII", socket.AF_UNIX, 0, 0, _ALL, 0, _SHOW, _ALL, _ALL)
        for body in _ask(self._channel, unix):
            _, kind, _, _, inode = struct.unpack_from("BBBBI", body)
            parts = _attributes(body, 16)
            yield Found(
                inode=inode,
                used=_in_use(parts.get(_MEMORY, b"")),
                is_datagram=kind == socket.SOCK_DGRAM,
                peer=int.from_bytes(parts.get(_PEER, b""), "little"),
                waiting=int.from_bytes(parts.get(_WAITING, b"")[:4], "little"),
            )
        for family, kind in _INTERNET:
            wanted = struct.pack("BBBBI48x", family, kind, 1 << _INTERNET_MEMORY - 1, 0, _ALL)
            for body in _ask(self._channel, wanted):
                used = _in_use(_attributes(body, 72).get(_INTERNET_MEMORY, b""))
                yield Found(inode=int.from_bytes(body[68:72], "little"), used=used)


def _open_channel(pid: int | None) -> socket.socket:
    """Open a channel to the kernel in the network namespace of a process, or in our own."""
    if pid is None:
        return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG)
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()  # which need not come back: an ordinary user cannot
        if child == 0:
            try:
                kernel.setns(namespace, kernel.NEWNET)
                with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as channel:
                    socket.send_fds(theirs, [b"."], [channel.fileno()])
            finally:
                os._exit(0)
        os.close(namespace)
        theirs.close()
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        os.waitpid(child, 0)
    if not fds:
        raise OSError(errno.ENOTSUP, "no channel in the namespace")
    return socket.socket(fileno=fds[0])


def _ask(channel: socket.socket, wanted: bytes) -> Iterator[bytes]:
    """Yield the answers to one question."""
    channel.send(_HEAD.pack(_HEAD.size + len(wanted), _BY_FAMILY, _REQUEST_DUMP, 0, 0) + wanted)
    is_done = False
    problem = 0
    while not is_done:  # all of them are read, or they would answer the next question
        data = channel.recv(_READ)
        while data:
            length, kind, _, _, _ = _HEAD.unpack_from(data)
            if kind == _ERROR:
                problem = -struct.unpack_from("i", data, _HEAD.size)[0]
            elif kind != _DONE:
                yield data[_HEAD.size : length]
            is_done = is_done or kind in (_DONE, _ERROR)
            data = data[_aligned(length) :]
    if problem:
        raise OSError(problem, os.strerror(problem))


def _attributes(body: bytes, start: int) -> dict[int, bytes]:
    found = {}
    while start + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, start)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = body[start + _ATTRIBUTE.size : start + length]
        start += _aligned(length)
    return found


def _in_use(sizes: bytes) -> int:
    numbers = struct.unpack(f"{len(sizes) // 4}I", sizes)
    return sum(numbers[index] for index in _IN_USE if index < len(numbers))


def _aligned(length: int) -> int:
    return length + 3 & ~3


def _count(pid: int) -> int:
    """Return how many sockets there are in the network namespace of a process, open or not."""
    text = read(f"/proc/{pid}/net/sockstat")
    if not text:
        raise ProcessLookupError
    return int(text.split()[2])


def _namespace(pid: int | str) -> int:
    return os.stat(f"/proc/{pid}/ns/net").st_ino


def _bytes_of(found: Found, known: set[int]) -> int:
    """Return what counts for a socket. What it has sent counts for it as long as it is there."""
    if found.is_datagram:  # of what others have sent to it and were closed, only the first is told
        return found.used + (_most_bytes() * (DATAGRAMS + 1) if found.waiting else 0)
    return found.used + (found.waiting if found.peer not in known else 0)


def _most_bytes() -> int:
    """Return what a unix socket can keep at most: the kernel doubles the size that is asked for."""
    try:
        return 2 * int(read("/proc/sys/net/core/wmem_max") or _USUAL_MOST)
    except OSError:
        return 2 * _USUAL_MOST
