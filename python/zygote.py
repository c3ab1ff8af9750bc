"""The warm template process: every session is forked from it.

Its configuration comes over descriptor 3, never by arguments. It never sees what a session computes:
its heap is inherited by every later session.
"""

from __future__ import annotations

import os
import sys

CONTROL = 3
PR_SET_NAME = 15


def main() -> None:
    """Serve sessions; in a forked child, become the worker of one."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    born = _serve()
    if born is None:
        return
    # Only a confined child gets here, with the zygote's stack unwound: it forgets what the zygote knew.
    import gc

    import worker

    gc.collect()
    for name in [name for name in globals() if not name.startswith("__") and name != "os"]:
        del globals()[name]
    worker.main(born.channel, born.go, born.birthplace)


def _serve() -> object | None:
    """Go on stage with what that takes, and import the rest while the launcher builds the walls of the first session."""
    import gc

    gc.disable()  # imports leave nothing behind that is worth looking for
    import enclosures
    import launcher
    import stage
    import wire
    from confine import kernel, landlock, limits

    os.set_inheritable(CONTROL, False)
    probes = stage.Probes()
    launcher.init_filter()
    config = wire.receive(CONTROL)  # most often that is still on its way
    limits.raise_open_files()
    kernel.syscall("prctl", PR_SET_NAME, stage.FORKED_NAME.encode())  # a forked process keeps the name, an executed program does not
    os.environ.clear()
    os.environ.update(stage.session_environment())
    try:
        ground = stage.enter(config, CONTROL, probes)
    except OSError as error:
        wire.send(CONTROL, {"event": "unavailable", "problem": str(error)})
        return None
    supply = enclosures.Supply(ground) if ground.level == "namespaces" else None  # before anything large is imported
    if supply is not None:
        supply.refill(least=1)  # a zygote is started because somebody is about to open a session

    if sys.pycache_prefix is not None:
        sys.pycache_prefix = f"{ground.cache}/pycache"
    import join
    import pages
    import preload
    import warden
    import worker  # noqa: F401 - no session sees our own files

    # Only our own files are cached there; the libraries have their caches beside them.
    sys.pycache_prefix, sys.dont_write_bytecode = None, True
    join.system_call_filter(ground.level, False, ground.cgroups.kind != "none")
    os.environ["MPLCONFIGDIR"] = f"{ground.cache}/matplotlib"
    failures = preload.preload(config["preload"])
    if config["preload"]:  # else there is little to gather, and somebody waits for the first result
        pages.gather()
    facts = {
        "event": "ready",
        "level": ground.level,
        "python": sys.version.split()[0],
        "ownUids": ground.privileged,
        "proc": ground.proc,
        "cgroup": ground.cgroups.kind,
        "cgroupReason": ground.cgroups.reason,
        "groupDirectories": ground.host_groups,
        "landlock": landlock.abi(),
        "threads": preload.thread_count(),
        "preloadFailures": failures,
    }
    wire.send(CONTROL, facts)
    return warden.Warden(CONTROL, ground, supply).serve()


if __name__ == "__main__":
    main()
