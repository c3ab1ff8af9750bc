"""How many threads a library is told to use."""

from __future__ import annotations

import os
import unittest

from _vivarium.threads import counts, native

from tests.confine.confined import in_child


class CountsTest(unittest.TestCase):
    def test_the_first_variable_that_has_a_number_counts(self) -> None:
        most = os.cpu_count() or 1
        environment = {"OPENBLAS_NUM_THREADS": "x", "OMP_NUM_THREADS": "1,4"}
        self.assertEqual(counts._wanted(environment, counts.OPENBLAS, 7), 1)
        self.assertEqual(counts._wanted({"OMP_NUM_THREADS": "0"}, counts.OPENMP, 7), 7)
        self.assertEqual(counts._wanted({"OMP_NUM_THREADS": "100000"}, counts.OPENMP, 1), most)

    def test_without_libraries_nothing_is_told_and_no_thread_is_left(self) -> None:
        def prepare() -> list[object]:
            return [counts.prepare(4), native.count()]

        self.assertEqual(in_child(prepare), [0, 1])

    def test_a_loaded_openmp_is_told(self) -> None:
        def use() -> object:
            import ctypes

            try:
                library = ctypes.CDLL("libgomp.so.1")
            except OSError:
                return "missing"
            counts.apply({"OMP_NUM_THREADS": "1"}, 4)
            return library.omp_get_max_threads()

        found = in_child(use)
        if found == "missing":
            self.skipTest("this machine has no GNU OpenMP")
        self.assertEqual(found, 1)
