"""Reads the heads of HTTP messages. What two programs could read in two ways is refused: so requests are smuggled."""

from __future__ import annotations

import re

from _vivarium.gate.addresses import Address, NotAHost, in_brackets, parse_authority
from _vivarium.record import Record

MAX_HEADERS = 100
_REQUEST = re.compile(r"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.([01])")
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5][0-9][0-9])(?: ([\t\x20-\x7e\x80-\xff]*))?")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_CONTROL = re.compile(r"[^\t\x20-\x7e]")
# What concerns one connection only, and the connection to a proxy.
_HOP = {
    *("connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
    *("transfer-encoding", "upgrade", "http2-settings"),
}
_SINGLE = ("host", "content-length", "transfer-encoding")

Headers = list[tuple[str, str]]


class BadMessage(ValueError):
    """A message that cannot be passed on. The text says why."""


class Request(Record):
    """What a client asks a proxy for. `length` is the size of its body, None for chunks."""

    method: str
    host: str | Address
    port: int
    path: str  # empty for CONNECT
    headers: Headers
    length: int | None


class Response(Record):
    """The head of an answer. `length` is the size of its body: None up to the end of the connection, -1 for chunks."""

    status: int
    reason: str
    headers: Headers
    length: int | None


def read_request(head: bytes) -> Request:
    """Return a request to a proxy. Raises `BadMessage`, or `NotAHost` if it names no host that we understand."""
    first, headers = _read_head(head)
    line = _REQUEST.fullmatch(first)
    if line is None:
        raise BadMessage("its first line is not one of HTTP/1.1")
    method, target = line[1], line[2]
    length = _request_length(headers)
    if method == "CONNECT":
        host, port = parse_authority(target)
        return Request(method, host, port, "", headers, 0)
    if not target.lower().startswith("http://"):
        raise BadMessage("a proxy is asked for http://host/path, or with CONNECT for anything else")
    authority, path = _split(target[len("http://") :])
    if "@" in authority or "#" in target or "\\" in authority:
        raise BadMessage("its address has more than a host and a port before the path")
    host, port = parse_authority(authority, 80)
    _check_host(headers, host, port)
    return Request(method, host, port, path, headers, length)


def read_response(head: bytes, method: str) -> Response:
    """Return the head of an answer to a request with this method."""
    first, headers = _read_head(head)
    line = _STATUS.fullmatch(first)
    if line is None:
        raise BadMessage("the server's first line is not one of HTTP/1.1")
    status = int(line[1])
    return Response(status, line[2] or "", headers, _response_length(headers, method, status))


def request_head(request: Request, headers: Headers) -> bytes:
    """Return the head of a request as it is passed on, for one answer on a connection of its own."""
    host = in_brackets(request.host) + ("" if request.port == 80 else f":{request.port}")
    kept = [("Host", host), *((name, value) for name, value in passed_on(headers) if name.lower() != "host")]
    if request.length is None:
        kept.append(("Transfer-Encoding", "chunked"))
    return _write(f"{request.method} {request.path} HTTP/1.1", [*kept, ("Connection", "close")])


def response_head(response: Response) -> bytes:
    """Return the head of an answer as it is passed on."""
    headers = passed_on(response.headers)
    if response.length == -1:
        headers.append(("Transfer-Encoding", "chunked"))
    return _write(f"HTTP/1.1 {response.status} {response.reason}", [*headers, ("Connection", "close")])


def refusal(status: int, reason: str) -> bytes:
    """Return an answer of ours. Clients show its first line where they show nothing else of it."""
    how = "refused by" if status < 500 else "not reached from"
    line = _CONTROL.sub("?", f"{how} the sandbox: {reason}")[:1000]
    body = f"{line}\n".encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    return _write(f"HTTP/1.1 {status} {line}", [*headers, ("Connection", "close")]) + body


def passed_on(headers: Headers) -> Headers:
    """Return the headers that are for the other end."""
    named = {one.strip().lower() for name, value in headers if name.lower() == "connection" for one in value.split(",")}
    return [(name, value) for name, value in headers if name.lower() not in _HOP and name.lower() not in named]


def _split(rest: str) -> tuple[str, str]:
    """Split what follows http:// into host and path."""
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    path = rest[end:]
    return rest[:end], path if path.startswith("/") else f"/{path}"


def _read_head(head: bytes) -> tuple[str, Headers]:
    lines = head.decode("latin-1").split("\r\n")
    if any("\r" in line or "\n" in line or "\0" in line for line in lines):
        raise BadMessage("its lines do not end in CRLF")
    first, *rest = lines
    if len(rest) > MAX_HEADERS:
        raise BadMessage(f"it has more than {MAX_HEADERS} headers")
    headers: Headers = []
    for line in rest:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise BadMessage("one of its headers is malformed")
        headers.append((header[1], header[2]))
    for name in _SINGLE:
        if sum(one.lower() == name for one, _ in headers) > 1:
            raise BadMessage(f"it has the header {name} more than once")
    return first, headers


def _value(headers: Headers, wanted: str) -> str | None:
    return next((value for name, value in headers if name.lower() == wanted), None)


def _body(headers: Headers) -> tuple[bool, int | None]:
    """Return whether a body comes in chunks, and its size otherwise."""
    coding, size = _value(headers, "transfer-encoding"), _value(headers, "content-length")
    if coding is not None and (size is not None or coding.lower() != "chunked"):
        raise BadMessage("it does not say clearly where its body ends")
    if size is not None and not (size.isascii() and size.isdigit() and len(size) <= 18):
        raise BadMessage("its Content-Length is not a number")
    return coding is not None, None if size is None else int(size)


def _request_length(headers: Headers) -> int | None:
    is_chunked, size = _body(headers)
    return None if is_chunked else size or 0


def _response_length(headers: Headers, method: str, status: int) -> int | None:
    is_chunked, size = _body(headers)
    if method == "HEAD" or status in (204, 304) or status < 200:
        return 0
    return -1 if is_chunked else size


def _check_host(headers: Headers, host: str | Address, port: int) -> None:
    """Raise where the header names another host than the address: a server would answer for that one."""
    given = _value(headers, "host")
    try:
        if given is not None and parse_authority(given, 80) != (host, port):
            raise BadMessage(f"its header Host names {given[:100]}, not the {in_brackets(host)} that it is sent to")
    except NotAHost as error:
        raise BadMessage("its header Host is malformed") from error


def _write(first: str, headers: Headers) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
