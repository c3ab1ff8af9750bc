"""Keeps what a run shows within bounds. What does not fit is shown in less, or left out, and counted.

The bounds lie below those of the host, which takes a session that exceeds them for a forger.
"""

from __future__ import annotations

import json
from collections import deque

from _vivarium.values.cost import cost_of
from _vivarium.values.hints import Any

MAX_RESULTS = 2_000  # shown as they come
MAX_BYTES = 20_000_000  # of them together
TEXT_BYTES = 2_000_000  # of these, only for results of which nothing but the text still fits
MAX_COST = 1_300_000  # of parsing the charts of a run; see cost.py
LARGEST = 8_000_000  # bytes of one result; an echoed value has as much to itself
LAST = 20  # of the results above the bounds, so many of the last ones are shown at the end of the run
LAST_BYTES = 2_000_000
TEXT = "text/plain"
CHART = "chart"
Item = dict[str, Any]


class Budget:
    """What the current run has shown since its output was last cleared."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything: it was cleared, or another run begins."""
        self.omitted = 0
        self._total = self._kept = self._reduced = 0
        self._total_bytes = self._kept_bytes = self._used = self._cost = 0
        self._last: deque[tuple[Item, int]] = deque()
        self._last_bytes = 0

    def admit(self, item: Item) -> Item | None:
        """Return the item, or as much of it as fits, or None."""
        item = self._afford(item)
        size = size_of(item)
        self._total += 1
        self._total_bytes += size + item["leftOut"]
        if item["kind"] == "result":
            return self._keep(*_reduced(item, size, LARGEST))
        smaller, smaller_size = _reduced(item, size, min(LARGEST, MAX_BYTES - TEXT_BYTES - self._used))
        if self._kept >= MAX_RESULTS or self._used + smaller_size > MAX_BYTES:
            self._hold(*_reduced(item, size, LAST_BYTES // 2))
            return None
        self._used += smaller_size
        return self._keep(smaller, smaller_size)

    def take_last(self) -> list[Item]:
        """Return the last ones that did not fit, once nothing follows them any more."""
        last = list(self._last)
        self._last.clear()
        self._last_bytes = 0
        self.omitted -= len(last)
        return [self._keep(item, size) for item, size in last]

    def miss(self) -> None:
        """Count a result that was left out before it had a size."""
        self._total += 1
        self.omitted += 1

    def report(self) -> dict[str, int] | None:
        """Return the numbers if anything was left out."""
        if self._kept == self._total and self._reduced == 0:
            return None
        return {
            "total": self._total,
            "kept": self._kept,
            "reduced": self._reduced,
            "totalBytes": self._total_bytes,
            "keptBytes": self._kept_bytes,
        }

    def _afford(self, item: Item) -> Item:
        """Leave out the data of a chart once all charts together have too many values."""
        chart = item["chart"]
        if chart is None:
            return item
        text = json.dumps(chart)
        cost = cost_of(text)
        if self._cost + cost > MAX_COST:
            return {**item, "chart": outline_of(chart), "leftOut": item["leftOut"] + len(text)}
        self._cost += cost
        return item

    def _keep(self, item: Item, size: int) -> Item:
        self._kept += 1
        self._kept_bytes += size
        self._reduced += item["leftOut"] > 0
        return item

    def _hold(self, item: Item, size: int) -> None:
        """Keep it back: if it is one of the last, it is shown all the same."""
        self.omitted += 1
        self._last.append((item, size))
        self._last_bytes += size
        while len(self._last) > LAST or self._last_bytes > LAST_BYTES:
            self._last_bytes -= self._last.popleft()[1]


def _reduced(item: Item, size: int, room: int) -> tuple[Item, int]:
    """Leave out the largest parts until the rest fits. The text stays, and says what is missing."""
    if size <= room:
        return item, size
    data, chart, notes = dict(item["data"]), item["chart"], []
    parts = [(size_of_form(form), mime) for mime, form in data.items() if mime != TEXT]
    if chart is not None:
        parts.append((size_of_chart(chart), CHART))
    left_out = 0
    for part_size, name in sorted(parts, reverse=True):
        if size - left_out <= room:
            break
        left_out += part_size
        if name == CHART:
            chart = outline_of(chart)
        else:
            del data[name]
            notes.append(f"({name} of {part_size} bytes left out: this run shows too much)")
    data[TEXT] = "\n".join([str(data[TEXT]), *notes] if data[TEXT] else notes)
    reduced = {**item, "data": data, "chart": chart, "leftOut": item["leftOut"] + left_out}
    return reduced, size_of(reduced)


def size_of(item: Item) -> int:
    """Return how many bytes the host has to keep of an item."""
    return sum(map(size_of_form, item["data"].values())) + size_of_chart(item["chart"])


def size_of_form(form: str | bytes) -> int:
    """Return the size of a form: text in UTF-8, bytes in base64."""
    if isinstance(form, bytes):
        return (len(form) + 2) // 3 * 4
    return len(form) if form.isascii() else len(form.encode())


def size_of_chart(chart: Any) -> int:
    """Return the size of a chart as JSON."""
    return 0 if chart is None else len(json.dumps(chart))


def outline_of(chart: Any) -> dict[str, Any]:
    """Return what a chart is, without its data."""
    return {"type": chart["type"], "title": chart["title"], "omitted": {"bytes": size_of_chart(chart)}}
