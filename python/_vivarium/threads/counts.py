"""Tells numeric libraries that are loaded already how many threads to use. Others read it when they are loaded."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping

from _vivarium.threads import native
from _vivarium.threads.endings import pause_openmp
from _vivarium.threads.native import Libraries
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.text import attempt

OPENMP = ("OMP_NUM_THREADS",)
OPENBLAS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", *OPENMP)
MKL = ("MKL_NUM_THREADS", *OPENMP)
NUMEXPR = ("NUMEXPR_NUM_THREADS", *OPENMP)
NUMBA = ("NUMBA_NUM_THREADS",)
POLARS = ("POLARS_MAX_THREADS",)
# What a session that may start fewer threads than it sees processors gets. The last are for Rust and OpenCV.
HELD = ("OPENBLAS_NUM_THREADS", *OPENMP, "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", *NUMBA, *POLARS, "RAYON_NUM_THREADS")
VARIABLES = frozenset((*OPENBLAS, *MKL, *NUMEXPR, *NUMBA))  # that libraries which are loaded have read

# OpenBLAS has other names where it is a part of numpy (with integers of 64 bits) or scipy.
_AFFIXES = (("", ""), ("", "64_"), ("scipy_", ""), ("scipy_", "64_"))
_SET_OPENBLAS = tuple(f"{prefix}openblas_set_num_threads{suffix}" for prefix, suffix in _AFFIXES)


def prepare(threads: int) -> int:
    """In the zygote: raise the number that each OpenBLAS was loaded with, and leave no thread behind.

    A fork ends the threads of OpenBLAS, and it starts them again where it needs them: in a session that uses it.
    Returns how many threads that can be in one session.
    """
    libraries = Libraries()
    pause_openmp(libraries.paths("libgomp"))  # if a library has used it while it was loaded
    told = _tell_openblas(libraries, threads) if threads > 1 else 0
    if told and native.count() != 1:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    return told * (threads - 1)


def apply(environment: Mapping[str, str], threads: int) -> None:
    """In a worker whose number is not the usual one: tell each library that is loaded. Variables come first."""
    libraries = Libraries()
    attempt(lambda: _tell_openblas(libraries, _wanted(environment, OPENBLAS, threads)))
    openmp = _wanted(environment, OPENMP, threads)
    for path in [path for name in ("libgomp", "libomp", "libiomp5") for path in libraries.paths(name)]:
        attempt(lambda path=path: _function(path, "omp_set_num_threads")(openmp))
    for path in libraries.paths("libmkl_rt"):
        attempt(lambda path=path: _function(path, "MKL_Set_Num_Threads")(_wanted(environment, MKL, threads)))
    for module, name, variables in (
        ("pyarrow", "set_cpu_count", OPENMP),
        ("numexpr", "set_num_threads", NUMEXPR),
        ("torch", "set_num_threads", OPENMP),
    ):
        _call(member(module, name), _wanted(environment, variables, threads))
    _call(member("numba.core.config", "reload_config"))  # reads the variable again


def _wanted(environment: Mapping[str, str], variables: tuple[str, ...], threads: int) -> int:
    """Return the first number that a variable has. OpenMP allows a list: a number for each level of nesting."""
    for name in variables:
        first = environment.get(name, "").partition(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return min(int(first), max(threads, os.cpu_count() or 1))
    return threads


def _tell_openblas(libraries: Libraries, threads: int) -> int:
    """Return how many were told."""
    told = 0
    for path in {*libraries.paths("libscipy_openblas"), *libraries.paths("libopenblas")}:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD)
        found = next((name for name in _SET_OPENBLAS if hasattr(library, name)), None)
        if found is not None:
            getattr(library, found)(ctypes.c_int(threads))
            told += 1
    return told


def _function(path: str, name: str) -> Callable[[int], object]:
    return getattr(ctypes.CDLL(path, mode=os.RTLD_NOLOAD), name)


def _call(function: Any, *arguments: int) -> None:
    if function is not None:
        attempt(lambda: function(*arguments))
