"""Finds which variables code can reach: by name, through functions that it can call, and through what they hold.

It follows references between objects without running code of the program. Modules and classes of libraries are not
entered: they can reach a variable only through what the program gave to them. What a library kept from an earlier run
and calls later on its own is therefore not found.
"""

from __future__ import annotations

import builtins
import gc
import sys
import weakref
from collections.abc import Callable, Iterable
from itertools import chain, islice
from types import CodeType, FunctionType, ModuleType

from _vivarium.ledger.kinds import ATOMS, MAIN, is_library_class, is_library_module, names_in
from _vivarium.ledger.mentions import REACHES_ALL, mentions_of
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.shapes import mro_of, package_of

LIMIT = 5_000  # references followed
LARGE = 512  # larger containers are entered only if a sample holds anything but numbers and text
SAMPLE = 64
_OURS = "_vivarium"
_SEQUENCES = {id(list), id(tuple)}
_referent = weakref.ref.__call__


class Reach:
    """What some code can reach. `names` are in the order in which they were found, `ids` those of the objects."""

    def __init__(self, namespace: dict[str, object], own: frozenset[str]) -> None:
        """`own` are the names of the modules that the program wrote."""
        self.names: dict[str, None] = {}
        self.ids: set[int] = set()
        self.is_everything = False  # the code may reach any variable
        self.is_cut = False  # there was more than could be followed
        self._namespace = namespace
        self._own = own
        self._left = LIMIT
        self._waiting: list[Any] = []
        self._ways: dict[int, Callable[[Reach, Any], None]] = {}  # by id of the type

    def follow(self, codes: Iterable[CodeType]) -> None:
        """Follow everything that the code mentions."""
        self._mention(mentions_of(codes), self._namespace)
        self._follow()

    def follow_modules(self, modules: Iterable[object]) -> None:
        """Follow what modules of the program hold."""
        self._meet(modules)
        self._follow()

    def _follow(self) -> None:
        for value in self._waiting:  # the list grows meanwhile: what is near comes first
            if self.is_everything:
                break
            if self._left <= 0:
                self.is_cut = True
                break
            self._enter(value)
        self._waiting = []

    def _mention(self, names: dict[str, None], space: dict[str, object]) -> None:
        if not REACHES_ALL.isdisjoint(names):
            self.is_everything = True
        is_main = space is self._namespace
        for name in names:
            if is_main:
                if name in self.names:
                    continue
                self.names[name] = None
            self._left -= 1
            if name in space:
                self._meet((space[name],))
            elif name in builtins.__dict__:
                self._meet((builtins.__dict__[name],))
            elif name in self._own and name in sys.modules:
                self._meet((sys.modules[name],))  # about to be imported again

    def _meet(self, values: Iterable[Any]) -> None:
        ids, waiting = self.ids, self._waiting
        for value in values:
            if id(type(value)) not in ATOMS and id(value) not in ids:
                ids.add(id(value))
                waiting.append(value)

    def _enter(self, value: Any) -> None:
        kind = type(value)
        way = self._ways.get(id(kind))
        if way is None:
            way = self._ways[id(kind)] = _way_into(kind)
        way(self, value)

    def _meet_all(self, values: list[Any]) -> None:
        self._left -= len(values)
        self._meet(values)

    def _enter_object(self, value: Any) -> None:
        self._meet_all(gc.get_referents(value))

    def _enter_nothing(self, value: Any) -> None:
        """Stop at our own objects: `display` and the streams lead to the whole session."""

    def _enter_class(self, value: type) -> None:
        if not is_library_class(value, self._own):
            self._meet_all(gc.get_referents(value))

    def _enter_reference(self, value: Any) -> None:
        self._meet((_referent(value),))

    def _enter_view(self, value: memoryview) -> None:
        self._meet((value.obj,))

    def _enter_function(self, value: FunctionType) -> None:
        space = value.__globals__
        name: Any = space.get("__name__")
        if type(name) is str and name.startswith(_OURS):
            return
        self._meet_all([value.__closure__, value.__defaults__, value.__kwdefaults__, value.__dict__])
        if space is not self._namespace and is_library_module(name, self._own):
            module = sys.modules[name]
            if any(parent is ModuleType for parent in mro_of(type(module))) and names_in(module) is space:
                return
        self._mention(mentions_of((value.__code__,)), space)

    def _enter_module(self, value: ModuleType) -> None:
        space = names_in(value)
        if space is self._namespace or (type(space) is dict and space.get("__name__") == MAIN):
            self.is_everything = True
        elif type(space) is dict and not is_library_module(space.get("__name__"), self._own):
            self._meet_all([one for name, one in space.items() if not (type(name) is str and name.startswith("__"))])

    def _enter_mapping(self, value: dict[Any, Any]) -> None:
        if value is self._namespace:
            self.is_everything = True
        elif len(value) <= LARGE or not _is_plain(chain(islice(value, SAMPLE), islice(value.values(), SAMPLE))):
            self._meet_some(chain.from_iterable(value.items()), 2 * len(value))

    def _enter_container(self, value: Any) -> None:
        if len(value) <= LARGE:
            return self._meet_all(list(value))
        sample = value[:: len(value) // SAMPLE] if id(type(value)) in _SEQUENCES else islice(value, SAMPLE)
        if not _is_plain(sample):
            self._meet_some(value, len(value))

    def _meet_some(self, values: Iterable[Any], count: int) -> None:
        if count > self._left:
            self.is_cut = True
        self._meet_all(list(islice(values, max(0, self._left))))

    def _enter_array(self, value: Any) -> None:
        if value.base is not None:
            self._meet((value.base,))
        if value.dtype.hasobject and value.size:
            sample = value.flat[:: max(1, value.size // SAMPLE)].tolist()
            if not _is_plain(sample):
                self._meet_some(value.flat, value.size)


def _way_into(kind: type) -> Callable[[Reach, Any], None]:
    """Return how to follow what values of a type refer to."""
    if id(kind) in _EXACT:
        return _EXACT[id(kind)]
    if kind is member("numpy", "ndarray"):
        return Reach._enter_array
    if package_of(kind) == _OURS:
        return Reach._enter_nothing
    ways = (_DERIVED.get(id(parent)) for parent in mro_of(kind))
    return next((way for way in ways if way is not None), Reach._enter_object)


# Objects of derived classes hold attributes besides their elements, so for containers the exact type counts.
_EXACT: dict[int, Callable[[Reach, Any], None]] = {
    id(FunctionType): Reach._enter_function,
    id(dict): Reach._enter_mapping,
    **dict.fromkeys((id(list), id(tuple), id(set), id(frozenset)), Reach._enter_container),
    id(memoryview): Reach._enter_view,
}
_DERIVED: dict[int, Callable[[Reach, Any], None]] = {
    id(type): Reach._enter_class,
    id(ModuleType): Reach._enter_module,
    id(weakref.ref): Reach._enter_reference,
}


def _is_plain(values: Iterable[Any]) -> bool:
    return all(id(type(value)) in ATOMS for value in values)
