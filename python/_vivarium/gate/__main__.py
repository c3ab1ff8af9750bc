"""Starts the gate. Its orders arrive on descriptor 3, and nothing of them in arguments or in the environment."""

from __future__ import annotations

import os
import sys

CHANNEL = 3
PR_SET_NAME = 15
NAME = b"viv-gate"


def main() -> None:
    """Serve until the host is gone."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    import _vivarium  # noqa: F401 - the submodules are found through it

    del sys.path[0]
    import asyncio

    from _vivarium.channel import Channel
    from _vivarium.confine import identity, kernel, limits
    from _vivarium.gate.server import Gate

    os.set_inheritable(CHANNEL, False)
    limits.raise_open_files()
    kernel.syscall("prctl", PR_SET_NAME, NAME)
    kernel.set_dumpable(False)
    kernel.no_new_privileges()
    identity.drop_capabilities()

    async def serve() -> None:
        await Gate(Channel(CHANNEL)).serve()
        os._exit(0)  # look-ups may still be under way in threads

    asyncio.run(serve())


if __name__ == "__main__":
    main()
