"""Has DuckDB do without its threads between runs: it starts and ends them when their number is changed."""

from __future__ import annotations

import sys

from _vivarium.threads import native
from _vivarium.values.hints import Any
from _vivarium.values.loaded import member
from _vivarium.values.text import attempt

_NAMES = ("threads", "async_threads")  # the second since DuckDB 2
_AT_REST = {"threads": 1, "async_threads": 0}
_SETTINGS = f"select name, value from duckdb_settings() where name in {_NAMES}"
# A copy of a database that is in a file would not know what was written to the file after it was made.
_FILES = "select count(*) from duckdb_databases() where path is not null"


class Databases:
    """The databases in memory that a program has a connection to in a variable, and the one of `duckdb.sql`."""

    def __init__(self) -> None:
        self._resting: list[tuple[Any, dict[str, int]]] = []  # a connection of ours to each, and what to set again

    def rest(self) -> None:
        """End the threads of each database that can do without."""
        kind = member("_duckdb", "DuckDBPyConnection") or member("duckdb", "DuckDBPyConnection")
        names = list(vars(sys.modules["__main__"]).values()) if "__main__" in sys.modules else []
        for connection in [value for value in names if kind is not None and type(value) is kind]:
            attempt(lambda connection=connection: self._rest(connection))
        default = member("duckdb", "default_connection")
        if default is not None and native.count() != 1:  # asking for it makes one, if there is none
            attempt(lambda: self._rest(default()))

    def wake(self) -> None:
        """Give each its threads again, before code runs that may use it."""
        resting, self._resting = self._resting, []
        for connection, settings in resting:
            attempt(lambda connection=connection, settings=settings: _set(connection, settings))
            attempt(connection.close)

    def _rest(self, connection: Any) -> None:
        own = connection.cursor()  # the program may still read from its own
        settings = {name: int(value) for name, value in own.execute(_SETTINGS).fetchall()}
        rest = {name: _AT_REST[name] for name in settings}
        if settings == rest or own.execute(_FILES).fetchall() != [(0,)]:
            own.close()
            return
        self._resting.append((own, settings))
        _set(own, rest)


def _set(connection: Any, settings: dict[str, int]) -> None:
    for name, value in settings.items():
        connection.execute(f"set {name} = {value}")
