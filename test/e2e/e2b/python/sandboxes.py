"""Drives a server with E2B's Python SDK as its users write it. Fails at the first answer that is not as E2B's would be."""

import time

from e2b import (
    CommandExitException,
    NotFoundException,
    PtySize,
    SandboxException,
    SandboxNotFoundException,
    TimeoutException,
)
from e2b_code_interpreter import Sandbox
from e2b_code_interpreter.charts import BarChart, BoxAndWhiskerChart, LineChart, PieChart, ScatterChart, SuperChart


def fails(kind, call):
    """Return the message of the error that a call raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def state_and_streams(sandbox):
    first = sandbox.run_code("x = 20\nprint('one')\nimport sys\nprint('two', file=sys.stderr)\nx + 1")
    assert first.text == "21", first
    assert "".join(first.logs.stdout) == "one\n" and "".join(first.logs.stderr) == "two\n", first.logs
    assert first.execution_count == 1
    seen = []
    second = sandbox.run_code("for i in range(3): print(i)\nx", on_stdout=lambda output: seen.append(output.line))
    assert "".join(seen) == "0\n1\n2\n" and second.text == "20" and second.execution_count == 2
    assert sandbox.run_code("'text'").text == "text"
    failed = sandbox.run_code("def f():\n    return 1 / 0\nf()")
    assert failed.error.name == "ZeroDivisionError" and failed.error.value == "division by zero"
    assert "line 2, in f" in failed.error.traceback
    assert sandbox.run_code("import os\nos.environ['WHO'], os.getcwd()").text == "('me', '/home/user')"
    assert sandbox.run_code("os.environ['WHO']", envs={"WHO": "you"}).text == "you"
    assert sandbox.run_code("os.environ['WHO']").text == "me"
    table = sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})").results[0]
    assert table.data == {"a": [1, 2], "b": ["x", None]} and table.html and "a" in table.text


def charts(sandbox):
    def chart(code):
        result = sandbox.run_code(f"import matplotlib.pyplot as plt\n{code}\nplt.show()").results[0]
        assert result.png and not result.is_main_result
        return result.chart

    line = chart("plt.plot([1, 2], [3, 4], label='a'); plt.title('T'); plt.xlabel('Time (s)')")
    assert isinstance(line, LineChart) and line.title == "T" and line.x_unit == "s"
    assert [(one.label, one.points) for one in line.elements] == [("a", [(1, 3), (2, 4)])]
    scatter = chart("plt.scatter([1, 2], [3, 4])")
    assert isinstance(scatter, ScatterChart) and scatter.elements[0].points == [(1, 3), (2, 4)]
    bar = chart("plt.bar(['a', 'b'], [3, 4], label='g')")
    assert isinstance(bar, BarChart)
    assert [(one.label, one.group, one.value) for one in bar.elements] == [("a", "g", 3), ("b", "g", 4)]
    pie = chart("plt.pie([1, 3], labels=['a', 'b'])")
    assert isinstance(pie, PieChart) and [(one.label, one.angle) for one in pie.elements] == [("a", 90), ("b", 270)]
    box = chart("plt.boxplot([[1, 2, 3, 4, 50]])")
    assert isinstance(box, BoxAndWhiskerChart)
    assert (box.elements[0].median, box.elements[0].outliers) == (3, [50])
    both = chart("_, axes = plt.subplots(2); axes[0].plot([1, 2]); axes[1].bar(['a'], [1])")
    assert isinstance(both, SuperChart) and [type(one) for one in both.elements] == [LineChart, BarChart]


def contexts(sandbox):
    sandbox.run_code("only_here = 1\nopen('shared.txt', 'w').write('for all')")
    context = sandbox.create_code_context(cwd="/tmp")
    assert context.language == "python" and context.cwd == "/tmp"
    assert len(sandbox.list_code_contexts()) == 2
    code = "import os\nos.getcwd(), 'only_here' in globals(), open('/home/user/shared.txt').read()"
    assert sandbox.run_code(code, context=context).text == "('/tmp', False, 'for all')"
    sandbox.run_code("here = 1", context=context)
    sandbox.restart_code_context(context)
    assert sandbox.run_code("'here' in globals()", context=context).text == "False"
    assert sandbox.run_code("import os\nos.getcwd()", context=context).text == "/tmp"
    sandbox.remove_code_context(context)
    assert len(sandbox.list_code_contexts()) == 1
    assert "not found" in fails(NotFoundException, lambda: sandbox.run_code("1", context=context))
    assert "Python" in fails(NotFoundException, lambda: sandbox.run_code("1", language="javascript"))


def abort(sandbox):
    sandbox.run_code("kept = 'still here'")
    fails(TimeoutException, lambda: sandbox.run_code("import time\ntime.sleep(60)", timeout=0.5))
    started = time.monotonic()
    assert sandbox.run_code("kept").text == "still here"
    assert time.monotonic() - started < 10


def files(sandbox):
    info = sandbox.files.write("notes/a.txt", "one")
    assert (info.name, info.path) == ("a.txt", "/home/user/notes/a.txt")
    assert sandbox.files.read("/home/user/notes/a.txt") == "one"
    assert sandbox.run_code("open('notes/a.txt').read()").text == "one"
    sandbox.files.write("bytes.bin", bytes(range(256)))
    assert sandbox.files.read("bytes.bin", format="bytes") == bytearray(range(256))
    assert b"".join(sandbox.files.read("bytes.bin", format="stream")) == bytes(range(256))
    written = sandbox.files.write_files([{"path": "/tmp/1", "data": "1"}, {"path": "/tmp/2", "data": "2"}])
    assert [one.path for one in written] == ["/tmp/1", "/tmp/2"] and sandbox.files.read("/tmp/2") == "2"
    assert {one.name for one in sandbox.files.list("notes")} == {"a.txt"}
    assert sandbox.files.make_dir("made/deep") and not sandbox.files.make_dir("made/deep")
    assert sandbox.files.rename("notes/a.txt", "made/b.txt").path == "/home/user/made/b.txt"
    assert sandbox.files.exists("made/b.txt") and not sandbox.files.exists("notes/a.txt")
    facts = sandbox.files.get_info("made/b.txt")
    assert (facts.size, facts.permissions, facts.owner) == (3, "-rw-r--r--", "user")
    sandbox.files.remove("made")
    assert not sandbox.files.exists("made")
    assert "missing" in fails(NotFoundException, lambda: sandbox.files.read("missing"))


def watch(sandbox):
    sandbox.files.make_dir("watched")
    handle = sandbox.files.watch_dir("watched", recursive=True)
    sandbox.run_code("open('watched/new.txt', 'w').write('x')")
    events, deadline = [], time.monotonic() + 10
    while not any(name == "new.txt" and kind == "create" for name, kind in events):
        assert time.monotonic() < deadline, events
        events += [(event.name, event.type.value) for event in handle.get_new_events()]
        time.sleep(0.02)
    handle.stop()
    fails(SandboxException, handle.get_new_events)


def commands(sandbox):
    done = sandbox.commands.run("echo out; echo err >&2; pwd", cwd="/tmp", envs={"A": "b"})
    assert (done.exit_code, done.stdout, done.stderr) == (0, "out\n/tmp\n", "err\n")
    lines = []
    sandbox.commands.run("echo a; sleep 0.1; echo b", on_stdout=lines.append)
    assert "".join(lines) == "a\nb\n"
    try:
        sandbox.commands.run("echo no; exit 7")
        raise AssertionError("the command did not fail")
    except CommandExitException as error:
        assert (error.exit_code, error.stdout) == (7, "no\n")
    cat = sandbox.commands.run("cat", background=True, stdin=True)
    assert [one.pid for one in sandbox.commands.list()] == [cat.pid]
    sandbox.commands.send_stdin(cat.pid, "typed\n")
    sandbox.commands.close_stdin(cat.pid)
    assert cat.wait().stdout == "typed\n"
    sleeper = sandbox.commands.run("sleep 60", background=True)
    again = sandbox.commands.connect(sleeper.pid)
    assert sandbox.commands.kill(sleeper.pid) and not sandbox.commands.kill(4242)
    fails(CommandExitException, again.wait)
    fails(TimeoutException, lambda: sandbox.commands.run("sleep 60", timeout=0.5))


def lifecycle(sandbox):
    info = sandbox.get_info()
    assert info.sandbox_id == sandbox.sandbox_id and info.metadata == {"user": "a&b=c d"}
    query = Sandbox.list().next_items()
    assert sandbox.sandbox_id in {one.sandbox_id for one in query}
    other = Sandbox.connect(sandbox.sandbox_id)
    other.run_code("shared = 5")
    assert sandbox.run_code("shared").text == "5"
    sandbox.set_timeout(600)
    assert (sandbox.get_info().end_at - sandbox.get_info().started_at).total_seconds() > 500
    assert sandbox.get_metrics()[0].disk_total > 0
    assert "not supported" in fails(SandboxException, sandbox.pause)
    assert "not supported" in fails(SandboxException, sandbox.create_snapshot)
    assert "not supported" in fails(SandboxException, lambda: sandbox.pty.create(PtySize(rows=10, cols=40)))
    assert sandbox.is_running() and sandbox.kill() and not sandbox.is_running() and not sandbox.kill()
    fails(SandboxNotFoundException, sandbox.get_info)
    fails(TimeoutException, lambda: sandbox.run_code("1"))
    fails(TimeoutException, lambda: sandbox.files.list("."))


with Sandbox.create(timeout=120, metadata={"user": "a&b=c d"}, envs={"WHO": "me"}) as sandbox:
    for part in (state_and_streams, charts, contexts, abort, files, watch, commands, lifecycle):
        part(sandbox)
        print(part.__name__, flush=True)
