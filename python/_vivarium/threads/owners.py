"""The libraries that are known to start threads, and what a fork does to each. Tried out by the table of twins.md."""

from __future__ import annotations

import os

from _vivarium.values.hints import Any
from _vivarium.values.loaded import member

SURVIVES = "survives"  # it renews its threads after a fork by itself, and they work only while the main thread waits
SURVIVES_IDLE = "survives-idle"  # the same, but it also works in the background, and work that has begun is lost
ENDED_FIRST = "ended-first"  # it hangs in a copy, unless its threads are ended before
RESTS = "rests"  # the same, and it is asked to do without threads between runs
REVIVED = "revived"  # the same, and a copy gets its threads back, see revival.py
DIES = "dies"  # it hangs or crashes in a copy

KEEP = "Write what took long to compute to a file."
END = "End them, or write what took long to compute to a file."
POLARS = "They stay until the session ends: write what took long to compute to a file."
DUCKDB = "Keep connections in variables, and call `close()` of those to a file after use."
LIBRARIES: tuple[tuple[str, str, str, str], ...] = (
    # beginning of the file name, or of that of its folder and itself; fate, name, remedy
    ("libscipy_openblas", SURVIVES, "OpenBLAS", KEEP),
    ("libopenblas", SURVIVES, "OpenBLAS", KEEP),
    ("libiomp5", SURVIVES, "OpenMP", KEEP),
    ("libomp", SURVIVES, "OpenMP", KEEP),
    ("libarrow.", SURVIVES_IDLE, "Arrow", "Read to the end, or close the reader, before the cell ends."),
    ("workqueue.", SURVIVES, "Numba", KEEP),
    ("numexpr/interpreter.", SURVIVES, "numexpr", KEEP),
    ("libgomp", ENDED_FIRST, "OpenMP", KEEP),
    ("cv2.", ENDED_FIRST, "OpenCV", KEEP),
    ("_polars_runtime", REVIVED, "polars", POLARS),
    ("polars", REVIVED, "polars", POLARS),
    ("_duckdb", RESTS, "DuckDB", DUCKDB),
    ("duckdb", RESTS, "DuckDB", DUCKDB),
)
# Threads with these names are of a memory allocator inside of a library, which goes on without them after a fork.
ALLOCATORS = ("jemalloc_bg_thd",)
NUMBA = (
    "the OpenMP threads of Numba",
    "Set `numba.config.THREADING_LAYER = 'workqueue'` before the first parallel function runs.",
)
# Packages with code in C that start no threads, or threads that survive a fork.
HARMLESS_PACKAGES = frozenset(
    "numpy scipy pandas pyarrow matplotlib mpl_toolkits PIL contourpy kiwisolver fontTools statsmodels dateutil "
    "yaml lxml markupsafe regex charset_normalizer wrapt tornado zmq psutil".split()
)


def fate_of(path: str) -> tuple[str, str, str]:
    """Return what becomes of the threads of a library in a copy, its name, and how to do without them."""
    folder, file = os.path.split(path)
    ways = (file, f"{os.path.basename(folder)}/{file}")
    for beginning, fate, name, remedy in LIBRARIES:
        if any(way.startswith(beginning) for way in ways):
            return fate, f"the threads of {name}", remedy
    return DIES, f"threads of {file[:80] or 'an unknown library'}", END


def refusal() -> tuple[str, str] | None:
    """Return why a library that is loaded would end its process in a copy, although none of its threads is left."""
    return NUMBA if member("numba.np.ufunc.omppool", "launch_threads") is not None else None


def unseen(modules: dict[str, Any]) -> str | None:
    """Return a loaded package that may have started threads, for machines that show no threads."""
    import sys
    from importlib.machinery import ExtensionFileLoader
    from types import ModuleType

    for name, module in list(modules.items()):
        package = name.partition(".")[0] if type(name) is str else ""
        if package in HARMLESS_PACKAGES or package in sys.stdlib_module_names or type(module) is not ModuleType:
            continue
        spec = ModuleType.__getattribute__(module, "__dict__").get("__spec__")
        if type(getattr(spec, "loader", None)) is ExtensionFileLoader:
            return package[:80]
    return None
