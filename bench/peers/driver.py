"""Drives ipykernel through jupyter_client on command, and says how long each thing took.

Commands and answers are lines of JSON on stdin and stdout. Time is taken here, beside the client: the way to and
from whoever commands is not counted.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

TIMEOUT_S = 120


class Peer:
    """One kernel and its client."""

    def __init__(self) -> None:
        self._manager: KernelManager | None = None
        self._client: BlockingKernelClient | None = None

    def start(self, code: str) -> dict[str, object]:
        """Start a kernel; time until it is ready, and until the first result of `code`."""
        self.stop()
        started = perf_counter()
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel()
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=TIMEOUT_S)
        ready = perf_counter() - started
        self._execute(code)
        return {"readyMs": ready * 1000, "firstMs": (perf_counter() - started) * 1000, "pid": self._manager.provisioner.pid}

    def run(self, code: str, count: int) -> dict[str, object]:
        """Run the same code several times; the time of each, and the last result."""
        durations, text = [], None
        for _ in range(count):
            started = perf_counter()
            text = self._execute(code)
            durations.append((perf_counter() - started) * 1000)
        return {"durationsMs": durations, "text": text}

    def stop(self) -> None:
        """End the kernel, if there is one."""
        if self._client is not None:
            self._client.stop_channels()
        if self._manager is not None:
            self._manager.shutdown_kernel(now=True)
        self._client = self._manager = None

    def _execute(self, code: str) -> str | None:
        """Run code to its end: its result has come, the kernel is idle again, and the reply says that it went well."""
        request = self._client.execute(code)
        text = None
        while True:
            message = self._client.get_iopub_msg(timeout=TIMEOUT_S)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "execute_result":
                text = message["content"]["data"]["text/plain"]
            elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        reply = self._client.get_shell_msg(timeout=TIMEOUT_S)
        while reply["parent_header"].get("msg_id") != request:
            reply = self._client.get_shell_msg(timeout=TIMEOUT_S)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"{reply['content'].get('ename')}: {reply['content'].get('evalue')}")
        return text


def main() -> None:
    """Obey until stdin ends."""
    peer = Peer()
    try:
        for line in sys.stdin:
            command = json.loads(line)
            if command["op"] == "start":
                answer = peer.start(command["code"])
            else:
                answer = peer.run(command["code"], command["count"])
            print(json.dumps(answer), flush=True)
    finally:
        peer.stop()


if __name__ == "__main__":
    main()
