"""Runs programs in real kernels of ipykernel, each program in a kernel of its own.

Reads {"programs": [{"name", "cells", "directory"}], "last", "preload"} as JSON from stdin and writes one line of JSON
for each program: {"name", "cells": [...], "last"}. Kernels are forked from this process, which has loaded the large
libraries: starting each from scratch would take minutes.
"""

import ctypes
import importlib
import json
import os
import re
import signal
import sys
import tempfile
import warnings
from queue import Empty

from ipykernel.kernelapp import IPKernelApp
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.connect import write_connection_file

TOGETHER = 3  # kernels at a time: while one computes, another starts
TIMEOUT_S = 60  # for the start of a kernel
LOOK_AGAIN_S = 1  # whether a kernel that is silent has ended
PR_SET_PDEATHSIG = 1
SHOWN = ("display_data", "execute_result", "update_display_data")


def main():
    """Run everything that stdin asks for."""
    asked = json.load(sys.stdin)
    for name in asked["preload"]:
        importlib.import_module(name)
    if "pandas" in sys.modules:  # it asks whether this is a kernel when it is loaded, which is too early
        sys.modules["pandas"].set_option("display.max_columns", 20)
    running = {}
    for program in asked["programs"]:
        if len(running) == TOGETHER:
            finish(running)
        reader, writer = os.pipe()
        sys.stdout.flush()
        pid = fork()
        if pid == 0:
            os.close(reader)
            with os.fdopen(writer, "w") as out:
                json.dump(attempt(program, asked["last"]), out)
            os._exit(0)
        os.close(writer)
        running[pid] = os.fdopen(reader)
    while running:
        finish(running)


def fork():
    """Fork without a word about threads: those of the libraries have nothing to do yet. A child ends with its parent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return pid


def finish(running):
    """Wait for the program that was started first, and report it."""
    pid = next(iter(running))
    with running.pop(pid) as report:
        print(report.read(), flush=True)
    os.waitpid(pid, 0)


def attempt(program, last):
    """Run a program; a kernel that does not answer is reported as well."""
    try:
        return run(program, last)
    except BaseException as error:
        return {"name": program["name"], "problem": repr(error)}


def run(program, last):
    """Start a kernel, and run the cells and then `last` in it."""
    with tempfile.TemporaryDirectory(prefix="kernel-") as runtime:
        path, _ = write_connection_file(os.path.join(runtime, "c.json"), transport="ipc", ip=os.path.join(runtime, "k"))
        pid = fork()
        if pid == 0:
            serve(program["directory"], path)
        try:
            client = BlockingKernelClient(connection_file=path)
            client.load_connection_file()
            client.start_channels(hb=False)  # on a busy machine a late heartbeat would pass for a dead kernel
            client.wait_for_ready(timeout=TIMEOUT_S)
            cells = [execute(client, cell, pid) for cell in program["cells"]]
            return {"name": program["name"], "cells": cells, "last": execute(client, last, pid)}
        finally:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def serve(directory, path):
    """Become a kernel; never returns."""
    os.setpgid(0, 0)
    os.chdir(directory)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    sys.path[0] = ""
    sys.argv[:] = [os.path.join(directory, "ipykernel_launcher.py"), "-f", path]
    IPKernelApp.launch_instance(argv=["-f", path])
    os._exit(0)


def execute(client, cell, pid):
    """Run a cell and return everything that the kernel says about it. It may have ended, or end before it says more."""
    request = client.execute(cell, allow_stdin=False)
    said = {"stdout": "", "stderr": "", "shown": [], "order": [], "error": None}
    while True:
        try:
            message = client.get_iopub_msg(timeout=LOOK_AGAIN_S)
        except Empty:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return {**said, "error": {"name": "DeadKernel", "value": ""}}
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            said[content["name"]] += content["text"]
            if content["name"] == "stdout" and said["order"][-1:] != ["text"]:
                said["order"].append("text")
        elif kind in SHOWN:
            said["order"].append("result" if kind == "execute_result" else "display")
            said["shown"].append({"kind": said["order"][-1], "data": content["data"]})
        elif kind == "clear_output":
            said.update(stdout="", stderr="", shown=[], order=[])
        elif kind == "error":
            said["error"] = {"name": content["ename"], "value": content["evalue"]}
        elif kind == "status" and content["execution_state"] == "idle":
            break
    for page in reply_to(client, request)["content"].get("payload", ()):
        if page["source"] == "page":  # what a front end shows apart: the answer to `name?`
            said["stdout"] += re.sub(r"(?m)\x1b\[[\d;]*m| +$", "", page["data"]["text/plain"]) + "\n"
            said["order"].append("text")
        elif page["source"] == "ask_exit":
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return said


def reply_to(client, request):
    """Return the reply to a request."""
    while True:
        reply = client.get_shell_msg(timeout=TIMEOUT_S)
        if reply["parent_header"].get("msg_id") == request:
            return reply


main()
