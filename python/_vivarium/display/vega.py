"""Draws charts of Altair: their specification with the data, and a picture if vl-convert is installed."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec

from _vivarium.display import fonts
from _vivarium.values.hints import Any
from _vivarium.values.text import type_name

SECONDS = 30  # for the converter, which starts a JavaScript engine
SCALE = 2
_VERSION = re.compile(r"/vega-lite/v(\d+)")
# In a process of its own: the engine has threads, with which this process could not be copied any more.
_CONVERT = """
import sys, vl_convert
for directory in sys.argv[2:]:
    vl_convert.register_font_directory(directory)
sys.stdout.buffer.write(vl_convert.vegalite_to_png(sys.stdin.read(), scale=float(sys.argv[1])))
"""


def encode(chart: Any) -> dict[str, str | bytes]:
    """Return the MIME data of a chart. Raises what Altair raises, as for more rows than it allows."""
    specification = chart.to_dict()
    content = json.dumps(specification, separators=(",", ":"), allow_nan=False)
    found = _VERSION.search(str(specification.get("$schema")))
    data: dict[str, str | bytes] = {
        "text/plain": f"<altair {type_name(chart).rpartition('.')[2]} of {_rows(specification)} rows>",
        f"application/vnd.vegalite.v{found[1] if found else 6}+json": content,
    }
    picture = _picture(content)
    if picture:
        data["image/png"] = picture
    return data


def title_of(chart: Any) -> object:
    """Return the title of a chart, a text or something else."""
    title = chart.to_dict(validate=False).get("title")
    return title.get("text") if isinstance(title, dict) else title


def _rows(specification: dict[str, Any]) -> int:
    inline = specification.get("data", {}).get("values", ()) if isinstance(specification.get("data"), dict) else ()
    sets = [*specification.get("datasets", {}).values(), inline]
    return sum(len(one) for one in sets if isinstance(one, (list, tuple)))


def _picture(content: str) -> bytes:
    """Return a PNG, or nothing if there is no converter or it fails: the specification is the chart."""
    if find_spec("vl_convert") is None:
        return b""
    import subprocess  # few programs draw with Altair

    command = [sys.executable, "-I", "-c", _CONVERT, str(SCALE), *fonts.directories()]
    try:
        done = subprocess.run(command, input=content.encode(), capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 and done.stdout.startswith(b"\x89PNG") else b""
