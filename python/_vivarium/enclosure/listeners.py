"""The ways out of an enclosure whose network is a list: sockets in its own network that lead to the gate.

Sockets stay in the network in which they were made. So the gate, a process outside, accepts connections here that can
come from nowhere else. Pid 1 keeps them and hands them to each gate that asks, since a gate can be replaced.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct

from _vivarium.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # slow to load

HTTP_PORT = 3128
SOCKS_PORT = 1080
BACKLOG = 128
_LOOPBACK = "127.0.0.1"
_NAMED = "127.0.1."  # one address for each name
_MOST_NAMES = 254
_SIOCSIFADDR = 0x8916
_SIOCSIFNETMASK = 0x891C
_SOCKADDR = "HH4s8x"


class Listeners(Record):
    """What leads to the gate, and what the gate is told of it."""

    kinds: list[dict[str, Any]]
    sockets: list[socket.socket]


def handover_path(host_socket: str, enclosure: str) -> str:
    """Return where the gate finds the pid 1 of an enclosure: beside the socket of the host."""
    return f"{os.path.dirname(host_socket)}/{enclosure}.net"


def open_handover(path: str) -> socket.socket:
    """Open the socket at which pid 1 hands over its listeners. Sessions cannot see the directory that it is in."""
    handover = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        os.unlink(path)  # of a builder that was killed meanwhile
    except FileNotFoundError:
        pass
    handover.bind(path)
    handover.listen(4)
    return handover


def hosts_file(targets: list[dict[str, Any]]) -> str:
    """Return lines for /etc/hosts by which names on the list lead to addresses of their own in the enclosure."""
    return "".join(f"{address} {name}\n" for name, address in _addresses(targets).items())


def open_listeners(targets: list[dict[str, Any]]) -> Listeners:
    """Open the proxies, and for each target (`host`, `port`) what leads there, in the network that we are in."""
    addresses = _addresses(targets)
    kinds: list[dict[str, Any]] = [{"kind": "http"}, {"kind": "socks"}]
    sockets = [_listen(_LOOPBACK, HTTP_PORT), _listen(_LOOPBACK, SOCKS_PORT)]
    literals = dict.fromkeys(one["host"] for one in targets if one["isAddress"] and not one["host"].startswith("127."))
    for number, literal in enumerate(literals, 1):
        _add_address(f"lo:{number}", literal)
    for target in targets:
        address = target["host"] if target["isAddress"] else addresses.get(target["host"])
        if address is None or (address, target["port"]) in ((_LOOPBACK, HTTP_PORT), (_LOOPBACK, SOCKS_PORT)):
            continue
        sockets.append(_listen(address, target["port"]))
        kinds.append({"kind": "direct", "host": target["host"], "port": target["port"]})
    return Listeners(kinds, sockets)


def hand_over(handover: socket.socket, listeners: Listeners) -> None:
    """Give the listeners to the gate that has just connected."""
    connection, _ = handover.accept()
    try:
        socket.send_fds(connection, [json.dumps(listeners.kinds).encode()], [one.fileno() for one in listeners.sockets])
    except OSError:
        pass  # it has ended, and the next one asks again
    finally:
        connection.close()


def _addresses(targets: list[dict[str, Any]]) -> dict[str, str]:
    names = dict.fromkeys(one["host"] for one in targets if not one["isAddress"])
    return {name: f"{_NAMED}{number}" for number, name in enumerate(names, 1) if number <= _MOST_NAMES}


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(BACKLOG)
    return listener


def _add_address(interface: str, address: str) -> None:
    """Make an address one of our own loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.255")):
            packed = struct.pack(_SOCKADDR, socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(control, request, struct.pack("16s16s8x", interface.encode(), packed))
