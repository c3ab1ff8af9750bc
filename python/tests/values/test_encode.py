"""Tests of turning values of Python itself into JSON."""

import dataclasses
import enum
import time as clock
import typing
import unittest
from array import array
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from unittest import mock
from uuid import UUID

from _vivarium.values.encode import encode_value

from tests.values.encoded import decode, parse

INF, NAN = float("inf"), float("nan")
Point = namedtuple("Point", "x y")
BIG = 10**5_000


class Color(enum.Enum):
    RED = (255, 0, 0)
    DEFAULT = None


class Level(enum.IntEnum):
    LOW = 1


class Mode(enum.Flag):
    R = 1
    W = 2


class Word(str, enum.Enum):
    YES = "yes"


@dataclasses.dataclass
class Sample:
    name: str
    values: list = dataclasses.field(default_factory=list)
    shared: typing.ClassVar[int] = 5


Slotted = dataclasses.make_dataclass("Slotted", [("a", int), ("b", object, None)], slots=True)


class Typed(typing.NamedTuple):
    first: int
    rest: tuple = ()


class Zone(tzinfo):
    def utcoffset(self, when):
        raise SystemExit

    dst = tzname = utcoffset


class MyInt(int):
    pass


class MyStr(str):
    pass


class MyList(list):
    pass


class MyDict(dict):
    pass


def tag(kind: str, **fields: object) -> dict[str, object]:
    return {"_type": kind, **fields}


def pairs(*items: list[object]) -> dict[str, object]:
    return tag("dict", items=list(items))


SAME = [  # they become themselves
    None, True, False, 0, 1, -1, 2**53, -(2**53), 2**31, 0.0, 1.5, -2.5e-300, 1e308, 5e-324, 0.1 + 0.2, 1e16,
    "", "text", "äöü €", "😀", "line\nbreak\t\"quoted\" \\ \x00\x7f\u2028", "</script>",
    [], [1, 2.5, "x", None, True], [[[]]], [{}], {}, {"a": 1}, {"a": {"b": [1, {"c": None}]}}, {"": 0}, {"__proto__": {"x": 1}}, {"type": "int"},
]  # fmt: skip

REVERSIBLE = [
    (2**53 + 1, tag("int", value="9007199254740993")),
    (-(2**53) - 1, tag("int", value="-9007199254740993")),
    (10**100, tag("int", value="1" + "0" * 100)),
    (BIG, tag("int", value=hex(BIG))),
    (-BIG, tag("int", value=hex(-BIG))),
    (1 << 100_000, tag("int", value="0x1" + "0" * 25_000)),
    (NAN, tag("float", value="NaN")),
    (INF, tag("float", value="Infinity")),
    (-INF, tag("float", value="-Infinity")),
    ([1.0, NAN, {"a": INF}], [1.0, tag("float", value="NaN"), {"a": tag("float", value="Infinity")}]),
    (1 + 2j, tag("complex", real=1.0, imag=2.0)),
    (complex(NAN, -INF), tag("complex", real=tag("float", value="NaN"), imag=tag("float", value="-Infinity"))),
    (b"", tag("bytes", value="")),
    (b"\x00\xff", tag("bytes", value="AP8=")),
    (bytearray(b"ab"), tag("bytearray", value="YWI=")),
    (set(), tag("set", items=[])),
    ({3, 1, 2}, tag("set", items=[1, 2, 3])),
    ({"b", "a"}, tag("set", items=["a", "b"])),
    ({(1, 2)}, tag("set", items=[[1, 2]])),
    (frozenset({1.5}), tag("frozenset", items=[1.5])),
    ({1: "a", 2: "b"}, pairs([1, "a"], [2, "b"])),
    ({None: 1, True: 2, 1.5: 3, "x": 4}, pairs([None, 1], [True, 2], [1.5, 3], ["x", 4])),
    ({(1, "a"): 2}, pairs([[1, "a"], 2])),
    ({"_type": "int", "value": "5"}, pairs(["_type", "int"], ["value", "5"])),
    ({date(2024, 2, 29): 1}, pairs([tag("date", value="2024-02-29"), 1])),
    ({b"k": {1: 2}}, pairs([tag("bytes", value="aw=="), pairs([1, 2])])),
    (range(3), tag("range", start=0, stop=3, step=1)),
    (range(10**30, 0, -7), tag("range", start=tag("int", value=str(10**30)), stop=0, step=-7)),
    (datetime(2024, 1, 2, 3, 4, 5), tag("datetime", value="2024-01-02T03:04:05")),
    (datetime(2024, 1, 2, 3, 4, 5, 678, timezone.utc), tag("datetime", value="2024-01-02T03:04:05.000678+00:00")),
    (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=-5))), tag("datetime", value="0001-01-01T00:00:00-05:00")),
    (date(9999, 12, 31), tag("date", value="9999-12-31")),
    (time(1, 2, 3, 4), tag("time", value="01:02:03.000004")),
    (time(23, tzinfo=timezone.utc), tag("time", value="23:00:00+00:00")),
    (timedelta(1, 2, 3), tag("timedelta", value="P1DT0H0M2.000003S")),
    (timedelta(-1, 1), tag("timedelta", value="-P0DT23H59M59S")),
    (timedelta.max, tag("timedelta", value="P999999999DT23H59M59.999999S")),
    (Decimal("1.10"), tag("decimal", value="1.10")),
    (Decimal("-Infinity"), tag("decimal", value="-Infinity")),
    (Decimal("1E+1000"), tag("decimal", value="1E+1000")),
    (Fraction(-1, 3), tag("fraction", numerator=-1, denominator=3)),
    (Fraction(1, 2**60), tag("fraction", numerator=1, denominator=tag("int", value=str(2**60)))),
    (UUID(int=255), tag("uuid", value="00000000-0000-0000-0000-0000000000ff")),
    ([{"when": date(2024, 1, 1), "amount": Decimal("0.5")}], [{"when": tag("date", value="2024-01-01"), "amount": tag("decimal", value="0.5")}]),
]  # fmt: skip

ONE_WAY = [  # they keep their content, not their type
    (-0.0, -0.0),
    ((1, (2, 3)), [1, [2, 3]]),
    ((), []),
    ("a\ud800b", "a\ufffdb"),
    ("\ud83d\ude00", "😀"),
    ({"\ud800": 1, "\ud801": 2}, pairs(["\ufffd", 1], ["\ufffd", 2])),  # noqa: F601
    (MyInt(7), 7),
    (MyInt(2**60), tag("int", value=str(2**60))),
    (MyStr("s"), "s"),
    ({MyStr("key"): 1}, {"key": 1}),
    (MyList([1]), [1]),
    (MyDict(a=1), {"a": 1}),
    (Counter("aab"), {"a": 2, "b": 1}),
    (defaultdict(list, x=[1]), {"x": [1]}),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (deque([1, 2], maxlen=2), [1, 2]),
    (array("d", [1.5]), [1.5]),
    ({"a": 1}.keys(), ["a"]),
    ({"a": 1}.values(), [1]),
    ({"a": 1}.items(), [["a", 1]]),
    (Point(1, 2), {"x": 1, "y": 2}),
    (Typed(1, (2,)), {"first": 1, "rest": [2]}),
    (Sample("n", [1]), {"name": "n", "values": [1]}),
    (Path("/tmp/a b"), "/tmp/a b"),
    (PurePosixPath("x/../y"), "x/../y"),
    (PureWindowsPath("c:/x"), "c:\\x"),
    (Color.RED, tag("enum", type="Color", name="RED", value=[255, 0, 0])),
    (Level.LOW, tag("enum", type="Level", name="LOW", value=1)),
    (Word.YES, tag("enum", type="Word", name="YES", value="yes")),
    (Mode.R, tag("enum", type="Mode", name="R", value=1)),
    ({Word.YES: 1}, pairs([tag("enum", type="Word", name="YES", value="yes"), 1])),
    (datetime(2024, 1, 1, tzinfo=Zone()), tag("datetime", value="2024-01-01T00:00:00", zone="Zone")),
    (object, tag("object", type="type", module="builtins", repr="<class 'object'>")),
    (len, tag("object", type="builtin_function_or_method", module="builtins", repr="<built-in function len>")),
    (..., tag("object", type="ellipsis", module="builtins", repr="Ellipsis")),
    (ValueError("x"), tag("object", type="ValueError", module="builtins", repr="ValueError('x')")),
    (slice(1, 2), tag("object", type="slice", module="builtins", repr="slice(1, 2, None)")),
]  # fmt: skip


class Table(unittest.TestCase):
    def test_values_of_json_become_themselves(self) -> None:
        for value in SAME:
            with self.subTest(value):
                parsed = parse(encode_value(value))
                self.assertEqual((parsed, type(parsed)), (value, type(value)))

    def test_tagged_values_can_be_rebuilt(self) -> None:
        for value, expected in REVERSIBLE:
            with self.subTest(repr_of(value)):
                parsed = parse(encode_value(value))
                self.assertEqual(parsed, expected)
                back = decode(parsed)
                self.assertIs(type(back), type(value))
                self.assertTrue(back == value or repr(back) == repr(value))  # NaN equals nothing

    def test_other_values_keep_their_content(self) -> None:
        for value, expected in ONE_WAY:
            with self.subTest(repr_of(value)):
                self.assertEqual(parse(encode_value(value)), expected)

    def test_a_data_class_with_slots_has_its_fields(self) -> None:
        value = Slotted(1)
        self.assertEqual(parse(encode_value(value)), {"a": 1, "b": None})
        del value.b
        self.assertEqual(parse(encode_value(value)), {"a": 1})

    def test_a_derived_frozen_data_class_has_all_its_fields(self) -> None:
        plain = dataclasses.make_dataclass("Base", [("a", int)], frozen=True)
        derived = dataclasses.make_dataclass("Derived", [("b", int)], bases=(plain,), frozen=True)
        self.assertEqual(parse(encode_value(derived(1, 2))), {"a": 1, "b": 2})

    def test_a_named_zone_is_kept_beside_the_offset(self) -> None:
        try:
            from zoneinfo import ZoneInfo

            zone = ZoneInfo("Europe/Berlin")
        except Exception:
            self.skipTest("no time zone data")
        value = datetime(2024, 7, 1, 12, tzinfo=zone)
        parsed = parse(encode_value(value))
        self.assertEqual(parsed, tag("datetime", value="2024-07-01T12:00:00+02:00", zone="Europe/Berlin"))
        self.assertEqual(decode(parsed), value)

    def test_an_ordered_dictionary_keeps_its_order(self) -> None:
        value = OrderedDict(a=1, b=2)
        value.move_to_end("a")
        self.assertEqual(encode_value(value), '{"b":2,"a":1}')

    def test_unknown_values_are_described_and_not_consumed(self) -> None:
        numbers = (number for number in [1, 2])
        with open("/dev/null") as file:
            parsed = parse(encode_value({"g": numbers, "f": lambda: 1, "m": enum, "file": file}))
        self.assertEqual(
            [item["type"] for item in parsed.values()], ["generator", "function", "module", "TextIOWrapper"]
        )
        self.assertEqual(list(numbers), [1, 2])


class Limits(unittest.TestCase):
    def test_a_long_list_says_how_much_is_missing(self) -> None:
        parsed = parse(encode_value(list(range(30)), max_items=10))
        self.assertEqual(parsed, tag("truncated", type="list", length=30, shown=10, value=list(range(10))))

    def test_a_list_of_just_the_limit_is_whole(self) -> None:
        self.assertEqual(parse(encode_value(list(range(10)), max_items=10)), list(range(10)))

    def test_a_long_part_leaves_room_for_what_follows(self) -> None:
        parsed = parse(encode_value({"long": list(range(100)), "after": 1}, max_items=21))
        self.assertEqual(parsed["after"], 1)
        self.assertEqual((parsed["long"]["length"], parsed["long"]["shown"]), (100, 10))
        parsed = parse(encode_value({"long": "x" * 10**6, "after": 1}, max_bytes=2_000))
        self.assertEqual((parsed["after"], parsed["long"]["_type"], parsed["long"]["length"]), (1, "truncated", 10**6))

    def test_long_dictionaries_and_sets_say_how_much_is_missing(self) -> None:
        parsed = parse(encode_value({str(number): number for number in range(30)}, max_items=3))
        self.assertEqual(parsed, tag("truncated", type="dict", length=30, shown=3, value={"0": 0, "1": 1, "2": 2}))
        parsed = parse(encode_value(set(range(30)), max_items=4))
        self.assertEqual((parsed["_type"], parsed["items"]["length"]), ("set", 30))

    def test_deep_values_are_cut_at_the_depth_limit(self) -> None:
        self.assertEqual(
            parse(encode_value([[[[1]]]], max_depth=2)), [[tag("truncated", type="list", length=1, shown=0, value=[])]]
        )
        self.assertEqual(parse(encode_value([[[]]], max_depth=2)), [[[]]])

    def test_the_byte_limit_holds_for_every_shape(self) -> None:
        shapes = [["x" * 100] * 1_000, {str(n): ["é" * 50] for n in range(500)}, "😀" * 10**5, b"x" * 10**6, 1 << 10**7, [[[["a" * 400]]]] * 9,
                  {n: n for n in range(10**4)}, [float("nan")] * 10**4, [object()] * 1_000, Decimal(10) ** 5 * Decimal("1." + "1" * 5_000)]  # fmt: skip
        for limit in (0, 400, 1_000, 5_000, 100_000):
            for value in shapes:
                with self.subTest(limit=limit, kind=type(value)):
                    text = encode_value(value, max_bytes=limit)
                    parse(text)
                    self.assertLessEqual(len(text), max(limit, 400))

    def test_long_text_is_cut_with_its_length(self) -> None:
        parsed = parse(encode_value("x" * 10**7, max_bytes=1_000))
        self.assertEqual((parsed["type"], parsed["length"]), ("str", 10**7))
        self.assertGreater(len(parsed["value"]), 400)
        self.assertEqual(parse(encode_value(1 << 10**8))["bits"], 10**8 + 1)

    def test_cycles_are_marked(self) -> None:
        loop: list[object] = [1]
        loop.append({"again": loop})
        self.assertEqual(parse(encode_value(loop)), [1, {"again": tag("cycle")}])
        shared = [1]
        self.assertEqual(parse(encode_value([shared, shared])), [[1], [1]])

    def test_many_unknown_values_share_the_time_for_reprs(self) -> None:
        slow = type("Slow", (), {"__repr__": lambda self: clock.sleep(0.05) or "slow"})
        with mock.patch("_vivarium.values.encode.REPR_SECONDS", 0.2):
            parsed = parse(encode_value([slow() for _ in range(200)]))
        self.assertEqual((parsed[0]["repr"], parsed[-1]["repr"]), ("slow", "<Slow object>"))


def repr_of(value: object) -> str:
    """Return a text that differs for values that differ, whatever their size."""
    return hex(value) if type(value) is int else repr(value)


if __name__ == "__main__":
    unittest.main()
