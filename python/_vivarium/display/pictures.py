"""Draws pictures of matplotlib, plotly, Altair and Pillow, bounded in size, if the program has loaded them."""

from __future__ import annotations

import io
import math
import sys
import warnings
from types import ModuleType

from _vivarium.display import thinning, vega
from _vivarium.values.hints import Any
from _vivarium.values.text import printable, text_of

DPI = 100
MIN_DPI = 10  # below this, nothing in a picture can be recognised
MAX_PIXELS = 16_000_000
MAX_SIDE = 16_384
MAX_BYTES = 5_000_000  # of a picture in one format
PAD_INCHES = 0.1
PLOTLY = "application/vnd.plotly.v1+json"
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
_CLASSES = (
    ("matplotlib.figure", "Figure", "matplotlib"),
    ("plotly.basedatatypes", "BaseFigure", "plotly"),
    ("altair", "TopLevelMixin", "altair"),
    ("PIL.Image", "Image", "pillow"),
)
_bases = type.__dict__["__mro__"].__get__
Bundle = dict[str, "str | bytes"]


def kind_of(value: object) -> str:
    """Return "matplotlib", "plotly", "altair" or "pillow" for a picture, else an empty string."""
    bases = _bases(type(value))
    for module, name, kind in _CLASSES:
        known = _member(module, name)
        if known is not None and any(base is known for base in bases):
            return kind
    return ""


def draw(value: Any, kind: str, *, svg: bool = False) -> tuple[Bundle, int]:
    """Return the MIME data of a picture, with `text/plain`, and by how many bytes it was made smaller.

    Raises what the library raises.
    """
    if kind == "matplotlib":
        return _draw_figure(value, svg)
    if kind == "pillow":
        return _encode_image(value)
    if kind == "altair":
        return vega.encode(value), 0
    return _encode_plotly(value)


def title_of(value: Any) -> str | None:
    """Return the title that a picture carries, if any."""
    try:
        kind = kind_of(value)
        if kind == "matplotlib":
            titles = [value.get_suptitle() if hasattr(value, "get_suptitle") else ""]
            titles += [axes.get_title(loc=place) for axes in value.axes for place in ("center", "left", "right")]
        elif kind == "altair":
            titles = [vega.title_of(value)]
        else:
            titles = [value.layout.title.text] if kind == "plotly" else []
        return next((printable(text[:200]) for text in titles if type(text) is str and text.strip()), None)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a missing title is better than a failure
        return None


def is_blank(figure: Any) -> bool:
    """Return whether a matplotlib figure holds nothing but its background."""
    try:
        return not [child for child in figure.get_children() if child is not figure.patch]
    except KeyboardInterrupt:
        raise
    except BaseException:  # drawing it will raise the real error
        return False


def _draw_figure(figure: Any, svg: bool) -> tuple[Bundle, int]:
    with warnings.catch_warnings(record=True) as caught:
        box, dpi, notes = _frame_of(figure)
        data: Bundle = {"text/plain": ""}
        data["image/png"], dpi, left_out = _save_png(figure, box, dpi)
        if dpi < DPI:
            notes.append(f"(drawn with {dpi:.0f} instead of {DPI} dots per inch, because it is large)")
        if svg:
            data["image/svg+xml"] = _save(figure, box, format="svg", metadata={"Date": None}).decode()
    for line in dict.fromkeys(f"{_name_of(one.category)}: {one.message}" for one in caught):
        print(line, file=sys.stderr)  # without the file and line, which are ours
    data["text/plain"] = " ".join([text_of(figure, 500), *notes])
    return data, left_out


def _name_of(kind: type) -> str:
    return type.__dict__["__name__"].__get__(kind)


def _frame_of(figure: Any) -> tuple[Any, float, list[str]]:
    """Return the part to draw in inches, a resolution that keeps it within bounds, and notes for the reader."""
    whole, notes = figure.bbox_inches, []
    box = _tight_box(figure, _resolution(whole))
    if not _resolution(box) >= DPI and box.width * box.height > 4 * whole.width * whole.height:
        box = whole
        notes.append("(parts far outside of the figure were cut off)")
    return box, _resolution(box), notes


def _tight_box(figure: Any, dpi: float) -> Any:
    """Return the box that the content covers, measured at a resolution that bounds the memory used."""
    if not dpi >= MIN_DPI:
        raise ValueError(f"{figure.bbox_inches.width:.0f} x {figure.bbox_inches.height:.0f} inches are too large")
    before = figure.dpi
    try:
        figure.dpi = dpi
        figure.draw_without_rendering()
        return figure.get_tightbbox().padded(PAD_INCHES)
    finally:
        figure.dpi = before


def _resolution(box: Any) -> float:
    """Return the dots per inch at which a box stays within all bounds; NaN if the box is empty or infinite."""
    longest, area = max(box.width, box.height), box.width * box.height
    return min(float(DPI), MAX_SIDE / longest, math.sqrt(MAX_PIXELS / area)) if 0 < area < math.inf else math.nan


def _save_png(figure: Any, box: Any, dpi: float) -> tuple[bytes, float, int]:
    """Return the picture, its resolution, and how much larger it would be at the resolution that was asked for."""
    first = picture = _save(figure, box, format="png", dpi=dpi, metadata={"Software": None})
    for _ in range(2):
        if len(picture) > MAX_BYTES:
            dpi = max(MIN_DPI, dpi * _scale_for(picture))
            picture = _save(figure, box, format="png", dpi=dpi, metadata={"Software": None})
    return picture, dpi, len(first) - len(picture)


def _scale_for(picture: bytes) -> float:
    """Return by how much to shrink both sides of a picture that is too large."""
    return 0.9 * math.sqrt(MAX_BYTES / len(picture))


def _save(figure: Any, box: Any, **options: object) -> bytes:
    """Save with a white background, unless the background of the figure is a solid colour."""
    ground = "auto" if figure.get_facecolor()[3] == 1 else "white"
    buffer = io.BytesIO()
    figure.savefig(buffer, bbox_inches=box, facecolor=ground, transparent=False, **options)
    return buffer.getvalue()


def _encode_image(image: Any) -> tuple[Bundle, int]:
    width, height = image.size
    kind = type(image)
    text = f"<{kind.__module__}.{kind.__name__} image mode={image.mode} size={width}x{height}>"
    scale = min(1.0, math.sqrt(MAX_PIXELS / max(1, width * height)), MAX_SIDE / max(1, width, height))
    first = picture = _image_as_png(image, scale)
    if len(picture) > MAX_BYTES:
        scale *= _scale_for(picture)
        picture = _image_as_png(image, scale)
    if scale < 1:
        shown = _scaled(image.size, scale)
        text += f" (shown as {shown[0]}x{shown[1]}, because it is large)"
    return {"text/plain": text, "image/png": picture}, len(first) - len(picture)


def _image_as_png(image: Any, scale: float) -> bytes:
    if scale < 1:
        image = image.resize(_scaled(image.size, scale))
    if image.mode not in _PNG_MODES:
        image = image.convert({"F": "L", "I": "I;16"}.get(image.mode, "RGB"))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _scaled(size: tuple[int, int], scale: float) -> tuple[int, int]:
    return max(1, int(size[0] * scale)), max(1, int(size[1] * scale))


def _encode_plotly(figure: Any) -> tuple[Bundle, int]:
    """Return a plotly figure, or the dictionary of one, as JSON of plotly's encoder; a large one has fewer points."""
    if hasattr(figure, "to_json"):
        content, traces = figure.to_json(validate=False), len(figure.data)
    else:
        content, traces = sys.modules["plotly.io"].to_json(figure, validate=False), len(figure.get("data", ()))
    text = f"<plotly Figure with {traces} trace{'s' * (traces != 1)}>"
    whole = len(content)
    if whole > MAX_BYTES:
        try:
            thinned = thinning.thin(content, MAX_BYTES)
        except ValueError:
            thinned = None
        if thinned is not None:
            content, kept, total = thinned
            text += f" (shown with {kept} of {total} points, because it is large)"
    return {"text/plain": text, PLOTLY: content}, whole - len(content)


def _member(module: str, name: str) -> object:
    """Return a member of a loaded module without calling attribute hooks."""
    found = sys.modules.get(module)
    return ModuleType.__getattribute__(found, "__dict__").get(name) if isinstance(found, ModuleType) else None
