"""How much memory processes hold. What several of them share is divided between them, so that it counts once.

What a fork got from the zygote or from its parent is shared until one of them writes to it, and the kernel knows that
page by page. Nothing here depends on what a process is called, or on what it says about itself.
"""

from __future__ import annotations

from _vivarium.confine import kernel
from _vivarium.surveyor.processes import Sample, read, status

# A page of the kernel can map this many bytes of a process.
MAPPED_BY_A_PAGE = 512
_KCMP_VM = 1
_OWN = (b"Pss_Anon", b"SwapPss")
_SHARED = (b"Pss_Shmem",)


def most_bytes(process: Sample) -> int:
    """Return a sum that is quickly known and never too small: with files and all that is shared."""
    return process.resident_bytes + process.virtual_bytes // MAPPED_BY_A_PAGE


def held_bytes(process: Sample, *, with_shared: bool) -> int:
    """Return the share of a process in all memory that belongs to no file, and its page tables.

    `with_shared` includes memory that was made to be shared, which a control group knows better. This takes
    milliseconds for a gigabyte.
    """
    found = status(process.thread, (b"VmPTE", b"VmSwap", b"RssAnon", b"RssShmem"))
    tables = found.get(b"VmPTE", 0)
    shares = _shares(process.thread)
    if shares is None:  # not for us to look into, so all of it is taken to be its own
        return (tables + sum(found.get(key, 0) for key in (b"VmSwap", b"RssAnon", b"RssShmem"))) * 1024
    return (tables + sum(shares[key] for key in (*_OWN, *(_SHARED if with_shared else ())))) * 1024


def without_borrowers(processes: list[Sample]) -> list[Sample]:
    """Return processes without those that use the memory of their parent, as between vfork and exec.

    Only the kernel can tell them from forks, which have memory of their own.
    """
    by_pid = {one.pid: one for one in processes}
    return [one for one in processes if one.parent not in by_pid or not _is_same(one, by_pid[one.parent])]


def _is_same(one: Sample, other: Sample) -> bool:
    if one.virtual_bytes != other.virtual_bytes:
        return False
    try:
        return kernel.syscall("kcmp", one.thread, other.thread, _KCMP_VM, 0, 0) == 0
    except OSError:  # it has just ended, or a kernel without this
        return False


def shared_bytes_of(group: str) -> int | None:
    """Return the memory that the processes of a control group share or keep in /dev/shm; None if that is not known."""
    text = read(f"{group}/memory.stat") or b""
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith(b"shmem ")), None)


def _shares(pid: int) -> dict[bytes, int] | None:
    """Return what the kernel says of a process, in units of 1024 bytes; None if it does not say it."""
    try:
        text = read(f"/proc/{pid}/smaps_rollup")
    except PermissionError:
        return None
    found = {}
    for line in (text or b"").splitlines():
        key, _, value = line.partition(b":")
        if key in (*_OWN, *_SHARED):
            found[key] = int(value.split()[0])
    return found if len(found) == len(_OWN) + len(_SHARED) else None
