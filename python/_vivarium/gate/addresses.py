"""Reads the names and addresses that sessions ask for, strictly, and says which addresses are not public.

The lists are our own: what `ipaddress` calls private differs between versions of Python.
"""

from __future__ import annotations

import ipaddress
import re
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# The machine that runs us in a cloud: credentials, or control over it.
_METADATA = ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")
_IPV4 = {
    "0.0.0.0/8": "unspecified",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "private (carrier-grade NAT)",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "reserved",
    "192.88.99.0/24": "reserved",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "reserved",
    "198.51.100.0/24": "reserved",
    "203.0.113.0/24": "reserved",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_IPV6 = {
    "::/128": "unspecified",
    "::1/128": "loopback",
    "::/96": "reserved (IPv4-compatible)",
    "64:ff9b:1::/48": "private",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "private",
    "ff00::/8": "multicast",
    "2001::/23": "reserved (Teredo and others)",
    "2001:db8::/32": "reserved",
    "2002::/16": "reserved (6to4)",
    "3fff::/20": "reserved",
}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL = ipaddress.IPv6Network("2000::/3")
_SPECIAL: list[tuple[Network, str]] = [
    *((ipaddress.ip_network(one), "metadata") for one in _METADATA),
    *((ipaddress.ip_network(one), kind) for one, kind in {**_IPV4, **_IPV6}.items()),
]


class NotAHost(ValueError):
    """Text that is neither a name nor an address in its usual form. The message says why."""


def parse_host(text: str) -> str | Address:
    """Return a name in lower case, or an address. Other spellings of addresses are refused."""
    if text.startswith("[") and text.endswith("]"):
        return _parse_ipv6(text[1:-1])
    if ":" in text:
        return _parse_ipv6(text)
    name = text.lower()
    if name.endswith("."):
        name = name[:-1]
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # such a host is an address to every program that reads it
        return _parse_ipv4(text)
    if not name.isascii() or len(name) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise NotAHost("it is not a host name")
    return name


def parse_port(text: str) -> int:
    """Return a port, from 1 to 65535, written in digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 1 << 16):
        raise NotAHost("it has no port from 1 to 65535")
    return int(text)


def parse_authority(text: str, default_port: int | None = None) -> tuple[str | Address, int]:
    """Return host and port of `host:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or "]" in port or (":" in host and not host.startswith("[")):
        if default_port is None:
            raise NotAHost("it has no port")
        return parse_host(text), default_port
    return parse_host(host), parse_port(port)


def unmapped(address: Address) -> Address:
    """Return the IPv4 address that an IPv4-mapped one stands for: the kernel connects to that."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def kind_of(address: Address) -> str | None:
    """Return what an address is if it is not a public one of another machine; None for a public one."""
    for network, kind in _SPECIAL:
        if address.version == network.version and address in network:
            return kind
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return kind_of(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _GLOBAL:
            return "reserved"
    return "an address of the machine itself" if _is_own(address) else None


def in_brackets(host: str | Address) -> str:
    """Return a host as it stands before a port."""
    return f"[{host}]" if isinstance(host, ipaddress.IPv6Address) else str(host)


def _parse_ipv4(text: str) -> Address:
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError as error:
        raise NotAHost("it is not a name, and not an IPv4 address in its usual form, such as 192.0.2.7") from error
    if str(address) != text:  # Python 3.10 to 3.12 differ on leading zeros
        raise NotAHost("it is not an IPv4 address in its usual form, such as 192.0.2.7")
    return address


def _parse_ipv6(text: str) -> Address:
    try:
        if "%" in text:
            raise ValueError("a zone")
        return unmapped(ipaddress.IPv6Address(text))
    except ValueError as error:
        raise NotAHost("it is not an IPv6 address") from error


def _is_own(address: Address) -> bool:
    """Return whether an address belongs to this machine: then it is the source of what is sent to it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))  # sends nothing
            return ipaddress.ip_address(probe.getsockname()[0]) == address
    except (OSError, ValueError):
        return False  # there is no way to it at all
