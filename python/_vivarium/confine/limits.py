"""Sets resource limits of the calling process."""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping


def set_limits(limits: Mapping[str, int | tuple[int, int]]) -> None:
    """Set limits by name (`NOFILE`, `DATA`, ...), never above the inherited hard limit."""
    for name, wanted in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        soft, hard = wanted if isinstance(wanted, tuple) else (wanted, wanted)
        hard = _lower(hard, resource.getrlimit(which)[1])
        resource.setrlimit(which, (_lower(soft, hard), hard))


def raise_open_files() -> int:
    """Raise the soft limit of open files to the hard limit, and return it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_open_files() -> int:
    """Return how many files a process here may have open at most."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _lower(a: int, b: int) -> int:
    """Return the stricter of two limits; infinity is the weakest."""
    if resource.RLIM_INFINITY in (a, b):
        return b if a == resource.RLIM_INFINITY else a
    return min(a, b)
