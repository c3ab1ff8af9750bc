"""Tests of named fields and records."""

from __future__ import annotations

import unittest

from _vivarium.record import Fields, Record


class Point(Record):
    """A record with a default."""

    x: int
    y: int = 0


class Counter(Fields):
    """Fields that change."""

    count: int = 0


class RecordTest(unittest.TestCase):
    def test_fields_come_in_order_by_name_or_by_default(self) -> None:
        self.assertEqual(Point(1), Point(x=1, y=0))
        self.assertEqual(vars(Point(1, 2)), {"x": 1, "y": 2})
        self.assertNotEqual(Point(1), Counter(1))

    def test_missing_unknown_and_surplus_fields_are_refused(self) -> None:
        for make in (lambda: Point(), lambda: Point(1, z=2), lambda: Point(y=1, z=2), lambda: Point(1, 2, 3)):
            self.assertRaises(TypeError, make)

    def test_a_record_is_immutable_but_can_be_copied_with_changes(self) -> None:
        point = Point(1)
        with self.assertRaises(AttributeError):
            point.x = 2
        self.assertEqual(point.replaced(x=2), Point(2))
        self.assertEqual(point, Point(1))

    def test_plain_fields_can_change_and_defaults_stay(self) -> None:
        counter = Counter()
        counter.count += 1
        self.assertEqual((counter.count, Counter().count), (1, 0))


if __name__ == "__main__":
    unittest.main()
