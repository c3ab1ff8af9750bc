"""Tests of running cells; each session is a process of its own, because a Runner takes over descriptors 0, 1 and 2."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
DRIVER = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[1])
from _vivarium.cell.runner import Runner
from _vivarium.cell.source import prepare
from _vivarium.cell.trace import describe
from _vivarium.values.text import text_of
signal.signal(signal.SIGINT, signal.default_int_handler)
report = os.fdopen(int(sys.argv[2]), "w")
os.chdir(sys.argv[3])
runner = Runner(sys.argv[3], os.dup(1), os.dup(2))
runner.install_guards()
flags = 0
report.write("\\n")  # ready for the first cell
report.flush()
for number, code in enumerate(json.loads(sys.argv[4]), 1):
    values, error = [], None
    try:
        prepared = prepare(code, filename=f"<cell {number}>", echo="all", flags=flags)
        flags = prepared.flags
        runner.run(prepared, lambda value: values.append(text_of(value)))
    except BaseException as raised:
        error = describe(raised)
    runner.reset_process()
    report.write(json.dumps({"values": values, "error": error}) + "\\n")
    report.flush()
os._exit(0)
"""


class Session:
    """The reports and the output of some cells, run one after the other."""

    def __init__(self, *cells: str, interrupt_after: float = 0) -> None:
        with tempfile.TemporaryDirectory() as workspace:
            reader, writer = os.pipe()
            command = [sys.executable, "-B", "-c", DRIVER, str(HOME), str(writer), workspace, json.dumps(cells)]
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            child = subprocess.Popen(command, pass_fds=[writer], **pipes)
            os.close(writer)
            if interrupt_after:
                os.read(reader, 1)
                time.sleep(interrupt_after)
                child.send_signal(2)
            self.out, self.err = (text.decode() for text in child.communicate(timeout=30))
            with os.fdopen(reader) as reports:
                self.reports = [json.loads(line) for line in reports if line.strip()]
        if len(self.reports) != len(cells):
            raise AssertionError(f"{len(self.reports)} of {len(cells)} cells reported; stderr: {self.err}")
        self.errors = [report["error"] and report["error"]["name"] for report in self.reports]
        self.values = [report["values"] for report in self.reports]


class Namespace(unittest.TestCase):
    def test_variables_persist_and_underscore_follows(self) -> None:
        session = Session("x = 10", "x * 2", "_ + 1\nNone\n_", "for _ in range(3): pass\n7", "_")
        self.assertEqual(session.values, [[], ["20"], ["21", "21"], ["7"], ["2"]])

    def test_the_namespace_is_the_main_module(self) -> None:
        session = Session(
            "class A: pass\nimport pickle, sys\npickle.loads(pickle.dumps(A())).__class__ is A",
            "if __name__ == '__main__':\n    print('yes')",
            "sys.modules['__main__'].A is A, globals() is vars(sys.modules['__main__'])",
        )
        self.assertEqual((session.values[0], session.values[2], session.out), (["True"], ["(True, True)"], "yes\n"))

    def test_names_of_the_interpreter_are_free_to_use(self) -> None:
        session = Session(
            "io = ast = traceback = sys = os = runner = cell = describe = 5",
            "del __builtins__",
            "__builtins__ = {}",
            "len([1])",
        )
        self.assertEqual((session.errors, session.values[-1]), ([None] * 4, ["1"]))

    def test_future_features_apply_to_later_cells(self) -> None:
        session = Session("from __future__ import annotations", "def f(x: nothing): pass\nf.__annotations__")
        self.assertEqual(session.values[1], ["{'x': 'nothing'}"])

    def test_errors_show_only_the_cell(self) -> None:
        trace = Session("1/0").reports[0]["error"]["traceback"]
        self.assertIn("line 1, in <module>\n    1/0\n", trace)
        self.assertNotIn("runner.py", trace)


class Guards(unittest.TestCase):
    def test_input_is_disabled(self) -> None:
        for code in (
            "input('?')",
            "import sys; sys.stdin.readline()",
            "import sys; next(iter(sys.stdin))",
            "import sys; sys.stdin.buffer.read()",
        ):
            with self.subTest(code):
                error = Session(code).reports[0]["error"]
                self.assertEqual(error["name"], "NotImplementedError")
                self.assertRegex(error["value"], r"^Python input\(\) function is disabled\. Nobody .* option stdin\.$")
                self.assertNotIn("streams.py", error["traceback"])

    def test_exit_ends_only_the_cell(self) -> None:
        session = Session("exit(3)", "quit()", "import sys; sys.exit('bye')", "exit", "1")
        self.assertEqual(session.errors, ["SystemExit"] * 3 + [None] * 2)

    def test_children_read_an_empty_standard_input(self) -> None:
        self.assertEqual(Session("import os; os.system('cat')").values, [["0"]])


class Async(unittest.TestCase):
    def test_a_cell_may_await_at_top_level(self) -> None:
        session = Session(
            "import asyncio\nasync def f(): return 5\nasync def g():\n    yield 1\n    yield 2\nawait f()",
            "x = await f()\nx",
            "[n async for n in g()]",
            "async for n in g(): print(n)",
        )
        self.assertEqual((session.values, session.out), ([["5"], ["5"], ["[1, 2]"], []], "1\n2\n"))

    def test_background_tasks_go_on_in_later_awaiting_cells(self) -> None:
        session = Session(
            "import asyncio\nseen = []\nasync def work():\n    for i in range(3):\n"
            "        await asyncio.sleep(0.01); seen.append(i)",
            "async def start():\n    global t; t = asyncio.create_task(work())\nawait start()\nlen(seen)",
            "await asyncio.sleep(0.2)\nseen, t.done()",
        )
        self.assertEqual((session.values[1], session.values[2]), (["0"], ["([0, 1, 2], True)"]))

    def test_plain_cells_have_no_running_loop(self) -> None:
        first = "import asyncio\nasync def f(): return 5\nawait f()"
        session = Session(first, "asyncio.run(f())", "await f()", "asyncio.new_event_loop().run_until_complete(f())")
        self.assertEqual((session.errors, session.values), ([None] * 4, [["5"]] * 4))

    def test_the_loop_has_no_epoll_descriptor(self) -> None:
        names = "names = [os.path.join('/proc/self/fd', name) for name in os.listdir('/proc/self/fd')]"
        look = f"import os\n{names}\n[os.readlink(name) for name in names if os.path.lexists(name)]"
        shown = Session(f"import asyncio\nawait asyncio.sleep(0)\n{look}").values[0][-1]
        self.assertIn("socket:", shown)
        self.assertNotIn("eventpoll", shown)

    def test_a_closed_loop_is_replaced(self) -> None:
        session = Session(
            "import asyncio\nawait asyncio.sleep(0)", "asyncio.get_event_loop().close()", "await asyncio.sleep(0, 4)"
        )
        self.assertEqual((session.errors, session.values[2]), ([None] * 3, ["4"]))

    def test_errors_have_no_frames_of_the_loop(self) -> None:
        for code in ("async def f(): 1/0\nawait f()", "async def f(): raise SystemExit\nawait f()"):
            trace = Session(code).reports[0]["error"]["traceback"]
            self.assertIn("in f", trace)
            self.assertNotIn("asyncio", trace)
            self.assertNotIn("runner.py", trace)

    def test_an_interrupt_cancels_and_the_loop_lives_on(self) -> None:
        code = "import asyncio\ntry:\n    await asyncio.sleep(20)\nfinally:\n    print('cleaned')"
        session = Session(code, "await asyncio.sleep(0, 3)", interrupt_after=0.8)
        self.assertEqual(
            (session.errors, session.out, session.values[1]), (["KeyboardInterrupt", None], "cleaned\n", ["3"])
        )
        self.assertEqual(session.err, "")

    def test_a_task_that_refuses_to_end_does_not_hold_the_interrupt(self) -> None:
        code = "import asyncio\nwhile True:\n    try:\n        await asyncio.sleep(20)\n    except asyncio.CancelledError: pass"
        started = time.monotonic()
        session = Session(code, "1", interrupt_after=0.8)
        self.assertEqual((session.errors, session.values[1]), (["KeyboardInterrupt", None], ["1"]))
        self.assertLess(time.monotonic() - started, 10)


class Output(unittest.TestCase):
    def test_a_million_lines_are_fast(self) -> None:
        session = Session(
            "import time; t = time.process_time()\nfor i in range(1_000_000): print(i)", "time.process_time() - t"
        )
        self.assertTrue(session.out.endswith("\n999999\n"))
        print(f"1e6 lines: {session.values[1][0][:5]} s", file=sys.stderr)
        self.assertLess(float(session.values[1][0]), 3)

    def test_lines_are_sent_before_the_run_ends(self) -> None:
        # Each line is followed by a pause; the reader notes when it arrived.
        for burst in (1, 500):
            with self.subTest(burst):
                code = f"import time\nfor i in range({burst}): print(i)\ntime.sleep(0.06); print('now', time.time()); time.sleep(1)"
                command = [sys.executable, "-B", "-c", DRIVER, str(HOME), "2", "/tmp", json.dumps([code])]
                with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
                    for line in child.stdout:
                        if line.startswith(b"now"):
                            self.assertLess(time.time() - float(line.split()[1]), 0.5)
                            break

    def test_explicit_flushes_are_honoured_and_bytes_work(self) -> None:
        session = Session(
            "import sys\nfor i in range(100): print(i)\nprint('x', end='', flush=True)\nimport os; os.write(1, b'y')\nsys.stdout.buffer.write(b'z\\n')"
        )
        self.assertTrue(session.out.endswith("99\nxyz\n"), session.out[-20:])

    def test_a_fork_does_not_repeat_text(self) -> None:
        session = Session(
            "import os\nfor i in range(200): print('a')\nprint('b', end='')\nif os.fork() == 0:\n    os._exit(0)\nos.wait(); print('c')"
        )
        self.assertEqual(session.out, "a\n" * 200 + "bc\n")

    def test_a_forked_child_that_runs_on_ends_with_its_cell(self) -> None:
        session = Session(
            "import os, sys\npid = os.fork()\nif pid == 0:\n    print('child')\n    raise SystemExit(7)\nprint('parent', os.waitstatus_to_exitcode(os.wait()[1]))",
            "1",
        )
        self.assertEqual(sorted(session.out.splitlines()), ["child", "parent 7"])
        session = Session("import os\nif os.fork() == 0: 1/0\nos.wait()[1] >> 8")
        self.assertEqual(session.values, [["1"]])
        self.assertIn("ZeroDivisionError", session.err)

    def test_stderr_is_sent_at_once_and_odd_text_passes(self) -> None:
        session = Session(
            "import sys, os\nsys.stderr.write('a'); os.write(2, b'b'); sys.stderr.write('c')\nprint('\\ud800 ä')"
        )
        self.assertEqual((session.err, session.out), ("abc", "\\ud800 ä\n"))

    def test_children_write_to_the_same_place(self) -> None:
        self.assertEqual(Session("import os; print('a'); os.system('echo b'); print('c')").out, "a\nb\nc\n")


class Damage(unittest.TestCase):
    """After each of these cells, the next one prints, on both streams, as if nothing had happened."""

    def check(self, damage: str, then: str = "True", *, errors: bool = False) -> Session:
        probe = "import sys\nprint('out'); print('err', file=sys.stderr)\n" + then
        session = Session(damage, probe)
        self.assertEqual(session.errors[1], None, session.reports)
        self.assertEqual(session.values[1][-1:], ["True"])
        self.assertTrue(session.out.endswith("out\n") and "err\n" in session.err, (session.out, session.err))
        if not errors:
            self.assertEqual(session.errors[0], None, session.reports)
        return session

    def test_damaged_streams_are_restored(self) -> None:
        damages = [
            "import sys, io; sys.stdout = io.StringIO()",
            "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
            "import sys; sys.stdout.detach(); sys.stderr.detach()",
            "import sys; sys.stdout.buffer.close(); sys.stderr.buffer.close()",
            "import sys; sys.stdout = sys.stderr = sys.stdin = None",
            "import sys; del sys.stdout, sys.stderr, sys.stdin",
            "import sys, io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('kept')",
            "import sys; sys.stdout.reconfigure(encoding='utf-16', line_buffering=False)",
            "import os; os.close(0); os.close(1); os.close(2)",
            "import os; os.dup2(os.open('/dev/null', 2), 1); os.dup2(1, 2); os.dup2(1, 0)",
            "import os; os.closerange(0, 3); f = [open('/dev/null') for i in range(3)]",
            "import os; os.set_blocking(1, False); os.set_blocking(2, False)",
            "import sys\nclass Evil:\n    def __getattr__(s, n): raise SystemExit\nsys.stdout = sys.stderr = Evil()",
        ]
        for damage in damages:
            with self.subTest(damage):
                session = self.check(damage)
                if "kept" in damage:
                    self.assertIn("kept\n", session.out)

    def test_signals_and_timers_are_restored(self) -> None:
        self.check("import signal; signal.setitimer(signal.ITIMER_REAL, 0.3)", "import time; time.sleep(0.5)\nTrue")
        self.check(
            "import signal; signal.signal(signal.SIGALRM, print); signal.alarm(1)",
            "import signal; signal.getsignal(signal.SIGALRM) == signal.SIG_DFL",
        )
        self.check(
            "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
            "import signal; signal.getsignal(signal.SIGINT) is signal.default_int_handler",
        )
        self.check(
            "import signal; x = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
            "import signal; not signal.pthread_sigmask(signal.SIG_BLOCK, ())",
        )

    def test_hooks_and_limits_are_restored(self) -> None:
        self.check("import sys; sys.settrace(lambda *a: 1/0)", errors=True, then="sys.gettrace() is None")
        self.check("import sys; sys.setprofile(lambda *a: 1/0)", errors=True, then="sys.getprofile() is None")
        self.check("import sys; sys.setrecursionlimit(60)", errors=True, then="sys.getrecursionlimit() >= 1000")
        self.check("import sys; sys.setrecursionlimit(5000)", then="sys.getrecursionlimit() == 5000")
        self.check("import sys; sys.displayhook = sys.excepthook = None", then="callable(sys.displayhook)")
        self.check("import os; x = os.umask(0o777)", then="import os; os.umask(0o22) != 0o777")

    def test_removed_modules_are_restored(self) -> None:
        self.check("import sys; del sys.modules['warnings'], sys.modules['__main__'], sys.modules['os']")
        self.check("import sys; sys.modules['warnings'] = None", then="import warnings; warnings.warn('x')\nTrue")
        self.check(
            "import warnings; warnings.showwarning = None; warnings.warn = 5",
            then="import warnings; warnings.warn('y')\nTrue",
        )

    def test_a_removed_directory_is_left(self) -> None:
        session = Session(
            "import os; home = os.getcwd(); os.mkdir('d'); os.chdir('d')",
            "os.path.basename(os.getcwd())",
            "os.rmdir('../d')",
            "os.getcwd() == home",
        )
        self.assertEqual((session.values[1], session.values[3]), (["'d'"], ["True"]))

    def test_an_interrupt_ends_plain_code(self) -> None:
        session = Session("print('a', end='')\nimport time\ntime.sleep(20)", "print('b')", interrupt_after=0.8)
        self.assertEqual((session.errors, session.out), (["KeyboardInterrupt", None], "ab\n"))


if __name__ == "__main__":
    unittest.main()
