"""Tells what stands before a cursor: a name, an attribute, a key or a module."""

from __future__ import annotations

import re

_NAME = r"[^\W\d]\w*"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_ALIAS = r"(?:\s+as\s+\w+)?"
# Not the end of a longer expression, such as `f().x` or `"text".x`.
_START = r"(?<![\w.)\]}'\"])"
_WORD = re.compile(r"(?<![\w.])(\w*)$")
_ATTRIBUTE = re.compile(rf"{_START}({_PATH})\.(\w*)$")
_KEY = re.compile(rf"{_START}({_PATH})\[$")
_IMPORT = re.compile(rf"\s*import\s+(?:[\w.]+{_ALIAS}\s*,\s*)*([\w.]*)$")
_FROM = re.compile(r"\s*from\s+([\w.]*)$")
_FROM_IMPORT = re.compile(rf"\s*from\s+([\w.]+)\s+import\s+\(?\s*(?:\w+{_ALIAS}\s*,\s*)*(\w*)$")
_TOKEN = re.compile(r"#[^\n]*|(?P<quote>'''|\"\"\"|['\"])")
_ENDS = {
    "'": re.compile(r"(?:\\[\s\S]|[^\\'\n])*['\n]"),
    '"': re.compile(r'(?:\\[\s\S]|[^\\"\n])*["\n]'),
    "'''": re.compile(r"(?:\\[\s\S]|(?!''')[^\\])*'''"),
    '"""': re.compile(r'(?:\\[\s\S]|(?!""")[^\\])*"""'),
}


class Place:
    """What can be completed.

    `kind` is `name`, `attribute`, `key`, `module` or `imported`. `path` is what it belongs to, and `part` is what was
    typed of it. `quote` is the quote of a key, if it was typed.
    """

    def __init__(self, kind: str, path: str, part: str, quote: str = "") -> None:
        self.kind = kind
        self.path = path
        self.part = part
        self.quote = quote


def place_in(text: str) -> Place | None:
    """Return what can be completed at the end of `text`, or None."""
    split = _split_string(text)
    if split is None:
        return None
    code, quote, part = split
    line = code.rpartition("\n")[2]
    if quote:
        found = _KEY.search(line)
        return Place("key", found[1], part, quote) if found and len(quote) == 1 else None
    statement = line.rpartition(";")[2]
    if found := _IMPORT.match(statement) or _FROM.match(statement):
        parent, _, part = found[1].rpartition(".")
        return Place("module", parent, part)
    if found := _FROM_IMPORT.match(statement):
        return Place("imported", found[1], found[2])
    if found := _ATTRIBUTE.search(line):
        return Place("attribute", found[1], found[2])
    if found := _KEY.search(line):
        return Place("key", found[1], "")
    found = _WORD.search(line)
    return None if found is None or found[1][:1].isdigit() else Place("name", "", found[1])


def _split_string(text: str) -> tuple[str, str, str] | None:
    """Return the code before a string that is open at the end, its quote, and what it holds. None in a comment."""
    at = 0
    while found := _TOKEN.search(text, at):
        quote = found["quote"]
        if quote is None:
            if found.end() == len(text):
                return None
            at = found.end()
            continue
        end = _ENDS[quote].match(text, found.end())
        if end is None:
            return text[: found.start()], quote, text[found.end() :]
        at = end.end()
    return text, "", ""
