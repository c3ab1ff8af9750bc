"""Tests of the read-only notice, each in a process of its own: it cannot be removed again."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETTINGS = {"mode": "read_only", "wayOut": "Ask.", "processes": True, "nativeCode": True}
DEVICE = """
class Device:
    def put(self, value):
        self.level = value
    level = property(lambda self: self._level, lambda self, value: setattr(self, "_level", value))
def send(value):
    pass
"""


def refusal_of(code: str, writes: list[str], before: str = "") -> str:
    """Return the error of the code in a process with the notice; nothing if it runs."""
    program = f"""
import json, sys
sys.path[:0] = [{HERE!r}, "."]
{before}
from _vivarium.payloads import read_only_notice
read_only_notice.install(json.loads({json.dumps({**SETTINGS, "writes": writes})!r}))
try:
    exec({code!r}, {{"__name__": "__main__"}})
except read_only_notice.WriteRefused as error:
    print(error)
"""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "lab.py"), "w") as file:
            file.write(DEVICE)
        answer = subprocess.run(
            [sys.executable, "-B", "-c", program], cwd=directory, capture_output=True, text=True, check=True, timeout=60
        )
    return answer.stdout.strip()


class Refusals(unittest.TestCase):
    def test_writes_are_refused_whether_imported_before_or_later(self) -> None:
        writes = ["lab.send", "lab.Device().put", "lab.Device().level="]
        for before in ("", "import lab"):
            for code in (
                "import lab; lab.send(1)",
                "from lab import *; Device().put(1)",
                "import lab; lab.Device().level = 1",
            ):
                with self.subTest(code, before=before):
                    self.assertIn(
                        "is refused: this code runs in the mode read_only. Ask.", refusal_of(code, writes, before)
                    )

    def test_a_bare_name_is_refused_in_every_module(self) -> None:
        self.assertIn("lab.send() is refused", refusal_of("from lab import send as s; s(1)", ["send"]))

    def test_a_method_of_a_class_is_refused_in_every_module(self) -> None:
        for before in ("", "import lab"):
            self.assertIn(
                "lab.Device().put() is refused",
                refusal_of("from lab import Device as D; D().put(1)", ["Device().put"], before),
            )
        self.assertEqual(refusal_of("class Device:\n    def put(self): pass\nDevice().put()", ["Device().put"]), "")

    def test_names_that_are_not_listed_work(self) -> None:
        self.assertEqual(
            refusal_of("import lab; lab.send(1); lab.Device().put(1)", ["other.send", ".put", "lab.None_().x"]), ""
        )

    def test_processes_and_native_code_are_refused(self) -> None:
        for code in (
            "import subprocess; subprocess.run(['true'])",
            "import os; os.fork()",
            "import posix; posix.system('true')",
            "import _posixsubprocess; _posixsubprocess.fork_exec()",
            "import ctypes; ctypes.CDLL(None)",
        ):
            with self.subTest(code):
                self.assertIn("the mode read_only", refusal_of(code, []))


if __name__ == "__main__":
    unittest.main()
