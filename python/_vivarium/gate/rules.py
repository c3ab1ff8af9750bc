"""Decides which hosts and addresses a session may reach."""

from __future__ import annotations

import ipaddress

from _vivarium.gate.addresses import Address, Network, in_brackets, kind_of
from _vivarium.record import Record
from _vivarium.values.hints import Any

USUAL_PORTS = (80, 443)


class Refused(Exception):
    """What a session asked for is not allowed. The message says why, and what would allow it."""


class Entry(Record):
    """One line of a list: a name, all names below a name, or a range of addresses; and its ports, None for any."""

    name: str | None
    is_wildcard: bool
    network: Network | None
    ports: tuple[int, ...] | None

    def has_name(self, name: str) -> bool:
        """Return whether a name is meant. `*.example.org` means all names below example.org, `*` means all."""
        if self.name is None:
            return False
        return (name.endswith(f".{self.name}") or self.name == "") if self.is_wildcard else name == self.name

    def has_address(self, address: Address) -> bool:
        """Return whether an address is meant."""
        return self.network is not None and address.version == self.network.version and address in self.network

    def has_port(self, port: int) -> bool:
        """Return whether a port is meant."""
        return self.ports is None or port in self.ports


def read_entry(fields: dict[str, Any], *, default_ports: tuple[int, ...] | None) -> Entry:
    """Return an entry as the host sends it. Raises for anything else."""
    ports = tuple(map(int, fields["ports"])) if fields["ports"] is not None else default_ports
    if fields["network"] is not None:
        return Entry(None, False, ipaddress.ip_network(fields["network"], strict=False), ports)
    return Entry(str(fields["name"]), bool(fields["isWildcard"]), None, ports)


class Rules:
    """The lists of one session. Nothing is allowed that `allow` does not have, and nothing that `deny` has."""

    def __init__(
        self, allow: list[dict[str, Any]], deny: list[dict[str, Any]], trusted: list[dict[str, Any]] | None = None
    ) -> None:
        self._allow = [read_entry(fields, default_ports=USUAL_PORTS) for fields in allow]
        self._deny = [read_entry(fields, default_ports=None) for fields in deny]
        # Names of the host's own settings: they may lead to any address.
        self._trusted = [read_entry(fields, default_ports=USUAL_PORTS) for fields in trusted or ()]

    def check_host(self, host: str | Address, port: int) -> None:
        """Raise unless a host is listed. It comes before any name is looked up: a look-up tells others its name."""
        is_meant = (lambda entry: entry.has_name(host)) if isinstance(host, str) else lambda e: e.has_address(host)
        target = f"{in_brackets(host)}:{port}"
        if any(is_meant(entry) and entry.has_port(port) for entry in self._deny):
            raise Refused(f"{target} is on the list of denied hosts (network.deny)")
        meant = [entry for entry in self._allow if is_meant(entry)]
        if any(entry.has_port(port) for entry in meant):
            return
        if meant:
            ports = ", ".join(str(one) for one in sorted({one for entry in meant for one in entry.ports or ()}))
            raise Refused(f"{in_brackets(host)} is allowed on {ports} only; to allow it, add {target} to network.allow")
        raise Refused(f"{target} is not on the list of allowed hosts; to allow it, add {target} to network.allow")

    def check_address(self, name: str, address: Address, port: int) -> None:
        """Raise unless a listed name may lead to this address."""
        target = f"{in_brackets(address)}:{port}"
        if any(entry.has_address(address) and entry.has_port(port) for entry in self._deny):
            raise Refused(f"{name} leads to {target}, which is on the list of denied hosts (network.deny)")
        if any(entry.has_name(name) and entry.has_port(port) for entry in self._trusted):
            return
        kind = kind_of(address)
        if kind is None or any(entry.has_address(address) and entry.has_port(port) for entry in self._allow):
            return
        raise Refused(f"{name} leads to {address} ({kind}); to allow it, add the address {target} to network.allow")
