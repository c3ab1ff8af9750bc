"""Ways past the list, by where a program wants to go: names, addresses, ports and other names for them."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import unittest

from .running import GateTest, Session, answer_http, echo, read_all

PRIVATE = {
    "loop.test": "127.0.0.1",
    "ten.test": "10.0.0.1",
    "meta.test": "169.254.169.254",
    "cgnat.test": "100.64.0.1",
    "home.test": "192.168.1.1",
    "zero.test": "0.0.0.0",
    "multi.test": "224.0.0.1",
    "six.test": "::1",
    "mapped.test": "::ffff:10.0.0.1",
    "sixtofour.test": "2002:7f00:1::",
    "nat64.test": "64:ff9b::a9fe:a9fe",
    "unique.test": "fd00:ec2::254",
    "link.test": "fe80::1",
}


class TargetTest(GateTest):
    """Where a program may not go."""

    def session(self, names: dict | None = None, more: tuple[str, ...] = ()) -> Session:
        self.server = self.origin()
        self.port = self.server.port
        gate = self.gate({"api.test": ["127.0.0.1"], **{name: [one] for name, one in PRIVATE.items()}, **(names or {})})
        allow = [f"api.test:{self.port}", f"127.0.0.1:{self.port}", *(f"{name}:443" for name in PRIVATE), *more]
        return gate.serve("s1", allow)

    def test_names_that_lead_to_addresses_that_are_not_public_are_refused_and_told(self) -> None:
        session = self.session()
        for name, address in PRIVATE.items():
            with self.subTest(name=name):
                reason = session.refused(f"{name}:443")
                shown = ipaddress.ip_address(address)
                shown = getattr(shown, "ipv4_mapped", None) or shown
                self.assertIn(f"{name} leads to {shown}", reason)
                told = session.gate.attempts[-1]
                self.assertEqual((told["host"], told["decision"], told["address"]), (name, "refused", str(shown)))
        self.assertEqual(self.server.connections, 0)

    def test_addresses_in_all_spellings_are_refused(self) -> None:
        session = self.session()
        spellings = ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::1]", "[::ffff:10.0.0.1]"]
        spellings += ["[::ffff:a00:1]", "[64:ff9b::7f00:1]", "169.254.169.254", "[fd00:ec2::254]", "[::]", "localhost"]
        for spelling in spellings:
            with self.subTest(spelling=spelling):
                session.refused(f"{spelling}:22")
        self.assertEqual(len(session.gate.attempts), len(spellings))
        self.assertTrue(all(one["decision"] == "refused" for one in session.gate.attempts))

    def test_an_address_that_is_listed_is_reached_in_its_usual_form_only(self) -> None:
        session = self.session()
        self.assertIn("200 OK", session.get(f"http://127.0.0.1:{self.port}/"))
        self.assertIn("200 OK", session.get(f"http://[::ffff:127.0.0.1]:{self.port}/", f"127.0.0.1:{self.port}"))
        for host in ("127.1", "0x7f.0.0.1", "2130706433", "127.0.0.1.", "127.0.0.01"):
            self.assertIn("403 refused", session.get(f"http://{host}:{self.port}/"))
        self.assertEqual(self.server.connections, 2)

    def test_a_name_that_is_not_listed_is_not_even_looked_up(self) -> None:
        session = self.session({"evil.test": ["93.184.216.34"]})
        self.assertIn("to allow it, add evil.test:443 to network.allow", session.refused("evil.test:443"))
        session.refused("secret-data.exfiltrated.evil.test:443")
        self.assertEqual(self.names.asked, [])

    def test_a_redirect_to_a_private_address_leads_nowhere(self) -> None:
        def redirect(connection: socket.socket, _: object) -> None:
            connection.recv(65536)
            connection.sendall(
                b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n"
            )

        origin = self.origin(redirect)
        session = self.session(more=(f"api.test:{origin.port}", f"127.0.0.1:{origin.port}"))
        answer = session.get(f"http://api.test:{origin.port}/")
        self.assertIn("Location: http://169.254.169.254/latest/", answer)
        followed = session.get("http://169.254.169.254/latest/")
        self.assertIn("403 refused by the sandbox: 169.254.169.254:80 is not on the list", followed)

    def test_a_name_that_changes_its_address_is_checked_each_time(self) -> None:
        names = {"rebind.test": [["127.0.0.1"], ["10.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]]}
        session = self.session(names)
        allow = [f"rebind.test:{self.port}", f"127.0.0.1:{self.port}"]
        session = session.gate.serve("s2", allow)
        url = f"http://rebind.test:{self.port}/"
        answers = [session.get(url).split("\r\n")[0] for _ in range(4)]
        self.assertEqual([answer.split(" ")[1] for answer in answers], ["200", "403", "403", "200"])
        self.assertIn("rebind.test leads to 10.0.0.1 (private)", answers[1])
        self.assertEqual(self.names.asked.count("rebind.test"), 4)  # once for each: what was checked is what is used

    def test_of_several_addresses_only_public_or_listed_ones_are_used(self) -> None:
        session = self.session({"mixed.test": ["10.0.0.1", "127.0.0.1"]})
        session = session.gate.serve("s2", [f"mixed.test:{self.port}", f"127.0.0.1:{self.port}"])
        self.assertIn("200 OK", session.get(f"http://mixed.test:{self.port}/"))
        self.assertEqual(session.gate.attempts[-1]["address"], "127.0.0.1")

    def test_other_ports_of_an_allowed_host_are_refused(self) -> None:
        session = self.session()
        for port in (22, 25, 80, self.port - 1):
            self.assertIn(f"allowed on {self.port} only", session.refused(f"api.test:{port}"))
        self.assertIn("403 refused", session.get(f"http://api.test:{self.port + 1}/"))

    def test_malformed_targets_are_refused(self) -> None:
        session = self.session()
        for target in (
            "api.test",
            "api.test:",
            ":443",
            f"api.test:{self.port}@evil.test:443",
            f"user@api.test:{self.port}",
        ):
            with self.subTest(target=target):
                session.refused(target)
        for url in (
            f"http://api.test:{self.port}@evil.test/",
            f"http://evil.test\\@api.test:{self.port}/",
            "ftp://api.test/",
            "/etc/passwd",
        ):
            with self.subTest(url=url):
                self.assertRegex(session.get(url, f"api.test:{self.port}"), r"^HTTP/1\.1 40[03] refused")
        self.assertEqual(self.server.connections, 0)

    def test_deny_wins(self) -> None:
        session = self.session({"sub.api.test": ["127.0.0.1"]})
        lists = [f"*.api.test:{self.port}", f"127.0.0.1:{self.port}"]
        session = session.gate.serve("s2", lists, [f"sub.api.test:{self.port}"])
        self.assertIn("network.deny", session.refused(f"sub.api.test:{self.port}"))
        session = session.gate.serve("s3", lists, [f"127.0.0.0/8:{self.port}"])
        self.assertIn("network.deny", session.refused(f"sub.api.test:{self.port}"))

    def test_the_machine_itself_is_refused_by_its_own_address_too(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))  # sends nothing, but finds the address of the machine
            except OSError:
                self.skipTest("this machine has no address but loopback")
            own = probe.getsockname()[0]
        session = self.session({"own.test": [own]}, more=("own.test:443",))
        self.assertIn("own.test leads to", session.refused("own.test:443"))

    def test_sessions_have_lists_of_their_own(self) -> None:
        session = self.session()
        other = session.gate.serve("s2", ["other.test:443"])
        other.refused(f"api.test:{self.port}")
        self.assertIn("200 OK", session.get(f"http://api.test:{self.port}/"))
        self.assertEqual([one["enclosure"] for one in session.gate.attempts], ["s2", "s1"])


class SocksTest(GateTest):
    """The same by SOCKS."""

    def setUp(self) -> None:
        """Serve a session that may reach one host."""
        self.server = self.origin(echo)
        gate = self.gate({"api.test": ["127.0.0.1"], "ten.test": ["10.0.0.1"]})
        allow = [f"api.test:{self.server.port}", f"127.0.0.1:{self.server.port}", "ten.test:443"]
        self.session = gate.serve("s1", allow)

    def ask(self, host: bytes, port: int, kind: int = 3, command: int = 1) -> int:
        code, connection = self.session.ask_socks(host, port, kind, command)
        connection.close()
        return code

    def test_listed_hosts_are_reached_by_name_and_by_address(self) -> None:
        targets = [(b"api.test", 3), (b"\x7f\0\0\1", 1), (b"\0" * 10 + b"\xff\xff\x7f\0\0\1", 4), (b"127.0.0.1", 3)]
        for host, kind in targets:
            code, connection = self.session.ask_socks(host, self.server.port, kind)
            self.assertEqual(code, 0)
            connection.sendall(b"ping")
            self.assertEqual(connection.recv(4), b"ping")
            connection.close()

    def test_others_are_refused_by_name_and_by_address(self) -> None:
        names = [
            b"evil.test",
            b"localhost",
            b"ten.test",
            b"2130706433",
            b"0x7f.1",
            b"127.1",
            b"::1",
            b"a\0b",
            b"\xff\xfe",
            b"",
        ]
        for name in names:
            with self.subTest(name=name):
                self.assertEqual(self.ask(name, 443), 2)
        addresses = [(b"\x7f\0\0\1", 1), (b"\xa9\xfe\xa9\xfe", 1), (b"\0\0\0\0", 1), (b"\0" * 15 + b"\1", 4)]
        for address, kind in addresses:
            with self.subTest(address=address):
                self.assertEqual(self.ask(address, 80, kind), 2)
        self.assertEqual(len(self.session.gate.attempts), len(names) + len(addresses))
        self.assertEqual(self.server.connections, 0)

    def test_nothing_but_connections_is_made(self) -> None:
        for command in (2, 3, 0, 255):  # listening, and datagrams
            self.assertEqual(self.ask(b"api.test", self.server.port, 3, command), 7)
        self.assertEqual(self.ask(b"", 443, 9), 8)
        self.assertEqual(self.server.connections, 0)

    def test_older_versions_and_passwords_are_not_spoken(self) -> None:
        for hello in (b"\x04\x01\x00\x50\x7f\0\0\1\0", b"GET http://api.test/ HTTP/1.1\r\n\r\n"):
            with self.session.connect(self.session.socks) as connection:
                connection.sendall(hello)
                self.assertEqual(read_all(connection), b"")
        with self.session.connect(self.session.socks) as connection:
            connection.sendall(b"\x05\x01\x02")
            self.assertEqual(read_all(connection), b"\x05\xff")


class TlsTest(GateTest):
    """The name in TLS must be the one that was asked for."""

    def setUp(self) -> None:
        """Serve a session that may reach one host, which sends back what it gets."""
        self.server = self.origin(echo)
        gate = self.gate({"api.test": ["127.0.0.1"]})
        self.session = gate.serve("s1", [f"api.test:{self.server.port}", f"127.0.0.1:{self.server.port}"])
        self.target = f"api.test:{self.server.port}"

    def hello(self, name: str | None) -> bytes:
        """The first message of a client."""
        context = ssl.create_default_context()
        context.check_hostname = False
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        connection = context.wrap_bio(incoming, outgoing, server_hostname=name)
        try:
            connection.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()

    def exchange(self, pieces: list[bytes]) -> bytes:
        line, connection = self.session.tunnel(self.target)
        self.assertIn("200", line)
        with connection:
            for piece in pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            return read_all(connection)

    def test_the_name_that_was_asked_for_passes_also_in_pieces_and_without_a_name(self) -> None:
        for name in ("api.test", None):
            hello = self.hello(name)
            self.assertEqual(self.exchange([hello]), hello)
            self.assertEqual(self.exchange([hello[:3], hello[3:60], hello[60:]]), hello)

    def test_another_name_is_refused_and_told_and_nothing_of_it_is_sent(self) -> None:
        self.assertEqual(self.exchange([self.hello("evil.test")]), b"\x15\x03\x03\x00\x02\x02\x70")
        self.assertIn(
            "TLS was begun with evil.test on a connection to api.test", self.session.gate.attempts[-1]["reason"]
        )
        self.session.gate.wait(lambda: self.session.gate.closed)
        self.assertEqual(self.session.gate.closed[-1]["sent"], 0)

    def test_a_name_in_fragments_of_records_is_found(self) -> None:
        body = self.hello("evil.test")[5:]
        records = b"".join(
            b"\x16\x03\x01" + len(one).to_bytes(2, "big") + one for one in (body[:7], body[7:90], body[90:])
        )
        self.assertEqual(self.exchange([records])[:1], b"\x15")

    def test_what_only_looks_like_tls_is_refused(self) -> None:
        for data in (b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\x16GET / HTTP/1.1\r\n\r\n"):
            self.assertEqual(self.exchange([data])[:1], b"\x15")

    def test_other_protocols_pass_also_when_the_server_speaks_first(self) -> None:
        def greet(connection: socket.socket, origin: object) -> None:
            connection.sendall(b"220 hello\r\n")
            answer_http(connection, origin)

        server = self.origin(greet)
        session = self.session.gate.serve("s2", [f"127.0.0.1:{server.port}"])
        _, connection = session.tunnel(f"127.0.0.1:{server.port}")
        with connection:
            self.assertEqual(connection.recv(11), b"220 hello\r\n")


if __name__ == "__main__":
    unittest.main()
