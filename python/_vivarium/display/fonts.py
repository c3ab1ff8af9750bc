"""Lets matplotlib find a glyph for every script: fonts of the environment and the machine stand behind the chosen one.

matplotlib takes each missing glyph from the next font that it is given. `complete(font_manager)` puts our fonts at the
end of every list, so it does not matter which font the program or a style has chosen. Names of fonts that programs
from other systems ask for lead to the font here that has the same script. Files are opened when text is drawn.
"""

from __future__ import annotations

import os
import sys

from _vivarium.display.hooks import replace
from _vivarium.values.hints import Any

# Of each: its path in a directory of `sys.path`, its family, and names of fonts like it.
_FONTS = (
    (
        "zhplot/fonts/NotoSansSC-Regular.ttf",
        "Noto Sans SC",
        (
            *("Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK JP", "Noto Sans JP", "Noto Sans TC"),
            *("Source Han Sans SC", "SimHei", "SimSun", "Microsoft YaHei", "PingFang SC", "Heiti SC", "STHeiti"),
            *("Arial Unicode MS", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "IPAexGothic", "IPAGothic", "MS Gothic"),
            *("Yu Gothic", "Meiryo", "Hiragino Sans", "TakaoGothic"),
        ),
    ),
    (
        "koreanize_matplotlib/fonts/NanumGothic.ttf",
        "NanumGothic",
        ("Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", "AppleGothic", "Nanum Gothic", "NanumBarunGothic"),
    ),
    ("justmytype_intl_rtl/fonts/ofl/notosansarabic/NotoSansArabic[wdth,wght].ttf", "Noto Sans Arabic", ("Amiri",)),
    (
        "justmytype_intl_south_asia/fonts/ofl/notosansdevanagari/NotoSansDevanagari[wdth,wght].ttf",
        "Noto Sans Devanagari",
        ("Mangal", "Nirmala UI", "Lohit Devanagari"),
    ),
    ("justmytype_intl_south_asia/fonts/ofl/notosansbengali/NotoSansBengali[wdth,wght].ttf", "Noto Sans Bengali", ()),
    ("justmytype_intl_south_asia/fonts/ofl/notosanstamil/NotoSansTamil[wdth,wght].ttf", "Noto Sans Tamil", ()),
    ("justmytype_intl_south_asia/fonts/ofl/notosanstelugu/NotoSansTelugu[wdth,wght].ttf", "Noto Sans Telugu", ()),
    ("justmytype_intl_sea/fonts/ofl/notosansthai/NotoSansThai[wdth,wght].ttf", "Noto Sans Thai", ()),
    ("justmytype_intl_sea/fonts/ofl/notosanskhmer/NotoSansKhmer[wdth,wght].ttf", "Noto Sans Khmer", ()),
    ("justmytype_intl_sea/fonts/ofl/notosanslao/NotoSansLao[wdth,wght].ttf", "Noto Sans Lao", ()),
    ("justmytype_intl_sea/fonts/ofl/notosansmyanmar/NotoSansMyanmar[wdth,wght].ttf", "Noto Sans Myanmar", ()),
    (
        "imgui_bundle/demos_assets/fonts/NotoEmoji-Regular.ttf",  # no smaller package has it
        "Noto Emoji",
        ("Segoe UI Emoji", "Segoe UI Symbol", "Apple Color Emoji", "Noto Color Emoji", "Symbola"),
    ),
)
# Fonts that a machine may have; each is used if none of the above has its script. Those in colour cannot be drawn.
_OF_MACHINES = (
    ("Noto Sans SC", ("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Droid Sans Fallback")),
    ("NanumGothic", ("Noto Sans CJK KR", "Noto Sans CJK JP", "UnDotum")),
    ("Noto Sans Arabic", ("Noto Sans Arabic", "Noto Naskh Arabic", "FreeSans")),
    ("Noto Sans Devanagari", ("Noto Sans Devanagari", "Lohit Devanagari", "FreeSans")),
    ("Noto Sans Thai", ("Noto Sans Thai", "Loma", "FreeSerif")),
    ("Noto Emoji", ("Noto Emoji", "Symbola")),
)


def complete(module: Any) -> None:
    """Make the fonts known to matplotlib, once, and put them behind every chosen font."""
    manager = module.fontManager
    if hasattr(manager._find_fonts_by_props, "__replaced__"):
        return  # a session inherits this from the zygote
    known = {entry.name for entry in manager.ttflist}
    found = {family: path for path, family, _ in _FONTS for path in _files(path)}
    for _, family, aliases in _FONTS:
        for name in (family, *aliases) if family in found else ():
            if name not in known:
                manager.ttflist.append(module.FontEntry(fname=found[family], name=name, weight=400, size="scalable"))
    behind = [*found.values(), *_of_machine(manager, found)]
    if behind:
        replace(manager, "_find_fonts_by_props", lambda original: lambda *a, **k: _extended(original(*a, **k), behind))


def directories() -> list[str]:
    """Return the directories of the environment that hold fonts."""
    return list(dict.fromkeys(os.path.dirname(found) for path, _, _ in _FONTS for found in _files(path)))


def _files(path: str) -> list[str]:
    """Return where the environment has a file, at most once."""
    places = [os.path.join(place, path) for place in sys.path if place]
    return [place for place in places if os.path.isfile(place)][:1]


def _of_machine(manager: Any, found: dict[str, str]) -> list[str]:
    """Return files of fonts on this machine for the scripts that the environment has no font for."""
    lacking = [names for family, names in _OF_MACHINES if family not in found]
    if not lacking:
        return []
    files = {entry.name: entry.fname for entry in reversed(manager.ttflist)}
    chosen = [next((files[name] for name in names if name in files), "") for names in lacking]
    return [path for path in dict.fromkeys(chosen) if path]


def _extended(chosen: list[str], behind: list[str]) -> list[str]:
    return [*chosen, *(path for path in behind if path not in chosen)]
