"""Random programs: what the ledger finds by reach must be what a comparison of all variables finds."""

import random
import unittest

from _vivarium.ledger.kinds import is_variable
from _vivarium.ledger.ledger import Ledger
from _vivarium.ledger.marks import Mark

NAMES = [f"{letter}{number}" for letter in "abc" for number in range(4)]
SETUP = """
import functools, collections, itertools, weakref
class Node:
    total = 0
    def __init__(self, *items): self.items = list(items); self.next = None
    def push(self, item): self.items.append(item); return self
    def touch(self): Node.total += 1
    def __iadd__(self, other): self.items.append(other); return self
    def __call__(self): self.push(1)
    @property
    def grown(self): return self.push(0)
    def __len__(self): return len(self.items)
class Slotted:
    __slots__ = ("held", "count")
    def __init__(self, held): self.held = held; self.count = 0
def make(target):
    def inner(): grow(target)
    return inner
def grow(target):
    if isinstance(target, Node): target.push(2)
    elif isinstance(target, Slotted): target.count += 1
    elif isinstance(target, list): target.append(2)
    elif isinstance(target, dict): target[len(target)] = 2
    elif isinstance(target, set): target.add(len(target))
    elif isinstance(target, (tuple, collections.deque)) and target: grow(target[0])
    elif callable(target): pass
def first(target):
    if isinstance(target, Node): return target.items
    if isinstance(target, Slotted): return target.held
    if isinstance(target, (list, tuple)) and target: return target[0]
    if isinstance(target, dict) and target: return next(iter(target.values()))
    return target
"""
STATEMENTS = (
    *("{x} = []", "{x} = [{y}, {z}]", "{x} = dict(k={y})", "{x} = ({y}, [1])", "{x} = Node({y})", "{x} = Slotted({y})"),
    *(
        "{x} = {y}",
        "{x} = first({y})",
        "{x} = make({y})",
        "{x} = functools.partial(grow, {y})",
        "{x} = 5",
        "{x} = {{1}}",
    ),
    *("{x} = lambda: grow({y})", "{x} = collections.deque([{y}])", "{x} = bytearray(3)", "del {x}", "{x} = grow"),
    *("grow({x})", "grow(first({x}))", "{x}()", "{x}.touch()", "{x} += [{y}]", "{x}.next = {y}", "{x}.grown"),
    *(
        "first({x}).append(1)",
        "[grow(one) for one in {x}]",
        "{x}.count += 1",
        "{x}['k'].append(3)",
        "repr({x})",
        "len({x})",
    ),
    *("globals()['{x}'] = [1]", "exec('grow({x})')", "def {x}(): grow({y})", "def {x}():\n global {z}\n {z} = [7]"),
    *(
        "for {x} in ([1], [2]): grow({y})",
        "{x} = weakref.ref({y})",
        "grow({x}())",
        "{x} = iter([{y}])",
        "grow(next({x}))",
    ),
    *(
        "class {x}(Node): held = {y}",
        "grow({x}.held)",
        "{x} = {y}.push",
        "{x} = itertools.chain([{y}], [{z}])",
        "1 + 1",
    ),
)


class Oracle(unittest.TestCase):
    def test_every_change_that_a_full_comparison_finds_is_told(self) -> None:
        for seed in range(40):
            chance = random.Random(seed)
            space: dict[str, object] = {"__name__": "__main__"}
            ledger = Ledger()
            self.run_cell(ledger, space, SETUP)
            history: list[str] = []
            for _ in range(60):
                x, y, z = (chance.choice(NAMES) for _ in range(3))
                history.append(chance.choice(STATEMENTS).format(x=x, y=y, z=z))
                expected, found = self.run_cell(ledger, space, history[-1])
                if expected != found:
                    self.fail(f"seed {seed}: {found}, not {expected}, after\n" + "\n".join(history[-12:]))

    def run_cell(self, ledger: Ledger, space: dict[str, object], code: str) -> tuple[object, object]:
        """Run code; return what changed as a full comparison sees it, and as the ledger does."""
        compiled = compile(code, "<cell>", "exec")
        before = {name: Mark(value).digest for name, value in space.items() if is_variable(name, value)}
        ledger.begin(space, [compiled])
        try:
            exec(compiled, space)
        except Exception:  # many of the random programs make no sense
            pass
        found = ledger.end(space)
        after = {name: Mark(value).digest for name, value in space.items() if is_variable(name, value)}
        expected = {
            "added": sorted(after.keys() - before.keys()),
            "changed": sorted(name for name in after.keys() & before.keys() if after[name] != before[name]),
            "removed": sorted(before.keys() - after.keys()),
        }
        return expected, found


if __name__ == "__main__":
    unittest.main()
