"""A session in a process of its own, with `get_ipython()`: what it prints, shows and raises for some cells."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
DRIVER = """
import builtins, json, os, signal, sys
sys.path.insert(0, sys.argv[1])
from _vivarium.cell import source
from _vivarium.cell.runner import Runner
from _vivarium.cell.trace import describe
from _vivarium.display.publisher import Publisher
from _vivarium.notebook import interpreter
signal.signal(signal.SIGINT, signal.default_int_handler)
report = os.fdopen(int(sys.argv[2]), "w")
os.chdir(sys.argv[3])
runner = Runner(sys.argv[3], os.dup(1), os.dup(2))
runner.install_guards()
shown = []
publisher = Publisher(lambda item: shown.append({name: str(form) for name, form in item["data"].items()}))
def run(code, result):
    def show(value):
        result.result = value
        publisher.echo(value)
    runner.run_within(source.prepare(code, filename="<run_cell>", echo="last", flags=0), show)
shell = interpreter.ZMQInteractiveShell(runner.namespace, publisher, run=run, history=source.cells)
runner.around = shell.around
interpreter.install(builtins, shell)
report.write("\\n")  # ready for the first cell
report.flush()
flags = 0
for number, cell in enumerate(json.loads(sys.argv[4]), 1):
    code, given = cell if isinstance(cell, list) else (cell, None)
    error = None
    shown.clear()
    publisher.begin_run()
    try:
        prepared = source.prepare(code, filename=f"<cell {number}>", echo="last", flags=flags)
        flags = prepared.flags
        runner.run(prepared, publisher.echo, stdin=given)
    except BaseException as raised:
        error = describe(raised)
    publisher.end_run()
    runner.reset_process()
    sys.stdout.flush()
    os.write(1, b"\\0")
    os.write(2, b"\\0")
    report.write(json.dumps({"shown": shown, "error": error}) + "\\n")
    report.flush()
os._exit(0)
"""


class Session:
    """The reports and the output of some cells, run one after the other. A cell may come with its standard input."""

    def __init__(self, *cells: "str | tuple[str, str]", interrupt_after: float = 0) -> None:
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
            out, err = (text.decode() for text in child.communicate(timeout=60))
            with os.fdopen(reader) as reports:
                self.reports = [json.loads(line) for line in reports if line.strip()]
        if len(self.reports) != len(cells):
            raise AssertionError(f"{len(self.reports)} of {len(cells)} cells reported; stderr: {err}")
        self.out, self.err = out.split("\0")[:-1], err.split("\0")[:-1]
        self.errors = [report["error"] for report in self.reports]
        self.shown = [report["shown"] for report in self.reports]
        self.values = [shown[-1]["text/plain"] if shown else None for shown in self.shown]

    def failed(self) -> list[str]:
        """Return the errors, for a message."""
        return [f"{error['name']}: {error['value']}" for error in self.errors if error]
