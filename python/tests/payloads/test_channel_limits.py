"""Tests of the limits of channels, each in a process of its own: they cannot be removed again."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EPICS = """
written = []
values = {"M": 1.0}
def caput(pvname, value, wait=False):
    written.append((pvname, value))
def caput_many(pvlist, values, wait=False):
    written.extend(zip(pvlist, values))
def caget(pvname):
    return values[pvname]
class PV:
    def __init__(self, pvname):
        self.pvname = pvname
    def get(self):
        return values[self.pvname]
    def put(self, value, wait=False):
        written.append((self.pvname, value))
    value = property(get, lambda self, value: self.put(value))
"""
CHANNELS = {"M": {"min_value": 0, "max_value": 10}, "S": {"max_step": 2}, "R": {"writable": False}, "F": {}}


def outcome(code: str, before: str = "", **settings: object) -> str:
    """Return the violation of the code, or what it wrote."""
    given = {"channels": CHANNELS, "allowUnlisted": False, "blocked": None, **settings}
    program = f"""
import json, sys
sys.path[:0] = [{HERE!r}, "."]
{before}
from _vivarium.payloads import channel_limits
channel_limits.install(json.loads({json.dumps(given)!r}))
try:
    exec({code!r}, {{"__name__": "__main__"}})
except channel_limits.ChannelLimitsViolation as error:
    print(error)
else:
    import epics
    print(epics.written)
"""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "epics.py"), "w") as file:
            file.write(EPICS)
        answer = subprocess.run(
            [sys.executable, "-B", "-c", program], cwd=directory, capture_output=True, text=True, check=True, timeout=60
        )
    return answer.stdout.strip()


class Limits(unittest.TestCase):
    def test_values_within_the_limits_are_written_whichever_way(self) -> None:
        for code in (
            "from epics import caput as c; c('M', 10)",
            "import epics; epics.caput(pvname='M', value=10)",
            "import epics; epics.caput_many(['M'], [10])",
            "import epics; epics.PV('M').put(10, wait=True)",
            "import epics; epics.PV('M').value = 10",
            "import importlib; importlib.import_module('epics').caput('M', 10)",
        ):
            with self.subTest(code):
                self.assertEqual(outcome(code), "[('M', 10)]")
                self.assertRegex(outcome(code.replace("10", "10.5")), "^MAX_EXCEEDED: M was not written: 10.5 ")

    def test_a_library_that_was_imported_before_is_checked_too(self) -> None:
        self.assertRegex(outcome("import epics; epics.caput('M', -1)", before="import epics"), "^MIN_EXCEEDED: M ")

    def test_what_cannot_be_compared_is_not_written(self) -> None:
        for value in ("float('nan')", "'hot'", "None", "[1, 2]"):
            with self.subTest(value):
                self.assertRegex(outcome(f"import epics; epics.caput('M', {value})"), "^M(IN|AX)_EXCEEDED: M ")

    def test_a_step_is_compared_with_the_present_value(self) -> None:
        for code in ("epics.caput('S', 3)", "epics.PV('S').put(3)"):
            with self.subTest(code):
                self.assertEqual(outcome(f"import epics; epics.values['S'] = 1; {code}"), "[('S', 3)]")
                self.assertRegex(
                    outcome(f"import epics; epics.values['S'] = 0; {code}"), "^MAX_STEP_EXCEEDED: S .* from 0"
                )
                self.assertRegex(outcome(f"import epics; {code}"), "^STEP_CHECK_FAILED: S ")
        self.assertRegex(
            outcome("import epics; epics.values['S'] = 1; epics.caput('S', float('nan'))"), "^MAX_STEP_EXCEEDED"
        )

    def test_channels_that_are_read_only_or_unlisted_are_not_written(self) -> None:
        self.assertRegex(outcome("import epics; epics.caput('R', 1)"), "^READ_ONLY_CHANNEL: R ")
        self.assertRegex(outcome("import epics; epics.caput('X', 1)"), "^UNLISTED_CHANNEL: X ")
        self.assertEqual(outcome("import epics; epics.caput('X', 1)", allowUnlisted=True), "[('X', 1)]")
        self.assertEqual(outcome("import epics; epics.caput('F', 'on')"), "[('F', 'on')]")

    def test_nothing_is_written_without_limits_that_could_be_read(self) -> None:
        self.assertRegex(
            outcome("import epics; epics.caput('M', 1)", blocked="it is gone", allowUnlisted=True),
            "^UNLISTED_CHANNEL: M was not written: nothing may be written, because it is gone$",
        )

    def test_a_handler_for_any_exception_does_not_go_on_after_it(self) -> None:
        code = "import epics\ntry: epics.caput('M', 11)\nexcept Exception: epics.caput('M', 10)"
        self.assertRegex(outcome(code), "^MAX_EXCEEDED")

    def test_one_value_out_of_many_that_is_too_large_writes_none(self) -> None:
        code = "import epics; epics.written.clear(); epics.caput_many(['M', 'M'], [1, 11])"
        self.assertRegex(outcome(code), "^MAX_EXCEEDED")
