"""Tests that no value can break, stall or fool the encoder."""

import dataclasses
import enum
import signal
import sys
import time
import unittest
from collections import OrderedDict, UserDict, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

from _vivarium.values.encode import encode_value

from tests.values.encoded import parse

SECONDS = 5.0  # of the processor, for one value
called: list[str] = []


def trap(*_: object, **__: object) -> object:
    """Record that code of the program ran; only a repr may do that."""
    called.append("trap")
    raise SystemExit("trap")


TRAPPED = (
    "__iter__",
    "__len__",
    "__getitem__",
    "__getattribute__",
    "__str__",
    "__eq__",
    "__bool__",
    "__contains__",
    "__format__",
    "__reduce_ex__",
)
MORE = (
    "items",
    "keys",
    "values",
    "get",
    "isoformat",
    "encode",
    "bit_length",
    "__index__",
    "__int__",
    "__float__",
    "real",
    "imag",
    "tolist",
    "name",
    "value",
)


def evil(base: type, *, extra: "dict[str, object] | None" = None) -> type:
    """Return a class derived from `base` in which every method is a trap."""
    members = dict.fromkeys((*TRAPPED, *MORE), trap)
    return type(f"Evil{base.__name__}", (base,), {**members, "__hash__": base.__hash__ or None, **(extra or {})})


def nested(levels: int) -> "list[object]":
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


def release(value: object) -> None:
    """Free a deep list step by step: freeing it at once may overflow the stack of older interpreters."""
    while type(value) is list and value:
        value = value[0]


class Forged:
    """Claims to be a dictionary."""

    __class__ = property(lambda self: dict)  # type: ignore[assignment]
    items = __iter__ = __len__ = keys = trap


class Liar(type):
    """A metaclass whose every answer is a trap."""

    __instancecheck__ = __subclasscheck__ = __eq__ = __getattribute__ = __repr__ = __iter__ = trap
    __hash__ = type.__hash__
    __name__ = property(trap)
    __mro__ = property(trap)
    __module__ = property(trap)  # type: ignore[assignment]


class Endless:
    def __iter__(self):
        return self

    def __next__(self):
        return 1

    __len__ = lambda self: sys.maxsize  # noqa: E731
    __getitem__ = lambda self, _: 1  # noqa: E731
    keys = lambda self: self  # noqa: E731


class Lazy(list):
    __len__ = lambda self: 0  # noqa: E731


class BadEnum(enum.Enum):
    A = 1


del BadEnum.A.__dict__["_value_"]


@dataclasses.dataclass
class Trapped:
    a: int

    __getattribute__ = __iter__ = __eq__ = trap  # type: ignore[assignment]


def chain() -> object:
    value: object = 1
    for _ in range(1_000):
        value = Fraction(1, 2) if value is None else {"next": value}
    return value


def wide() -> object:
    """Return a value of few objects whose tree is astronomically large."""
    value: list[object] = [1]
    for _ in range(60):
        value = [value, value]
    return value


def swollen() -> object:
    value = {}
    value[evil(str)("key")] = value
    return value


def raising(error: BaseException) -> object:
    def fail(self: object) -> str:
        raise error

    return type("Raising", (), {"__repr__": fail})()


def shouting() -> object:
    return type("Shouting", (), {"__repr__": lambda self: "y" * 10**7})()


def odd_repr() -> object:
    return type("Odd", (), {"__repr__": lambda self: evil(str)("fine")})()


def surrogate_names() -> object:
    return type("Bad", (), {"__module__": "mod\udfff", "__repr__": lambda self: "\udc00"})()


def fake_fields() -> object:
    return type("Fake", (), {"__dataclass_fields__": {1: 2, "gone": 3, evil(str)("x"): 4}})()


def fake_tuple() -> object:
    return type("Fake", (tuple,), {"_fields": ("a", "b"), "__iter__": trap})((1, 2, 3))


QUIET = [  # their own code must not run; the text holds the content of the built-in type
    ("list", lambda: evil(list)([1, 2]), [1, 2]),
    ("tuple", lambda: evil(tuple)((1,)), [1]),
    ("dict", lambda: evil(dict)(a=1), {"a": 1}),
    ("ordered dict", lambda: evil(OrderedDict)([("a", 1)]), {"a": 1}),
    ("str", lambda: evil(str)("text"), "text"),
    ("int", lambda: evil(int)(5), 5),
    ("float", lambda: evil(float)(1.5), 1.5),
    ("bytes", lambda: evil(bytes)(b"x"), {"_type": "bytes", "value": "eA=="}),
    ("bytearray", lambda: evil(bytearray)(b"x"), {"_type": "bytearray", "value": "eA=="}),
    ("complex", lambda: evil(complex)(1j), {"_type": "complex", "real": 0.0, "imag": 1.0}),
    ("set", lambda: evil(set)({1}), {"_type": "set", "items": [1]}),
    ("frozenset", lambda: evil(frozenset)({1}), {"_type": "frozenset", "items": [1]}),
    ("deque", lambda: evil(deque)([1]), [1]),
    ("datetime", lambda: evil(datetime)(2024, 1, 1), {"_type": "datetime", "value": "2024-01-01T00:00:00"}),
    ("date", lambda: evil(date)(2024, 1, 1), {"_type": "date", "value": "2024-01-01"}),
    ("timedelta", lambda: evil(timedelta)(1), {"_type": "timedelta", "value": "P1DT0H0M0S"}),
    ("decimal", lambda: evil(Decimal)("1.5"), {"_type": "decimal", "value": "1.5"}),
    ("data class", lambda: Trapped(1), {"a": 1}),
    ("key", lambda: {evil(str)("k"): 1}, {"k": 1}),
    ("false length", lambda: Lazy([1, 2]), [1, 2]),
    ("false fields", fake_tuple, [1, 2, 3]),
    ("cycle through a key", swollen, {"key": {"_type": "cycle"}}),
]

UNKNOWN = [  # described as objects
    ("forged class", Forged),
    ("metaclass", lambda: Liar("Lie", (), {})),
    ("instance of a lying class", lambda: Liar("Lie", (), {})()),
    ("endless", Endless),
    ("endless in a list", lambda: [Endless(), iter(int, 1)]),
    ("mapping of the program", lambda: UserDict(a=1)),
    ("enum without value", lambda: BadEnum.A),
    ("false data class", fake_fields),
    ("path of the program", lambda: type("MyPath", (PurePosixPath,), {"__str__": trap, "__fspath__": trap})("x")),
    ("raising", lambda: raising(ValueError("no"))),
    ("exiting", lambda: raising(SystemExit())),
    ("generator exit", lambda: raising(GeneratorExit())),
    ("recursion", lambda: raising(RecursionError())),
    ("no memory", lambda: raising(MemoryError())),
    ("long repr", shouting),
    ("repr of a str subclass", odd_repr),
    ("surrogates everywhere", surrogate_names),
]

LARGE = [
    ("deep", lambda: nested(10**6)),
    ("deep dictionaries", chain),
    ("ten million items", lambda: [0] * 10**7),
    ("ten million objects", lambda: [object()] * 10**7),
    ("large dictionary", lambda: dict.fromkeys(range(10**6))),
    ("large set", lambda: set(range(10**6))),
    ("long text", lambda: "\ud800" * 10**7),
    ("long bytes", lambda: bytes(10**8)),
    ("huge number", lambda: 1 << 10**8),
    ("huge fraction", lambda: Fraction(1, 1 << 10**6)),
    ("huge range", lambda: range(10**5000)),
    ("exponential tree", wide),
    ("long key", lambda: {"k" * 10**7: 1}),
]


class Hostile(unittest.TestCase):
    def setUp(self) -> None:
        called.clear()
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._expire)
        signal.setitimer(signal.ITIMER_REAL, 120)

    def _expire(self, *_: object) -> None:
        raise KeyboardInterrupt

    def _encode(self, value: object) -> object:
        start = time.process_time()
        text = encode_value(value)
        self.assertLess(time.process_time() - start, SECONDS)
        self.assertLessEqual(len(text), 1_000_000)
        return parse(text)

    def test_no_code_of_the_program_runs(self) -> None:
        for name, make, expected in QUIET:
            with self.subTest(name):
                value = make()
                called.clear()
                self.assertEqual(self._encode(value), expected)
                self.assertEqual(called, [])

    def test_other_values_are_described_as_objects(self) -> None:
        for name, make in UNKNOWN:
            with self.subTest(name):
                found = self._encode(make())
                found = found[0] if type(found) is list else found
                self.assertIn(found.get("_type"), ("object", None))

    def test_large_values_take_bounded_time(self) -> None:
        for name, make in LARGE:
            with self.subTest(name):
                value = make()
                self._encode(value)
                release(value)

    def test_a_hanging_repr_ends_with_the_interrupt_of_the_run(self) -> None:
        def hang(self: object) -> str:
            while True:
                pass

        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with self.assertRaises(KeyboardInterrupt):
            encode_value([type("Hang", (), {"__repr__": hang})()])

    def test_a_repr_may_encode_its_own_value(self) -> None:
        kind = type("Self", (), {"__repr__": lambda self: encode_value([self])})
        self.assertEqual(self._encode(kind())["_type"], "object")

    def test_a_low_recursion_limit_does_not_break_the_encoder(self) -> None:
        limit = sys.getrecursionlimit()
        value = nested(39)
        try:
            sys.setrecursionlimit(depth_now() + 60)
            text = encode_value(value)
        finally:
            sys.setrecursionlimit(limit)
        parse(text)

    def test_a_value_that_a_thread_keeps_changing_is_still_encoded(self) -> None:
        from threading import Event, Thread

        value: dict[int, object] = {}
        stop = Event()

        def change() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                value[number % 5_000] = [number]
                value.pop((number * 7) % 5_000, None)

        worker = Thread(target=change)
        worker.start()
        try:
            for _ in range(10):
                self._encode({"changing": value})
        finally:
            stop.set()
            worker.join()


def depth_now() -> int:
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return depth


if __name__ == "__main__":
    unittest.main()
