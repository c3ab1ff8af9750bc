"""Tests of the listener of previews, each in a process of its own: an audit hook cannot be removed again."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def noted(code: str) -> dict[str, object]:
    """Return what the listener reports about code."""
    program = f"""
import json, sys
sys.path.insert(0, {HERE!r})
from _vivarium.payloads import effects
try:
    exec({code!r}, {{"__name__": "__main__"}})
except OSError:
    pass
print(json.dumps(effects.effects()))
"""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        answer = subprocess.run(
            [sys.executable, "-B", "-c", program], cwd=directory, capture_output=True, text=True, check=True, timeout=60
        )
        return json.loads(answer.stdout.splitlines()[-1].replace(directory, "HERE"))


def attempts(code: str) -> list[tuple[str, str, int]]:
    """Return kind, subject and count of everything that was noted."""
    report = noted(code)
    assert report["omitted"] == 0, report
    return [(one["kind"], one["what"], one["count"]) for one in report["attempts"]]  # type: ignore[attr-defined]


class Effects(unittest.TestCase):
    def test_computing_and_printing_are_not_effects(self) -> None:
        self.assertEqual(attempts("import statistics; print(statistics.mean([1, 2]))"), [])

    def test_reading_is_not_an_effect(self) -> None:
        self.assertEqual(
            attempts("open('/etc/hostname').read() if __import__('os').path.exists('/etc/hostname') else 0"), []
        )

    def test_network_is_noted_with_its_address(self) -> None:
        code = "import socket; s = socket.socket(); s.settimeout(0.01); s.connect(('127.0.0.1', 9))"
        self.assertEqual(attempts(code), [("network", "connect to 127.0.0.1 9", 1)])
        sent = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"
        self.assertEqual(attempts(sent), [("network", "connect to 127.0.0.1 9", 1)])
        message = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('127.0.0.1', 9))"
        self.assertEqual(attempts(message), [("network", "connect to 127.0.0.1 9", 1)])

    def test_names_that_are_looked_up_are_noted(self) -> None:
        found = attempts("import socket; socket.getaddrinfo('localhost', 80)")
        self.assertEqual(found, [("network", "look up localhost", 1)])

    def test_repeated_attempts_are_counted(self) -> None:
        self.assertEqual(attempts("for _ in range(3): open('x', 'a').close()"), [("file", "write HERE/x", 3)])

    def test_changed_files_are_noted_with_source_and_target(self) -> None:
        self.assertEqual(attempts("import os; os.mkdir('d')"), [("file", "make HERE/d", 1)])
        self.assertEqual(
            attempts("import os; open('/tmp/effects-x', 'w').close(); os.rename('/tmp/effects-x', 'y')"),
            [("file", "rename HERE/y", 1)],
        )
        self.assertEqual(attempts("import os; os.symlink('/tmp', 'l')"), [("file", "link HERE/l", 1)])
        self.assertEqual(attempts("import os; os.truncate('none', 0)"), [("file", "truncate HERE/none", 1)])

    def test_temporary_files_are_not_noted(self) -> None:
        self.assertEqual(attempts("import tempfile; tempfile.NamedTemporaryFile(dir='/tmp').write(b'x')"), [])

    def test_processes_are_noted_with_what_they_run(self) -> None:
        self.assertIn(("process", "true now", 1), attempts("import subprocess; subprocess.run(['true', 'now'])"))
        self.assertEqual(attempts("import os; os.system('true')"), [("process", "true", 1)])
        forked = "import os, sys\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)"
        self.assertEqual(attempts(forked), [("process", "fork", 1)])

    def test_native_code_is_noted(self) -> None:
        self.assertEqual([kind for kind, _, _ in attempts("import ctypes; ctypes.CDLL('libc.so.6')")], ["native code"])

    def test_attempts_beyond_the_limit_are_counted_but_not_listed(self) -> None:
        report = noted("for i in range(250): open(f'f{i}', 'w').close()")
        self.assertEqual((len(report["attempts"]), report["omitted"]), (200, 50))  # type: ignore[arg-type]

    def test_odd_arguments_do_not_break_the_listener(self) -> None:
        report = noted(
            "import sys; sys.audit('socket.connect', 1); sys.audit('open', 1, 2, 3); sys.audit('os.rename', object())"
        )
        self.assertEqual(report["omitted"], 2)


if __name__ == "__main__":
    unittest.main()
