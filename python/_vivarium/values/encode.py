"""Turns any value into JSON text that every parser accepts, bounded in items, depth and bytes.

Values are read through methods of built-in types and known libraries only. No code of the program runs, except the
`repr` of values that have no other form. `docs/values.md` lists the form of each type.
"""

from __future__ import annotations

from enum import Enum
from json.encoder import encode_basestring_ascii as quote
from math import isfinite
from time import monotonic

from _vivarium.values import arrays, other_tables, standard, tables
from _vivarium.values.cost import MAX_COST, cost_of
from _vivarium.values.shapes import Items, Pairs, Reshape, Room, Tag, module_of, mro_of
from _vivarium.values.text import printable, text_of, type_name

LARGEST_EXACT = 1 << 53  # integers up to this are exact in every JSON parser
DECIMAL_BITS = 2_000  # up to this, decimal digits are cheap and below the limit of the interpreter
REPR_LIMIT = 2_000
REPR_SECONDS = 2.0  # for all reprs of one value
LEAST_BYTES = 400
LEAST_TEXT = 16
CLOSING = 128  # bytes reserved by each open container, to close it and to say how much was left out
_CYCLE = '{"_type":"cycle"}'


def message_value(value: object) -> str:
    """Return the JSON text of `value` that a message to the host may hold; raises nothing but KeyboardInterrupt."""
    items = 20_000
    while cost_of(text := encode_value(value, max_items=items)) > MAX_COST and items > 1:
        items //= 2
    return text


def encode_value(value: object, *, max_items: int = 20_000, max_depth: int = 40, max_bytes: int = 1_000_000) -> str:
    """Return JSON text of `value` in ASCII; raises nothing but KeyboardInterrupt."""
    encoder = _Encoder(max_items, max_depth, max(max_bytes, LEAST_BYTES))
    try:
        encoder.write(value, 0)
        return encoder.text()
    except KeyboardInterrupt:
        raise
    except BaseException:  # no room, or no memory
        return f'{{"_type":"truncated","type":{quote(type_name(value))}}}'


class _Full(Exception):
    """The next part does not fit."""


class _Encoder:
    """Writes one value. Each container reserves room to close itself if the rest does not fit."""

    def __init__(self, max_items: int, max_depth: int, max_bytes: int) -> None:
        self._parts: list[str] = []
        self._items = max_items
        self._room = max_bytes
        self._max_depth = max_depth
        self._active: set[int] = set()
        self._repr_seconds = REPR_SECONDS
        libraries = (arrays, tables, other_tables)
        self._reshapes: dict[int, Reshape] = standard.reshapes()
        for library in libraries:
            self._reshapes = {**self._reshapes, **library.reshapes()}

    def text(self) -> str:
        """Return what has been written."""
        return "".join(self._parts)

    def write(self, value: object, depth: int) -> None:
        """Write a value in its own form, or as an unknown object if that fails."""
        size, room = len(self._parts), self._room
        try:
            self._write(value, depth)
        except (_Full, KeyboardInterrupt):
            raise
        except BaseException:  # a thread of the program changed it meanwhile, or a library failed
            self._return_to(size, room)
            self._write_unknown(value)

    def _write(self, value: object, depth: int) -> None:
        kind = type(value)
        if value is None or kind is bool:
            self._put("null" if value is None else "true" if value else "false")
        elif kind is int:
            self._write_int(value, depth)  # type: ignore[arg-type]
        elif kind is float:
            self._write_float(value, depth)  # type: ignore[arg-type]
        elif kind is str:
            self._write_text(value, depth)  # type: ignore[arg-type]
        elif kind is Tag:
            self._write_tag(value, depth)  # type: ignore[arg-type]
        elif kind is Items:
            self._write_items(value, depth)  # type: ignore[arg-type]
        elif kind is Pairs:
            self._write_pairs(value, depth)  # type: ignore[arg-type]
        elif id(value) in self._active:
            self._put(_CYCLE)
        else:
            self._write_reshaped(value, depth)

    def _write_reshaped(self, value: object, depth: int) -> None:
        self._active.add(id(value))
        try:
            room = self._room_at(depth)
            reshape = self._reshapes.get(id(type(value)))
            shape = standard.find_fields(value, room) if reshape is None else reshape(value, room)
            if shape is None:
                reshape = self._find(type(value))
                if reshape is None:
                    return self._write_unknown(value)
                shape = reshape(value, room)
            self._write(shape, depth)
        finally:
            self._active.discard(id(value))

    def _find(self, kind: type) -> Reshape | None:
        for parent in mro_of(kind):
            found = self._reshapes.get(id(parent))
            if found is not None:
                return found
        return None

    def _room_at(self, depth: int) -> Room:
        """Return the room for a value. Below the top level, a value that does not fit takes at most half of it."""
        share = 1 if depth == 0 else 2
        return Room(self._items, self._room, self._items // share, self._room // share)

    def _write_int(self, value: int, depth: int) -> None:
        bits = value.bit_length()
        if -LARGEST_EXACT <= value <= LARGEST_EXACT:
            self._put(int.__repr__(value))
        elif bits <= DECIMAL_BITS:
            self._write_tag(Tag("int", {"value": int.__repr__(value)}), depth)
        elif bits // 4 + CLOSING < self._room_at(depth).cut_bytes:
            self._write_tag(Tag("int", {"value": hex(value)}), depth)
        else:
            self._write_tag(Tag("truncated", {"type": "int", "bits": bits}), depth)

    def _write_float(self, value: float, depth: int) -> None:
        if isfinite(value):
            self._put(float.__repr__(value))
        else:
            name = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
            self._write_tag(Tag("float", {"value": name}), depth)

    def _write_text(self, value: str, depth: int) -> None:
        if len(value) <= self._room:
            text = quote(printable(value))
            if len(text) <= self._room:
                return self._put(text)
        budget = self._room_at(depth).cut_bytes - CLOSING
        if budget < LEAST_TEXT:
            raise _Full
        head = value[:budget]
        while len(quote(printable(head))) > budget:
            head = head[: len(head) // 2]
        self._write_tag(Tag("truncated", {"type": "str", "length": len(value), "value": head}), depth)

    def _write_tag(self, tag: Tag, depth: int) -> None:
        if depth > self._max_depth:
            tag = Tag("truncated", {"type": tag.kind})
        self._put(f'{{"_type":{quote(tag.kind)}')
        for name, field in tag.fields.items():
            self._put(f",{quote(name)}:")
            self.write(field, depth + 1)
        self._put("}")

    def _write_items(self, items: Items, depth: int) -> None:
        start = self._open("[")
        shown = 0
        for item in items.values[: self._share(items.length, depth)]:
            if not self._try("," if shown else "", item, depth + 1):
                break
            shown += 1
        self._close(start, "]", items.kind, items.length, shown)

    def _write_pairs(self, pairs: Pairs, depth: int) -> None:
        """Write an object if all keys are different texts, else a list of keys and values."""
        names = [_name_of(key) for key, _ in pairs.pairs]
        if None in names or len(set(names)) < len(names) or "_type" in names:
            couples = [Items("list", pair, 2) for pair in pairs.pairs]
            return self._write_tag(Tag(pairs.kind, {"items": Items(pairs.kind, couples, pairs.length)}), depth)
        start = self._open("{")
        shown = 0
        for name, (_, item) in list(zip(names, pairs.pairs))[: self._share(pairs.length, depth)]:
            if not self._try(f"{',' if shown else ''}{quote(name)}:", item, depth + 1):  # type: ignore[arg-type]
                break
            shown += 1
        self._close(start, "}", pairs.kind, pairs.length, shown)

    def _write_unknown(self, value: object) -> None:
        """Write type and bounded `repr` of a value; without the `repr` once reprs have taken too long."""
        limit = min(REPR_LIMIT, self._room // 16)  # one character takes up to twelve bytes
        if limit < 20:
            raise _Full
        kind = type(value)
        text = f"<{type_name(value)} object>"
        if self._repr_seconds > 0:
            start = monotonic()
            text = text_of(value, limit)
            self._repr_seconds -= monotonic() - start
        fields = {"type": type_name(value), "module": printable(module_of(kind))[:200], "repr": text[:limit]}
        self._put(
            '{"_type":"object",' + ",".join(f"{quote(name)}:{quote(field)}" for name, field in fields.items()) + "}"
        )

    def _share(self, length: int, depth: int) -> int:
        if depth >= self._max_depth:
            return 0
        room = self._room_at(depth)
        return room.items if length <= room.items else room.cut_items

    def _open(self, bracket: str) -> int:
        self._put(bracket)
        if self._room < CLOSING:
            raise _Full
        self._room -= CLOSING
        return len(self._parts) - 1

    def _close(self, start: int, bracket: str, kind: str, length: int, shown: int) -> None:
        self._room += CLOSING
        if shown < length:
            before = f'{{"_type":"truncated","type":"{kind}","length":{length},"shown":{shown},"value":'
            self._parts[start] = before + self._parts[start]
            self._room -= len(before)
            bracket += "}"
        self._put(bracket)

    def _try(self, before: str, item: object, depth: int) -> bool:
        """Write one item if there is room for it."""
        if self._items <= 0:
            return False
        self._items -= 1
        size, room = len(self._parts), self._room
        try:
            self._put(before)
            self.write(item, depth)
            return True
        except _Full:
            self._return_to(size, room)
            return False

    def _put(self, text: str) -> None:
        if len(text) > self._room:
            raise _Full
        self._parts.append(text)
        self._room -= len(text)

    def _return_to(self, size: int, room: int) -> None:
        del self._parts[size:]
        self._room = room


def _name_of(key: object) -> str | None:
    """Return a key as text if it is a string, else None."""
    if type(key) is str:
        return printable(key)
    parents = mro_of(type(key))
    if any(parent is str for parent in parents) and not any(parent is Enum for parent in parents):
        return printable(str.__str__(key))  # type: ignore[arg-type]
    return None
