"""What every attempt may use. `HOST` (what the attacker knows of the machine) is set before this text.

An attempt is a function that returns whether it got out. Refusals are OSError or MemoryError; whatever else it raises
is a mistake in the attempt and must not pass for containment.
"""

import ctypes
import errno
import gc
import json
import mmap
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

MIB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


class Absent(Exception):
    """This machine or this Python lacks what the attempt attacks."""


def attempt(function=None, **notes):
    """Mark a function as an attempt; the notes are read by the test, not here."""
    return function if function is not None else lambda marked: marked


def report(function):
    """Run an attempt and print the verdict in one word."""
    try:
        word = "ESCAPED" if function() else "CONTAINED"
    except Absent as absent:
        word = f"ABSENT {absent}"
    except (OSError, MemoryError) as error:
        word = f"CONTAINED {type(error).__name__} {error}"
    print(word, flush=True)


def call(name, *arguments):
    """A system call by name; raises OSError."""
    numbers = HOST["syscalls"].get(os.uname().machine, {})
    if name not in numbers:
        raise Absent(f"no system call {name} here")
    result = LIBC.syscall(ctypes.c_long(numbers[name]), *map(_register, arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def _register(value):
    if value is None:
        return ctypes.c_void_p(None)
    if isinstance(value, int):
        return ctypes.c_long(value)
    return ctypes.c_char_p(value) if isinstance(value, bytes) else value


def in_child(function, seconds=5.0):
    """Run a function in a forked child; True when it returned something true. A signal that ends it is a refusal."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = 0 if function() else 1
        except (OSError, MemoryError):
            code = 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if os.waitstatus_to_exitcode(status) == 99:
                raise RuntimeError("the attempt is broken")
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def end_children(pids):
    """Kill and collect."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)


def holds_canary(path):
    """Whether the secret of a planted file can be read."""
    with open(path, "rb") as file:
        return HOST["canary"]["secret"].encode() in file.read(4096)


def greets(family, address, kind=socket.SOCK_STREAM):
    """Whether a listener of the test answers."""
    with socket.socket(family, kind) as client:
        client.settimeout(0.5)
        client.connect(address)
        if kind == socket.SOCK_DGRAM:
            client.send(b"hello")
        return HOST["greeting"].encode() in client.recv(100)


def leave_behind(seconds=20):
    """Start a process that has nothing to do with us any more and is known by its mark."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execv(sys.executable, [sys.executable, "-c", f"import time; time.sleep({seconds})", HOST["mark"]])
    os.waitpid(pid, 0)
