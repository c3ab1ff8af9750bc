"""An HTTP server of the same make as E2B's code interpreter: FastAPI in front of a Jupyter kernel, NDJSON as the answer.

It is not E2B's code. It does less than theirs: one kernel, no contexts, and it talks to the kernel itself and not through
a Jupyter server. So it answers no later than a server of this make has to.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from pydantic import BaseModel

TIMEOUT_S = 120


class Request(BaseModel):
    """What is to be run."""

    code: str


class Kernel:
    """One kernel, which runs one cell at a time."""

    def __init__(self, client: AsyncKernelClient) -> None:
        self._client = client
        self._lock = asyncio.Lock()
        self._count = 0

    async def run(self, code: str) -> AsyncIterator[str]:
        """Run code; yield what happens as lines of JSON until the kernel is idle again."""
        async with self._lock:
            self._count += 1
            yield to_line({"type": "number_of_executions", "execution_count": self._count})
            request = self._client.execute(code)
            while True:
                message = await self._client.get_iopub_msg(timeout=TIMEOUT_S)
                if message["parent_header"].get("msg_id") != request:
                    continue
                content = message["content"]
                if message["msg_type"] == "status" and content["execution_state"] == "idle":
                    break
                line = describe(message["msg_type"], content)
                if line is not None:
                    yield line
            yield to_line({"type": "end_of_execution"})


def describe(kind: str, content: dict) -> str | None:
    """What clients are told of a message of the kernel."""
    if kind == "stream":
        return to_line({"type": content["name"], "text": content["text"]})
    if kind in ("execute_result", "display_data"):
        data = content["data"]
        return to_line({"type": "result", "text": data.get("text/plain"), "is_main_result": kind == "execute_result"})
    if kind == "error":
        traceback = "\n".join(content["traceback"])
        return to_line({"type": "error", "name": content["ename"], "value": content["evalue"], "traceback": traceback})
    return None


def to_line(message: dict[str, object]) -> str:
    """One message of the answer."""
    return json.dumps(message) + "\n"


def create_app(listening: socket.socket) -> FastAPI:
    """The server. It says its address once the kernel is ready."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        manager = AsyncKernelManager(kernel_name="python3")
        await manager.start_kernel()
        client = manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=TIMEOUT_S)
            app.state.kernel = Kernel(client)
            host, port = listening.getsockname()
            print(f"http://{host}:{port}", flush=True)
            yield
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)

    app = FastAPI(lifespan=life)

    @app.post("/execute")
    async def execute(request: Request) -> StreamingResponse:
        return StreamingResponse(app.state.kernel.run(request.code), media_type="application/x-ndjson")

    return app


def main() -> None:
    """Serve on a free port until SIGTERM."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(listening), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
