"""What a pid 1 says on its lifeline once it is ready. The zygote takes nothing else from it."""

from __future__ import annotations

import json

from _vivarium.record import Record

MAX_MESSAGE = 4096
MAX_PROBLEM = 300
# The highest number that Linux gives to a process.
MAX_PID = 1 << 22
_MAX_STATUS = 0xFFFF


class Answer(Record):
    """What became of a command: what went wrong, or None."""

    request: int
    problem: str | None


class WorkerExit(Record):
    """How a worker ended that was a child of pid 1."""

    status: int


class CommandExit(Record):
    """How a command of the system ended that pid 1 has started."""

    command: int
    status: int


class Ticket(Record):
    """By which the host knows the connections of the worker. A subreaper sends it, once."""

    ticket: str


class Failure(Record):
    """Why pid 1 cannot go on. It ends, and the enclosure with it."""

    failure: str


Message = Answer | WorkerExit | CommandExit | Ticket | Failure


class Unexpected(ValueError):
    """Something else was said on a lifeline. The text says what."""


def encode(message: Message) -> bytes:
    """One message as bytes; texts are cut to what the zygote takes."""
    fields = {name: value[:MAX_PROBLEM] if isinstance(value, str) else value for name, value in vars(message).items()}
    return json.dumps(fields).encode()


def decode(data: bytes) -> Message:
    """Return the message that `data` is. Raises `Unexpected` if it is none, down to the type of every field."""
    if len(data) > MAX_MESSAGE:
        raise Unexpected("a message that is too long")
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unexpected("text that is not JSON") from error
    if isinstance(fields, dict):
        message = _message_of(fields)
        if message is not None:
            return message
    raise Unexpected("a message of no known kind")


def _message_of(fields: dict[str, object]) -> Message | None:
    if fields.keys() == {"request", "problem"}:
        request, problem = fields["request"], fields["problem"]
        if type(request) is int and (problem is None or _is_text(problem)):
            return Answer(request, problem)
    elif fields.keys() == {"status"}:
        if _is_status(fields["status"]):
            return WorkerExit(fields["status"])
    elif fields.keys() == {"command", "status"}:
        if type(fields["command"]) is int and _is_status(fields["status"]):
            return CommandExit(fields["command"], fields["status"])
    elif fields.keys() == {"ticket"} and _is_text(fields["ticket"]) and fields["ticket"]:
        return Ticket(fields["ticket"])
    elif fields.keys() == {"failure"} and _is_text(fields["failure"]):
        return Failure(fields["failure"])
    return None


def _is_status(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_STATUS


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_PROBLEM
