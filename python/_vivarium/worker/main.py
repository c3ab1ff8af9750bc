"""The process that runs a session's code, and the dormant twins that take over when it is lost.

It shares its interpreter with untrusted code, so nothing it says can be trusted. It is written to survive accidents,
not malice. Facts such as exit, timeout and memory are decided outside.
"""

from __future__ import annotations

# without the enums of `signal`, which take longer than the call
import _signal  # type: ignore[import-not-found]
import _thread
import builtins
import os
import select
import signal
import time

from _vivarium import protocol
from _vivarium.cell import source, trace
from _vivarium.cell.limit_notes import limit_note, list_note
from _vivarium.cell.missing_modules import missing_note
from _vivarium.cell.order import unread_bytes
from _vivarium.cell.runner import Runner
from _vivarium.completion.complete import complete
from _vivarium.display import notebook
from _vivarium.display.figures import saved_in
from _vivarium.display.frames import report_frames, result_frame
from _vivarium.display.publisher import Publisher
from _vivarium.inside.pip.request import policy
from _vivarium.ledger.describe import inspect_variables
from _vivarium.ledger.ledger import Ledger
from _vivarium.ledger.looks import only_looks
from _vivarium.notebook import interpreter
from _vivarium.values import text as values
from _vivarium.values.encode import message_value
from _vivarium.values.frames import export_frame, summarize_frames
from _vivarium.values.hints import Any
from _vivarium.worker.join import CONTROL, Admission, WorkerSettings, join, report_failure
from _vivarium.worker.processors import SeenProcessors
from _vivarium.worker.temporary import empty_temporary
from _vivarium.worker.twins import Twins

EXIT_BROKEN = 70
LARGEST_FORM = 5_000_000
LINGER_S = 0.0003
REHEARSAL = {
    **{"type": "run", "id": "", "code": "1 + 1", "filename": "<rehearsal>", "echo": "last", "svg": False},
    **{"resultVariable": None, "mark": "", "opening": None, "refresh": False, "crowding": 0},
}


def main(channel: int, go: int, settings: WorkerSettings) -> None:
    """Wait for a session and serve its requests until the host closes the channel; never returns."""
    try:
        worker = Worker(settings)
        admission = join(channel, go, settings)
    except BaseException as error:
        report_failure(channel, error)
    try:
        worker.serve(admission)
    except protocol.Closed:
        os._exit(0)
    except BaseException:
        os._exit(EXIT_BROKEN)


class Worker:
    """One namespace and the requests that it is asked to run."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._control, self._stdout, self._stderr = CONTROL, CONTROL + 1, CONTROL + 2
        self._armed = False
        self._is_woken = False
        self._told_problem: object = None
        signal.signal(signal.SIGINT, self._on_interrupt)  # before the runner notes which handlers to bring back
        self._workspace = settings.workspace
        self._has_own_root = settings.level == "namespaces"
        self._is_confined = settings.level != "none"
        self._shown = settings.read_only
        self._runner = Runner(settings.workspace, self._stdout, self._stderr)
        self._ledger = Ledger()
        self._flags = 0
        self._results: list[bytes] = []
        self._twins = Twins(settings)
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        self._runner.install_guards()
        self._run_id = ""
        self._has_touched = False
        self._lingers = False
        self._is_rehearsal = False
        self._limits: dict[str, int] | None = None
        self._is_offline = False
        self._processors = SeenProcessors()
        self._is_listed = False
        self._publisher = Publisher(self._send_item, limit=LARGEST_FORM, on_cut=self._send_cut)
        notebook.install(builtins, self._publisher)
        self._install_interpreter()
        self._warm()

    def serve(self, admission: Admission) -> None:
        """Read a request, answer it, and make a twin whenever there is a quiet moment for it."""
        self._limits = admission.limits()
        self._is_offline = not (admission.network or admission.listed) and self._is_confined
        self._is_listed = admission.listed
        self._twins.admit(admission)
        self._processors.admit(admission)
        self._runner.take_channels()
        if self._has_own_root:
            empty_temporary((*self._shown, *(mount.target for mount in admission.mounts)))
        self._send({"type": "ready", "pid": os.getpid(), "isEmpty": not os.listdir(self._workspace)})
        is_tried = False
        while True:
            # A worker that has just been woken makes its twin at once: what was lost once may be lost again.
            if self._twins.is_due and not is_tried and (self._is_woken or not self._poll.poll(self._twins.delay_ms)):
                self._is_woken = False
                is_tried = not self._fork_twin()
                continue
            self._ledger.settle(self._runner.namespace, lambda: not self._poll.poll(0))
            if self._lingers:
                self._linger()
            request = protocol.receive(self._control)
            is_tried = False
            kind = request["type"]
            if kind == "run":
                self._run(request)
            elif kind == "environment":
                os.environ.update(request["variables"])
                self._processors.follow(request["variables"])
            elif kind == "inspect":
                self._send(
                    {"type": "variables", "id": request["id"], "variables": inspect_variables(self._runner.namespace)}
                )
            elif kind == "complete":
                found = complete(self._runner.namespace, request["text"])
                self._send({"type": "completion", "id": request["id"], "found": found})
            elif kind == "table":
                self._export(request)
            elif kind == "clear":
                self._send({"type": "cleared", "files": self._twins.clear_files()})
            elif kind == "renew":
                self._twins.renew()
                self._send({"type": "renewed"})
            # Anything else is an interrupt that came after the end of its run.

    def _linger(self) -> None:
        """Stay awake for a moment, so that a request that follows at once need not wait for this process to wake up.

        The host asks for it with each run, and only while there are more cores than busy sessions.
        """
        until = time.perf_counter() + LINGER_S
        while not self._poll.poll(0) and time.perf_counter() < until:
            pass

    def _run(self, request: dict) -> None:
        # A twin that does not know the files which the host has written since would not bring them back.
        refreshes = request["refresh"] and self._twins.is_enabled
        if (self._twins.is_due or refreshes) and self._fork_twin(refreshes):
            return  # we are that twin, woken because this very run was lost
        self._lingers = request.get("linger", False)
        self._twins.defer(request["crowding"])
        _signal.signal(signal.SIGINT, self._on_interrupt)
        if request["opening"] is not None:
            self._write_mark(request["opening"])  # what was printed since the last run is not this one's
        done: dict[str, object] = {"type": "done", "id": request["id"]}
        self._has_touched = False
        threads = _thread._count()
        try:
            try:
                self._arm(request["id"])
                self._execute(request)
                self._armed = False
            except BaseException as error:
                self._armed = False
                done["memory"] = isinstance(error, MemoryError)
                done["error"] = None if _is_clean_exit(error) else trace.describe(error, self._note_on(error))
                del error
        except KeyboardInterrupt as error:  # it came between the end of the program and the line after that
            self._armed = False
            done["error"] = done.get("error") or trace.describe(error)
        changes = self._ledger.end(self._runner.namespace, self._runner.own_modules)
        if self._runner.has_company:
            self._ledger.begin(self._runner.namespace)  # the next run tells what others change from now on
        if any(changes.values()):
            done["variables"] = changes
            if not self._has_touched and any(changes[kind] for kind in ("added", "changed", "removed")):
                # A thread had an effect beside a look. Nothing else has happened since the present twin was made.
                self._begin_change()
        report = self._collect(request, changes, done)
        self._twins.foresee()
        done["changed"] = self._has_touched and self._twins.is_enabled
        done["touched"] = self._has_touched
        done["threads"] = max(0, _thread._count() - threads)
        self._told_problem = self._twins.problem
        if self._twins.problem is not None:
            done["unprotected"], done["remedy"] = self._twins.problem
        done["results"] = self._publisher.report()
        done["marked"] = self._end_output(request["mark"])
        self._results += [protocol.encode(*frame) for frame in report_frames(request["id"], report)]
        self._results.append(protocol.encode({name: fact for name, fact in done.items() if fact}))
        self._flush_results()
        self._runner.reset_process()  # the host is busy with the answer meanwhile

    def _note_on(self, error: BaseException) -> str | None:
        if self._limits is None:
            return None
        return (
            limit_note(error, self._limits)
            or missing_note(error, is_offline=self._is_offline, packages=policy())
            or (list_note(error) if self._is_listed else None)
        )

    def _execute(self, request: dict) -> None:
        prepared = source.prepare(
            request["code"], filename=request["filename"], echo=request["echo"], flags=self._flags
        )
        self._flags = prepared.flags
        is_look = only_looks(prepared.tree, self._runner.namespace)
        self._armed = False  # half a change would not be protected
        if not is_look:
            self._begin_change()
        self._begin_ledger(prepared, is_look)
        self._arm(request["id"])
        self._run_id = request["id"]
        self._publisher.begin_run(svg=request["svg"])
        try:
            try:
                show = print if request["echo"] == "all" else self._publisher.echo
                self._runner.run(prepared, show, imports=not is_look, stdin=request.get("stdin"))
            finally:
                self._publisher.end_run()  # also after an error: what was drawn before it counts
        finally:
            self._runner.flush()

    def _install_interpreter(self) -> None:
        """Give programs `get_ipython()`."""
        names = self._runner.namespace
        shell = interpreter.ZMQInteractiveShell(names, self._publisher, run=self._run_within, history=source.cells)
        self._runner.around = shell.around
        interpreter.install(builtins, shell)

    def _run_within(self, code: str, result: interpreter.Result) -> None:
        """Run a cell that the program wants to be run."""
        prepared = source.prepare(code, filename="<run_cell>", echo="last", flags=self._flags)
        self._flags = prepared.flags

        def show(value: object) -> None:
            result.result = value
            self._publisher.echo(value)

        self._runner.run_within(prepared, show)

    def _begin_ledger(self, prepared: source.Prepared, is_look: bool) -> None:
        """Note what the run may change. If others run beside it, that is everything."""
        if self._runner.has_company:
            self._ledger.begin(self._runner.namespace)
        elif not is_look:
            codes = [code for code, _ in prepared.pieces]
            self._ledger.begin(self._runner.namespace, codes, self._runner.own_modules)

    def _begin_change(self) -> None:
        self._has_touched = True
        self._twins.begin_change()

    def _collect(self, request: dict, changes: dict[str, Any], done: dict[str, object]) -> dict[str, Any]:
        """Return what the host asked about variables. That may be slow, so the time limit still applies."""
        report: dict[str, Any] = {}
        try:
            self._arm(request["id"])
            report["saved"] = saved_in(self._workspace, self._publisher.figures.saved)
            report["dataframes"] = summarize_frames(self._runner.namespace, [*changes["added"], *changes["changed"]])
            name = request["resultVariable"]
            if name is not None and name in self._runner.namespace:
                report["value"] = message_value(self._runner.namespace[name])
            self._armed = False
        except KeyboardInterrupt as error:
            self._armed = False
            done["error"] = done.get("error") or trace.describe(error)
        return report

    def _export(self, request: dict) -> None:
        """Write a table. That may run code of the program, so there must be a twin."""
        if self._twins.is_due and self._fork_twin():
            return  # we are that twin, woken because this export was lost
        path = os.path.join(self._workspace, request["path"])
        problem = export_frame(self._runner.namespace, request["name"], path, request["format"])
        self._send({"type": "table", "id": request["id"], "problem": problem})

    def _send_item(self, item: dict) -> None:
        """Send an item. The value of a cell is sent with the end of the cell."""
        self._results.append(protocol.encode(*result_frame(item, self._run_id)))
        if item["kind"] != "result":
            self._runner.flush()
            self._runner.order.await_read(self._stdout, self._stderr)  # what was printed before it comes before it
            self._flush_results()
            self._runner.order.await_read(self._control)  # what is printed after it comes after it

    def _send_cut(self, report: dict[str, int]) -> None:
        """Tell how much was left out so far. The end of the run tells it again, if it comes to that."""
        self._results.append(protocol.encode({"type": "cut", "id": self._run_id, "results": report}))
        self._flush_results()

    def _flush_results(self) -> None:
        results = b"".join(self._results)
        self._results.clear()
        if not self._is_rehearsal:
            protocol.write_all(self._control, results)

    def _on_interrupt(self, *_: object) -> None:
        if self._armed:
            raise KeyboardInterrupt

    def _arm(self, run_id: str) -> None:
        """From now on SIGINT stops the run. One that came too early is not lost: the host sends a frame before each."""
        self._armed = True
        while not self._is_rehearsal and self._poll.poll(0):  # during a run the host sends nothing else
            self._armed = False  # half a frame must not be left in the channel
            request = protocol.receive(self._control)
            if request["type"] == "interrupt" and request["id"] == run_id:
                raise KeyboardInterrupt
            self._armed = True

    def _fork_twin(self, refreshes: bool = False) -> bool:
        """Fork a dormant copy of the present state. Returns True in the copy, once it is woken to take over."""
        token = os.urandom(16)
        made = self._twins.make()
        if made is None:
            self._tell_problem()
            return False
        if made == 0:
            self._take_over(token)
            return True
        facts = {"pid": made, "token": token.hex(), "dropped": self._twins.dropped_previous, "refreshed": refreshes}
        self._send({"type": "twin", **facts})
        self._twins.drop_outdated()
        return False

    def _take_over(self, token: bytes) -> None:
        """In a copy that was woken: get in step with the host, and do nothing else before it says what to do."""
        protocol.skip_past(self._control, token)
        protocol.write_all(self._control, token)
        while (request := protocol.receive(self._control))["type"] != "resume":
            pass
        files = self._twins.restore_files(request["files"])
        self._send({"type": "resumed", "pid": os.getpid(), "files": files})
        self._write_mark(request["mark"])
        self._is_woken = True

    def _tell_problem(self) -> None:
        """Tell the host why there is no twin after all, so that it knows if the state is lost."""
        problem = self._twins.problem
        if problem is not None and problem != self._told_problem:
            self._told_problem = problem
            self._send({"type": "unprotected", "reason": problem[0]})

    def _warm(self) -> None:
        """Touch the memory that the next run will touch, while nobody waits: after a fork, first writes are slow."""
        self._is_rehearsal = True
        with self._runner.rehearsal():
            # A program may have broken what this needs; then the next run reports it.
            values.attempt(lambda: self._run(REHEARSAL))
        self._is_rehearsal = False

    def _end_output(self, mark: str) -> bool:
        """Mark the end of a run's output, unless the host has read all of it. What comes before belongs to the run."""
        pipes = (self._stdout, self._stderr)
        if self._results:
            is_read = self._runner.order.await_read(*pipes)  # what was printed before a value comes before it
        else:
            is_read = unread_bytes(self._stdout) == 0 == unread_bytes(self._stderr)
        if not is_read:
            self._write_mark(mark)
        return not is_read

    def _write_mark(self, mark: str) -> None:
        for fd in (self._stdout, self._stderr):
            protocol.write_all(fd, bytes.fromhex(mark))

    def _send(self, frame: dict[str, object]) -> None:
        protocol.send(self._control, frame)


def _is_clean_exit(error: BaseException) -> bool:
    """Return whether this is `exit()` or `sys.exit(0)`, which end a program without an error."""
    return type(error) is SystemExit and error.code in (None, 0)
