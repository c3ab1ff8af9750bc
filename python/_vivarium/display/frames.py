"""Puts what a program shows into frames. The header stays small: long texts, pictures and charts follow it."""

from __future__ import annotations

import json

from _vivarium.values.hints import Any

SHORT = 2_000  # characters of a text that stays in the header


def result_frame(item: dict[str, Any], run: str) -> tuple[dict[str, object], bytes]:
    """Return the header and the payload for an item of the publisher."""
    header: dict[str, object] = {"type": "result", "id": run, "kind": item["kind"]}
    data: dict[str, str] = {}
    texts: list[tuple[str, bytes]] = []
    pictures: list[tuple[str, bytes]] = []
    for mime, form in item["data"].items():
        if isinstance(form, bytes):
            pictures.append((mime, form))
        elif len(form) > SHORT:
            texts.append((mime, form.encode()))
        else:
            data[mime] = form
    header["data"] = data
    chart = b"" if item["chart"] is None else json.dumps(item["chart"], separators=(",", ":")).encode()
    for name, parts in (("texts", texts), ("binary", pictures)):
        if parts:
            header[name] = [[mime, len(content)] for mime, content in parts]
    if chart:
        header["chartBytes"] = len(chart)
    for name in ("title", "picture"):
        if item[name] is not None:
            header[name] = item[name]
    if item.get("wait"):
        header["wait"] = True
    return header, b"".join([*(content for _, content in (*texts, *pictures)), chart])
