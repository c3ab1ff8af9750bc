"""The surveyor's loop: it takes orders and questions of the host, and looks at sessions when their time comes."""

from __future__ import annotations

import os
import select
from collections.abc import Callable

from _vivarium.channel import Channel
from _vivarium.protocol import Closed
from _vivarium.record import Record
from _vivarium.surveyor.following import Following
from _vivarium.surveyor.processes import Place, Processes
from _vivarium.surveyor.watch import Limits, Watch
from _vivarium.values.hints import Any, NoReturn

MAX_PROBLEM = 300


class SurveySettings(Record):
    """What the surveyor has to know of its zygote."""

    sessions: str  # the directory that holds the homes of all sessions


class Surveyor:
    """Measures all sessions of one zygote.

    A message names an operation. One with a request number is a question: what the operation returns is sent back as
    `value`, and what it raises as `problem`.
    """

    def __init__(self, channel: Channel, settings: SurveySettings) -> None:
        self._channel = channel
        self._settings = settings
        processes = Processes()
        self._following = Following(settings.sessions, processes)
        self._watch = Watch(processes, self._following, self._report_overstepping, self._report_unmeasured)
        self._epoll = select.epoll()
        self._operations: dict[str, Callable[[dict[str, Any]], object]] = {
            "watch": self._add_watch,
            "rest": self._add_watch,
            "unwatch": self._remove_watch,
            "changes": self._following.changes,
            "starved": lambda question: self._watch.is_starved(question["enclosure"]),
        }

    def serve(self) -> NoReturn:
        """Work until the host is gone."""
        self._epoll.register(self._channel.fileno(), select.EPOLLIN)
        try:
            self._handle_all(self._channel.take())
            while True:
                self._epoll.modify(self._channel.fileno(), self._channel.events())
                for _, events in self._epoll.poll(self._pause_s()):
                    if events & ~select.EPOLLOUT:
                        self._handle_all(self._channel.receive())
                self._channel.flush()
                self._watch.tick()
                self._following.tick()
        except Closed:
            os._exit(0)

    def _pause_s(self) -> float:
        """Return how long there is nothing to do, or -1 for ever."""
        pauses = (self._watch.next_tick_s(), self._following.next_tick_s())
        return min((pause for pause in pauses if pause >= 0), default=-1)

    def _handle_all(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            self._handle(message)

    def _handle(self, message: dict[str, Any]) -> None:
        """Do what a message asks for. Whatever goes wrong concerns this message alone."""
        value, problem = None, None
        try:
            value = self._operations[message["op"]](message)
        except Closed:
            raise
        except Exception as error:
            if "request" not in message:
                self._report_unmeasured(message.get("enclosure", ""), error)
                return
            problem = _describe(error)
        if "request" in message:
            self._channel.send({"event": "answer", "request": message["request"], "problem": problem, "value": value})

    def _add_watch(self, order: dict[str, Any]) -> None:
        place = order["place"]
        self._watch.add(
            order["enclosure"],
            Place(pid1=place["pid1"], worker=place["worker"], group=place["group"]),
            f"{self._settings.sessions}/{place['workspace']}",
            Limits(
                order=order["order"],
                worker=order["worker"],
                dormant=frozenset(order["dormant"]),
                memory_bytes=order["memoryBytes"],
                cpu_s=order["cpuMs"] and order["cpuMs"] / 1000,
                busy_s=order["busyMs"] and order["busyMs"] / 1000,
                disk_bytes=order["diskBytes"],
                is_resting=order["op"] == "rest",
                is_stopping=order["isStopping"],
                tolerates_found=order["toleratesFound"],
                wall_s=order["wallMs"] and order["wallMs"] / 1000,
            ),
        )

    def _remove_watch(self, order: dict[str, Any]) -> None:
        self._watch.remove(order["enclosure"])

    def _report_unmeasured(self, name: str, error: Exception) -> None:
        """Report that a session cannot be held to its limits. The host ends it."""
        self._channel.send({"event": "unmeasured", "enclosure": name, "problem": _describe(error)})

    def _report_overstepping(self, name: str, order: int, cause: str, leftovers: int) -> None:
        """Report that a limit was passed. The host decides what happens, as it does at a timeout."""
        event = {"event": "overstepped", "enclosure": name, "order": order, "cause": cause, "leftovers": leftovers}
        self._channel.send(event)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_PROBLEM]
