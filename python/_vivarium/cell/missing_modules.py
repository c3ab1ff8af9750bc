"""Says what can be done about a module that Python did not find: its own words only name it."""

from __future__ import annotations

import os
import re
import sys

from _vivarium.values.hints import Any

_CHAIN = 10  # exceptions that are looked at, from the newest to its causes
_LISTED = 40
# Of many packages, these are named: they are what programs can most often use instead.
_USUAL = (
    *("numpy", "pandas", "scipy", "matplotlib", "seaborn", "plotly", "scikit-learn", "statsmodels", "polars", "duckdb"),
    *(
        "openpyxl",
        "python-docx",
        "python-pptx",
        "pypdf",
        "pdfplumber",
        "reportlab",
        "beautifulsoup4",
        "lxml",
        "requests",
    ),
    *("sympy", "networkx", "pillow", "scikit-image", "opencv-python-headless", "altair", "xgboost-cpu", "nltk"),
)
# Modules whose packages have other names.
_PACKAGES = {
    **{"sklearn": "scikit-learn", "cv2": "opencv-python-headless", "PIL": "pillow", "bs4": "beautifulsoup4"},
    **{
        "yaml": "pyyaml",
        "skimage": "scikit-image",
        "docx": "python-docx",
        "pptx": "python-pptx",
        "Crypto": "pycryptodome",
    },
    **{"dateutil": "python-dateutil", "dotenv": "python-dotenv", "fitz": "pymupdf", "serial": "pyserial"},
    **{"OpenSSL": "pyopenssl", "psycopg2": "psycopg2-binary", "jwt": "pyjwt", "git": "gitpython", "umap": "umap-learn"},
}
_NAME_LIMIT = 100
_LIKENESS = 0.75
_RECORD_LIMIT = 200_000
_cause, _context = BaseException.__dict__["__cause__"], BaseException.__dict__["__context__"]
_name = ImportError.__dict__["name"]


def missing_note(error: BaseException, *, is_offline: bool, packages: dict[str, Any] | None = None) -> str | None:
    """Return a sentence about a module that is missing: another name for it, how to get it, or what there is instead.

    `is_offline` says that there is no network. `packages` says that packages can be installed nevertheless: those of
    its `names`, or any if there are none.
    """
    try:
        name = _missing_name(error)
        return None if name is None else _note_on(name, is_offline, packages)
    except Exception:  # the program may have replaced what this needs; the error itself is told all the same
        return None


def _missing_name(error: BaseException) -> str | None:
    """Return the name of the module that an import failed for. Libraries wrap the error in words of their own."""
    seen: Any = error
    if not issubclass(type(error), ImportError):
        return None
    for _ in range(_CHAIN):
        if seen is None:
            return None
        if issubclass(type(seen), ModuleNotFoundError):
            name = _name.__get__(seen)
            return name if type(name) is str and name.isprintable() and 0 < len(name) <= _NAME_LIMIT else None
        cause = _cause.__get__(seen)
        seen = _context.__get__(seen) if cause is None else cause
    return None


def _note_on(name: str, is_offline: bool, packages: dict[str, Any] | None) -> str:
    package, _, rest = name.partition(".")
    if rest and package in sys.modules:
        return _note_on_part(package, name)
    installed = _distributions()
    found = _modules_of(installed.get(_normal(package), ""))
    if found:
        return f"The package {package} is imported as {_listed(found, ' or ')}."
    close = _close(package, {*sys.stdlib_module_names, *_modules_in(sys.path)})
    if close:
        return f"There is no module {package}. Did you mean {_listed(close, ' or ')}?"
    wanted = _PACKAGES.get(package, package)
    if packages is not None and (packages["names"] is None or _normal(wanted) in packages["names"]):
        return f"{package} is not installed. Install it with: %pip install {wanted}"
    fixed = ", and nothing can be installed from inside the session" if is_offline else ""
    if packages is not None:
        fixed = f", and only these packages can be installed: {', '.join(packages['names'][:_LISTED])}"
    names = sorted(installed)
    if len(names) > _LISTED:
        names = [name for name in _USUAL if name in installed] or names[:_LISTED]
    more = f" and {len(installed) - len(names)} more" if len(installed) > len(names) else ""
    there = f"Use what is there: {', '.join(names)}{more}." if names else "There are no libraries."
    return f"{package} is not installed{fixed}. {there}"


def _note_on_part(package: str, name: str) -> str:
    """Return a sentence about a package that is there without one of its modules: often that of another version."""
    members = vars(sys.modules[package])
    version = members.get("__version__")
    label = f"{package} {version}" if type(version) is str and len(version) < 30 else package
    parent, _, last = name.rpartition(".")
    paths = vars(sys.modules[parent]).get("__path__") if parent in sys.modules else None
    close = [f"{parent}.{one}" for one in _close(last, set(_modules_in(paths or [])))]
    return f"{label} has no module {name}." + (f" Did you mean {_listed(close, ' or ')}?" if close else "")


def _close(name: str, names: set[str]) -> list[str]:
    import difflib  # rarely needed

    return difflib.get_close_matches(name, [one for one in names if not one.startswith("_")], 2, _LIKENESS)


def _modules_in(paths: Any) -> list[str]:
    import pkgutil

    return [module.name for module in pkgutil.iter_modules([os.fspath(path) for path in paths])]


def _distributions() -> dict[str, str]:
    """Return the directories in which installers describe what they installed, by the name of the package."""
    found: dict[str, str] = {}
    for path in sys.path:
        if not os.path.isdir(path):
            continue
        for entry in os.listdir(path):
            if entry.endswith((".dist-info", ".egg-info")):
                found.setdefault(_normal(re.split(r"-|\.egg-info$", entry)[0]), os.path.join(path, entry))
    return found


def _modules_of(directory: str) -> list[str]:
    """Return the names by which a package is imported."""
    record = os.path.join(directory, "RECORD")
    if not directory or not os.path.isfile(record):
        return []
    with open(record, encoding="utf-8", errors="replace") as file:
        text = file.read(_RECORD_LIMIT)
    return list(dict.fromkeys(re.findall(r"^([A-Za-z]\w*)/__init__\.py,", text, re.MULTILINE)))[:3]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _listed(names: list[str], last: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}{last}{names[-1]}"
