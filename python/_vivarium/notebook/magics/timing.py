"""Magics that measure time, `%time` and `%timeit`, and those around a whole cell."""

from __future__ import annotations

import ast
import time

from _vivarium.notebook.magics.registry import Call, UsageError, magic, options_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any  # slow to load

ENOUGH_S = 0.2  # of one measurement, when the number of loops is chosen
MOST_LOOPS = 10**9
_TEMPLATE = """
def _timed(_loops, _clock):
    _begun = _clock()
    for _ in _loops:
        pass
    return _clock() - _begun
"""


class Stopwatch:
    """Measures processor and wall time from its start, and tells both as IPython does."""

    def __init__(self) -> None:
        self._begun = time.perf_counter(), _cpu_times()

    def tell(self) -> None:
        """Print the time since the start."""
        wall = time.perf_counter() - self._begun[0]
        user, system = (now - then for now, then in zip(_cpu_times(), self._begun[1]))
        print(f"CPU times: user {in_words(user)}, sys: {in_words(system)}, total: {in_words(user + system)}")
        print(f"Wall time: {in_words(wall)}")


@magic("time", expands=False)
def _time(call: Call) -> object:
    """Run a statement and tell how long it took; gives the value of an expression."""
    if not call.argument:
        return None
    pieces = compile_at(call, call.argument)
    watch = Stopwatch()
    value = None
    for code in pieces:
        value = eval(code, call.place.names, call.place.local)
    watch.tell()
    return value


@magic("time", "capture", kinds=("cell",), expands=False)
def _around(call: Call) -> None:
    """Run the cell and tell how long it took, or keep its output in a variable (%%capture NAME)."""
    with call.shell.around(call.name, call.argument):
        call.shell.run_cell(call.body).raise_error()


@magic("timeit", kinds=("line", "cell"), expands=False)
def _timeit(call: Call) -> object:
    """Run code many times and tell the mean time: -n loops, -r runs, -p digits, -q quiet, -o give a TimeitResult."""
    options, statement = options_in(call.argument, "qotcv", "nrp")
    if call.body is None:
        setup = "pass"
    else:
        setup, statement = statement or "pass", call.body
    if not statement.strip():
        return None
    loops, runs, digits = (_count(options, name, usual) for name, usual in (("n", 0), ("r", 7), ("p", 3)))
    begun = time.process_time()
    timed = _timed_function(call, setup, statement)
    compile_s = time.process_time() - begun
    clock = time.process_time if "c" in options else time.perf_counter
    if loops == 0:
        loops = 1
        while timed(range(loops), clock) < ENOUGH_S and loops < MOST_LOOPS:
            loops *= 10
    result = TimeitResult(loops, runs, [timed(range(loops), clock) for _ in range(runs)], compile_s, digits)
    if "q" not in options:
        result.tell()
    return result if "o" in options else None


class TimeitResult:
    """What `%timeit -o` gives. Times are in seconds: `timings` of one loop, `all_runs` of whole runs."""

    def __init__(self, loops: int, repeat: int, all_runs: list[float], compile_time: float, precision: int) -> None:
        self.loops, self.repeat = loops, repeat
        self.all_runs = all_runs
        self.timings = [spent / loops for spent in all_runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.compile_time = compile_time
        self._precision = precision

    @property
    def average(self) -> float:
        """Return the mean time of one loop."""
        return sum(self.timings) / len(self.timings)

    @property
    def stdev(self) -> float:
        """Return the standard deviation of the runs."""
        mean = self.average
        return (sum((spent - mean) ** 2 for spent in self.timings) / len(self.timings)) ** 0.5

    def __str__(self) -> str:
        """Return the times in words."""
        mean, deviation = (in_words(spent, self._precision) for spent in (self.average, self.stdev))
        runs = f"{self.repeat} run{'' if self.repeat == 1 else 's'}"
        loops = f"{self.loops:,} loop{'' if self.loops == 1 else 's'}"
        return f"{mean} ± {deviation} per loop (mean ± std. dev. of {runs}, {loops} each)"

    def __repr__(self) -> str:
        """Return the times as IPython shows them."""
        return f"<TimeitResult : {self}>"

    def tell(self) -> None:
        """Print the times."""
        if self.worst > 4 * self.best and self.best > 0 and self.worst > 1e-6:
            print(
                f"The slowest run took {self.worst / self.best:0.2f} times longer than the fastest. "
                "This could mean that an intermediate result is being cached."
            )
        print(self)
        if self.compile_time > 0.1:
            print(f"Compiler time: {self.compile_time:.2f} s")


def compile_at(call: Call, text: str) -> list[CodeType]:
    """Compile code that stands in a magic's line, with the line number of that line. The last expression is apart."""
    tree = call.shell.parse(text, call.place.filename)
    ast.increment_lineno(tree, call.place.number - 1)
    last = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
    pieces = [compile(tree, call.place.filename, "exec", dont_inherit=True)]
    for node in last:
        pieces.append(compile(ast.Expression(node.value), call.place.filename, "eval", dont_inherit=True))
    return pieces


def _timed_function(call: Call, setup: str, statement: str) -> Any:
    """Return a function that runs the statement as often as it is told, with the statement's variables being local."""
    first = call.place.number
    tree = ast.parse(_TEMPLATE)
    function: Any = tree.body[0]
    loop = function.body[1]
    for text, shift, into in ((statement, first - (call.body is None), loop.body), (setup, first - 1, None)):
        body = ast.increment_lineno(call.shell.parse(text, call.place.filename), shift).body
        if into is not None:
            into[:] = body or into
        else:
            function.body[:0] = body
    ast.fix_missing_locations(tree)
    names: dict[str, Any] = {}
    place = call.place
    around = place.names if place.local is place.names else {**place.names, **place.local}
    exec(compile(tree, place.filename, "exec", dont_inherit=True), around, names)
    return names["_timed"]


def in_words(seconds: float, precision: int = 3) -> str:
    """Return a time with a fitting unit."""
    if seconds >= 60:
        parts, left = [], seconds
        for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
            count, left = int(left // length), left % length
            if count:
                parts.append(f"{count}{unit}")
            if left < 1:
                break
        return " ".join(parts)
    units = ("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)
    unit, scale = next((pair for pair in units if seconds * pair[1] >= 1), units[-1])
    return f"{seconds * scale:.{precision}g} {unit}"


def _cpu_times() -> tuple[float, float]:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime


def _count(options: dict[str, Any], name: str, usual: int) -> int:
    try:
        return int(options.get(name, usual))
    except ValueError:
        raise UsageError(f"-{name} needs a number, not {options[name]!r}") from None
