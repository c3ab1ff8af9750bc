"""How much JSON costs the host to parse. It refuses text above its bound (src/engine/hostile-json.ts)."""

from __future__ import annotations

MAX_COST = 140_000
_KEY = 2


def cost_of(text: str) -> int:
    """Return the cost of JSON text: one for a comma, a string or a bracket, and two more for a key."""
    most = _count(text, text.count('"') // 2)
    if most <= MAX_COST:
        return most  # marks within strings are counted too, which does not matter here
    import re  # few texts are as large as this

    return _count(re.sub(r'"(?:[^"\\]|\\.)*"', "'", text), None)


def _count(text: str, strings: int | None) -> int:
    strings = text.count("'") if strings is None else strings
    return strings + text.count(",") + text.count("[") + text.count("{") + _KEY * text.count(":")
