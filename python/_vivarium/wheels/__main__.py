"""Starts the process that unpacks wheels. Its order arrives on descriptor 3, and its answer leaves there."""

from __future__ import annotations

import json
import os
import sys

CHANNEL = 3
MEMORY_BYTES = 4 << 30
PROCESSOR_S = 900


def main() -> None:
    """Unpack the wheels of one order, behind walls: nothing but the directory of the order can be written."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.dirname(own))
    import _vivarium  # noqa: F401 - the submodules are found through it

    del sys.path[0]
    import encodings.cp437  # noqa: F401 - of names in archives; later it could not be loaded

    from _vivarium import protocol
    from _vivarium.confine import identity, kernel, limits
    from _vivarium.confine.landlock import ruleset
    from _vivarium.wheels.unpack import NotAWheel, unpack

    os.set_inheritable(CHANNEL, False)
    order = protocol.receive(CHANNEL)
    kernel.set_dumpable(False)
    kernel.no_new_privileges()
    identity.drop_capabilities()
    limits.set_limits({"CORE": 0, "AS": MEMORY_BYTES, "CPU": PROCESSOR_S, "NPROC": 0})
    os.umask(0o022)
    ruleset.restrict(read_only=(), read_write=[order["directory"]], tcp=False, list_root=False)
    os.chdir(order["directory"])
    name, problem = None, None
    try:
        for wheel in order["wheels"]:
            name = wheel["name"]
            facts = unpack(wheel["file"], wheel["target"], name)
            with open(f"{wheel['target']}.json", "x", encoding="utf-8") as file:
                json.dump(facts, file)
    except NotAWheel as error:
        problem = str(error)
    except Exception as error:
        problem = f"it could not be unpacked: {type(error).__name__}: {error}"
    protocol.send(CHANNEL, {"problem": problem and problem[:1000], "name": name})


if __name__ == "__main__":
    main()
