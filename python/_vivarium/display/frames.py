"""Puts what a program shows into frames. The header stays small: long texts, pictures and charts follow it."""

from __future__ import annotations

import json
from collections.abc import Iterator

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
    chart = _chart(item["chart"])
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


def report_frames(run: str, report: dict[str, Any]) -> Iterator[tuple[dict[str, object], bytes]]:
    """Yield what a run reports before it is done. Each has a frame of its own, so that none of them is large."""
    for summary in report.get("dataframes", ()):
        yield {"type": "dataframe", "id": run, "summary": summary}, b""
    for saved in report.get("saved", ()):
        chart = _chart(saved["chart"])
        named = {name: saved[name] for name in ("path", "title", "picture")}
        yield {"type": "saved", "id": run, "chartBytes": len(chart), **named}, chart
    if "value" in report:
        value = report["value"].encode()
        yield {"type": "value", "id": run, "jsonBytes": len(value)}, value


def _chart(chart: Any) -> bytes:
    return b"" if chart is None else json.dumps(chart, separators=(",", ":")).encode()
