"""Runs parts of tests in children that may confine themselves, and returns what they returned or raised."""

from __future__ import annotations

import json
import os
import traceback
import unittest
from collections.abc import Callable
from typing import Any

from _vivarium.confine import identity, kernel

NOBODY = 65534
SESSION_UID = 1_900_000_001
NAMESPACES = kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP


class Failed(AssertionError):
    """The child raised; the text is its traceback."""


def in_child(work: Callable[[], Any]) -> Any:
    """Run `work` in a fork. Returns its result by way of JSON; raises `Failed` with its traceback or signal."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        try:
            answer = {"result": work()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        os.write(write_end, json.dumps(answer).encode())
        os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as answers:
        text = answers.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not text:
        return {"signal": -status}
    answer = json.loads(text)
    if "error" in answer:
        raise Failed(answer["error"])
    return answer["result"]


def in_namespaces(work: Callable[[], Any], uid: int) -> Any:
    """Run `work` as pid 1 of new namespaces, under `uid` if that is another user."""
    return in_child(lambda: _enter(work, uid))


def identities() -> list[int]:
    """Return the user ids that tests can take: several as root, else only our own."""
    return [0, SESSION_UID, NOBODY] if os.getuid() == 0 else [os.getuid()]


def needs_root(test: Any) -> Any:
    """Skip a test that only root can run, and say so."""
    return unittest.skipUnless(os.getuid() == 0, "needs root")(test)


def errno_of(call: Callable[[], Any]) -> int:
    """Return the error number with which `call` is refused; 0 if it works."""
    try:
        call()
    except OSError as error:
        return error.errno or -1
    return 0


def _enter(work: Callable[[], Any], uid: int) -> Any:
    if uid == 0:
        kernel.unshare(NAMESPACES)
        return in_child(work)
    if os.getuid() != uid:
        identity.become(uid, uid)
        kernel.set_dumpable(True)
    gid = os.getgid()
    kernel.unshare(kernel.NEWUSER | NAMESPACES)
    identity.map_ids(1000, uid, gid)
    return in_child(work)
