"""Has programs, and the libraries that they load, see the processors that the session may use."""

from __future__ import annotations

import os

from _vivarium.display.arrivals import Arrivals
from _vivarium.threads import counts
from _vivarium.values.hints import Any
from _vivarium.worker.join import Admission

_LOKY = ("joblib.externals.loky.backend.context", "loky.backend.context")
_SEEN = ("LOKY_MAX_CPU_COUNT", "PYTHON_CPU_COUNT")


class SeenProcessors:
    """What the environment, Python and loaded libraries say about processors."""

    def __init__(self) -> None:
        self._threads = 0
        # It asks a program that finds nothing in a sandbox, and would print a warning.
        self._arrivals = Arrivals(dict.fromkeys(_LOKY, _tell_loky))
        self._arrivals.check()

    def admit(self, admission: Admission) -> None:
        """Take over the numbers of a session."""
        self._threads = admission.threads
        os.environ.update(processor_variables(admission))
        if admission.processors < (os.cpu_count() or 1):
            _replace_counts(admission.processors)
        if admission.threads != admission.usual_threads:
            counts.apply(os.environ, admission.threads)

    def follow(self, variables: dict[str, str]) -> None:
        """Have libraries that are loaded already follow the variables that a session was given."""
        if not counts.VARIABLES.isdisjoint(variables):
            counts.apply(os.environ, self._threads)


def processor_variables(admission: Admission) -> dict[str, str]:
    """Return the variables that tell programs of a session how many processors they have."""
    variables: dict[str, str] = {}
    if admission.threads < (len(admission.cpus) or len(os.sched_getaffinity(0))):
        variables.update(dict.fromkeys(counts.HELD, str(admission.threads)))
    if admission.processors < (os.cpu_count() or 1):
        variables.update(dict.fromkeys(_SEEN, str(admission.processors)))
        variables["NUMEXPR_NUM_THREADS"] = str(admission.threads)  # it asks the machine, as Python does
    return variables


def _replace_counts(processors: int) -> None:
    """Python reads PYTHON_CPU_COUNT when it starts, which is long ago."""

    def cpu_count() -> int:
        """Return the number of processors that this session may use."""
        return processors

    os.cpu_count = cpu_count  # type: ignore[assignment]
    if hasattr(os, "process_cpu_count"):  # Python 3.13 and later
        os.process_cpu_count = cpu_count  # type: ignore[attr-defined]


def _tell_loky(module: Any) -> None:
    processors = os.cpu_count() or 1
    module.physical_cores_cache = min(_physical_cores() or processors, processors)


def _physical_cores() -> int:
    """Return how many cores there are, each with one or more processors; 0 where the kernel does not tell."""
    cores: set[tuple[str, str]] = set()
    package = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.startswith("physical id"):
                    package = value.strip()
                elif name.startswith("core id"):
                    cores.add((package, value.strip()))
    except OSError:  # a session without /proc
        return 0
    return len(cores)
