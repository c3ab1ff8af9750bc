"""Starts the zygote, the warm template process that every session is forked from.

Its configuration arrives on descriptor 3, never in arguments. It never sees what a session computes, because every
later session inherits its heap.
"""

from __future__ import annotations

import errno
import os
import sys

CONTROL = 3
# What a machine may have again a moment later.
SHORTAGES = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC)
PR_SET_NAME = 15

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _vivarium.zygote.workers import ForkedWorker


def main() -> None:
    """Serve sessions. In a forked child, become the worker of one."""
    _import_package()
    forked = _serve()
    if forked is None:
        return
    # Only a confined child gets here. The zygote's stack is unwound, so the child keeps nothing of it.
    import gc

    from _vivarium.worker import main as worker

    gc.collect()
    for name in [name for name in globals() if not name.startswith("__") and name != "os"]:
        del globals()[name]
    channel, go, settings = forked.channel, forked.go, forked.settings
    del forked
    worker.main(channel, go, settings)


def _import_package() -> None:
    """Import our package by its path, once. Our directory must not stay on `sys.path`, where programs would find it."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    import _vivarium  # noqa: F401 - the submodules are found through it

    del sys.path[0]


def _serve() -> ForkedWorker | None:
    """Move into a root of our own, and import the rest while the builder prepares the first enclosure."""
    import _signal  # type: ignore[import-not-found]
    import gc

    _signal.signal(_signal.SIGUSR1, _signal.SIG_IGN)  # wakes twins, and means nothing to us or to our helpers

    # As in Python's own shell. What this process was started with is no program's business.
    sys.argv, sys.orig_argv = [""], [sys.executable]

    gc.disable()  # imports leave no garbage worth collecting
    from _vivarium import protocol
    from _vivarium.confine import kernel, limits
    from _vivarium.confine.landlock import ruleset as landlock
    from _vivarium.enclosure import builder
    from _vivarium.zygote import setup, survey
    from _vivarium.zygote.supply import Supply

    for fd in (CONTROL, survey.CHANNEL):
        os.set_inheritable(fd, False)
    probes = setup.Probes()
    builder.pid1_filter()
    config = protocol.receive(CONTROL)  # usually still on its way
    limits.raise_open_files()
    # Forked processes keep this name, executed programs do not.
    kernel.syscall("prctl", PR_SET_NAME, setup.FORKED_NAME.encode())
    os.environ.clear()
    os.environ.update({**setup.session_environment(), **setup.SINGLE_THREADED})
    try:
        shared = setup.enter(config, (CONTROL, survey.CHANNEL), probes)
    except OSError as error:
        is_temporary = error.errno in SHORTAGES
        protocol.send(CONTROL, {"event": "unavailable", "problem": str(error), "isTemporary": is_temporary})
        return None
    # Before the first control group is made: if this process is killed, the host removes what it left.
    protocol.send(CONTROL, {"event": "entered", "groupDirectories": shared.host_groups})
    supply = Supply(shared) if shared.level == "namespaces" else None  # forks the builder, before large imports
    if supply is not None:
        supply.refill(least=1)  # a zygote is started because a session is about to be opened

    surveyor = survey.spawn_surveyor(shared)
    if sys.pycache_prefix is not None:
        sys.pycache_prefix = f"{shared.cache}/pycache"
    from _vivarium.threads import counts
    from _vivarium.worker import join
    from _vivarium.worker import main as _  # noqa: F401 - workers cannot read our files any more
    from _vivarium.zygote import pages, preload
    from _vivarium.zygote.server import Server

    # Only our own files are cached there. Libraries have their caches beside them.
    sys.pycache_prefix, sys.dont_write_bytecode = None, True
    own_files = shared.level == "namespaces" or shared.privileged
    has_groups = shared.cgroups.kind != "none"
    join.system_call_filter(shared.level, False, has_groups, own_files=own_files, version=landlock.abi())
    os.environ["MPLCONFIGDIR"] = f"{shared.cache}/matplotlib"
    failures = preload.preload(config["preload"])
    if config["preload"]:  # otherwise there is little to gather, and a caller waits for the first result
        threads = counts.prepare(shared.allot(config["limits"]).threads)
        shared = shared.replaced(library_threads=threads)
        pages.gather()
    facts = {
        "event": "ready",
        "level": shared.level,
        "python": sys.version.split()[0],
        "ownUids": shared.privileged,
        "proc": shared.proc,
        "cgroup": shared.cgroups.kind,
        "cgroupReason": shared.cgroups.reason,
        "cgroupControllers": list(dict(shared.cgroups.parents)),
        "landlock": landlock.abi(),
        "threads": preload.thread_count(),
        "preloadFailures": failures,
    }
    protocol.send(CONTROL, facts)
    return Server(CONTROL, shared, supply, surveyor).serve()


if __name__ == "__main__":
    main()
