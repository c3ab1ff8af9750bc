"""Checks the values that code writes to a control system against the limits of their channels, before they are written.

Like the read-only notice this is for honest code: it runs in the process of the code, and code that wants to can get
around it. Limits that must hold belong into the control system as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import _bootstrap
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TypedDict

Function = Callable[..., object]
Writes = Iterable[tuple[object, object]]


class Limit(TypedDict, total=False):
    """What may be written to one channel."""

    min_value: float
    max_value: float
    max_step: float
    writable: bool


class Settings(TypedDict):
    """The limits by channel; `blocked` is why nothing may be written, if the limits could not be read."""

    channels: dict[str, Limit]
    allowUnlisted: bool
    blocked: str | None


class ChannelLimitsViolation(BaseException):
    """A write that the limits forbid. No `except Exception` goes on as if it had been done."""


def install(settings: Settings) -> None:
    """Cover the libraries that are imported already, and those imported later."""
    limits = ChannelLimits(settings)
    limits.cover_all()
    load = _bootstrap._load_unlocked  # type: ignore[attr-defined]

    def load_and_cover(spec: ModuleSpec) -> ModuleType:
        module: ModuleType = load(spec)
        limits.cover_all()
        return module

    _bootstrap._load_unlocked = load_and_cover  # type: ignore[attr-defined]


class ChannelLimits:
    """Checks writes, and puts these checks in front of what writes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def cover_all(self) -> None:
        """Cover whatever is loaded and not covered yet."""
        for place, name, writes_of in TARGETS:
            module_name, _, class_name = place.partition(":")
            module = sys.modules.get(module_name)
            owner = getattr(module, class_name, None) if class_name else module
            original = vars(owner).get(name) if owner is not None else None
            if isinstance(original, property) and original.fset is not None:
                if not hasattr(original.fset, "is_checked"):
                    setter = self._checking(original.fset, writes_of, module)
                    setattr(owner, name, property(original.fget, setter, original.fdel))  # type: ignore[arg-type]
            elif callable(original) and not hasattr(original, "is_checked"):
                setattr(owner, name, self._checking(original, writes_of, module))

    def _checking(self, write: Function, writes_of: Callable[..., Writes], module: object) -> Function:
        def check_and_write(*args: object, **kwargs: object) -> object:
            for channel, value in writes_of(*args, **kwargs):
                self.check(str(channel), value, partial(_present, args, channel, module))
            return write(*args, **kwargs)

        check_and_write.is_checked = True  # type: ignore[attr-defined]
        return check_and_write

    def check(self, channel: str, value: object, present: Callable[[], object]) -> None:
        """Raise unless the value may be written to the channel."""
        blocked = self._settings["blocked"]
        if blocked is not None:
            raise _violation("UNLISTED_CHANNEL", channel, f"nothing may be written, because {blocked}")
        limit = self._settings["channels"].get(channel)
        if limit is None:
            if self._settings["allowUnlisted"]:
                return
            raise _violation("UNLISTED_CHANNEL", channel, "it is not in the limits database")
        if not limit.get("writable", True):
            raise _violation("READ_ONLY_CHANNEL", channel, "it may not be written")
        if not limit.keys() & {"min_value", "max_value", "max_step"}:
            return
        number = _number(value)
        low, high, step = limit.get("min_value"), limit.get("max_value"), limit.get("max_step")
        if number is None:
            raise _violation("MIN_EXCEEDED", channel, f"{value!r} is not one number, so it cannot be compared")
        if low is not None and not number >= low:
            raise _violation("MIN_EXCEEDED", channel, f"{value!r} is not at least {low}, the min_value")
        if high is not None and not number <= high:
            raise _violation("MAX_EXCEEDED", channel, f"{value!r} is not at most {high}, the max_value")
        if step is not None:
            now = _read(present)
            if now is None:
                raise _violation("STEP_CHECK_FAILED", channel, "its present value could not be read")
            if not abs(number - now) <= step:
                raise _violation("MAX_STEP_EXCEEDED", channel, f"from {now} to {number} is more than {step}")


def _violation(kind: str, channel: str, reason: str) -> ChannelLimitsViolation:
    return ChannelLimitsViolation(f"{kind}: {channel} was not written: {reason}")


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _read(present: Callable[[], object]) -> float | None:
    try:
        return _number(present())
    except Exception:  # whatever the library raises: without the present value there is no step to check
        return None


def _present(args: tuple[object, ...], channel: object, module: object) -> object:
    """Return the present value, with the object that writes or with the reading function beside the writing one."""
    for owner in args[:1]:
        if hasattr(owner, "pvname"):
            return owner.get()  # type: ignore[attr-defined]
        if hasattr(owner, "put"):
            return owner.get(channel)  # type: ignore[attr-defined]
    for name in ("caget", "read_channel"):
        read = getattr(module, name, None)
        if callable(read):
            return read(channel)
    return None


def _one(channel: object, value: object = None, *_: object, **__: object) -> Writes:
    return [(channel, value)]


def _pyepics(pvname: object, value: object = None, *_: object, **__: object) -> Writes:
    return [(getattr(pvname, "pvname", pvname), value)]


def _many(channels: Iterable[object], values: Iterable[object], *_: object, **__: object) -> Writes:
    return zip(list(channels), list(values), strict=False)


def _one_or_many(channel: object, value: object = None, *_: object, **__: object) -> Writes:
    if isinstance(channel, str):
        return [(channel, value)]
    return [(one, value[index] if isinstance(value, list | tuple) else value) for index, one in enumerate(channel)]  # type: ignore[call-overload,arg-type]


def _method_one_or_many(_: object, *args: object, **kwargs: object) -> Writes:
    return _one_or_many(*args, **kwargs)  # type: ignore[arg-type]


def _of_variable(variable: object, value: object = None, *_: object, **__: object) -> Writes:
    return [(getattr(variable, "pvname", variable), value)]


def _mapping(writes: dict[object, object], *_: object, **__: object) -> Writes:
    return list(writes.items())


# Module and class, what writes in it, and which values of which channels its arguments are.
TARGETS: tuple[tuple[str, str, Callable[..., Writes]], ...] = (
    ("epics", "caput", _pyepics),
    ("epics", "caput_many", _many),
    ("epics:PV", "put", _of_variable),
    ("epics:PV", "value", _of_variable),
    ("aioca", "caput", _one_or_many),
    ("cothread.catools", "caput", _one_or_many),
    ("p4p.client.thread:Context", "put", _method_one_or_many),
    ("osprey.runtime", "write_channel", _one),
    ("osprey.runtime", "write_channels", _mapping),
)
