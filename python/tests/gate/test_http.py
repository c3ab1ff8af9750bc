"""What the HTTP proxy passes on, and what it refuses because two programs could read it in two ways."""

from __future__ import annotations

import socket
import unittest

from .running import GateTest, Origin, read_all


class HttpTest(GateTest):
    """A session that may reach one host."""

    def setUp(self) -> None:
        """Serve it."""
        self.server = self.origin()
        self.host = f"api.test:{self.server.port}"
        self.running = self.gate({"api.test": ["127.0.0.1"]})
        self.session = self.running.serve("s1", [self.host, f"127.0.0.1:{self.server.port}"])

    def ask(self, *lines: str, method: str = "GET", path: str = "/", body: str = "", host: str | None = None) -> str:
        head = [f"{method} http://{self.host}{path} HTTP/1.1", f"Host: {host or self.host}", *lines]
        return self.session.send("\r\n".join(head) + "\r\n\r\n" + body)

    def through(self, answer: bytes, method: str = "GET") -> str:
        """Ask a server that answers so."""

        def serve(connection: socket.socket, _: Origin) -> None:
            connection.recv(65536)
            connection.sendall(answer)

        server = self.origin(serve)
        host = f"api.test:{server.port}"
        session = self.running.serve(f"s{server.port}", [host, f"127.0.0.1:{server.port}"])
        return session.send(f"{method} http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")

    def assert_refused(self, answer: str, words: str) -> None:
        self.assertRegex(answer, r"^HTTP/1\.1 4\d\d refused by the sandbox: ")
        self.assertIn(words, answer)
        self.assertEqual(self.server.connections, 0)
        self.assertEqual(self.running.attempts[-1]["decision"], "refused")

    def test_a_request_is_passed_on_without_what_concerns_the_proxy(self) -> None:
        lines = ["Connection: keep-alive, X-Hop", "X-Hop: 1", "Proxy-Authorization: secret", "Proxy-Connection: x"]
        answer = self.ask(*lines, "Upgrade: websocket", "TE: trailers", "X-Kept: yes", path="/a?b=/c")
        self.assertEqual(answer.split("\r\n\r\n")[1], "hello")
        self.assertNotIn("Keep-Alive", answer)
        head = self.server.heads[0]
        self.assertEqual(
            head.split("\r\n"), ["GET /a?b=/c HTTP/1.1", f"Host: {self.host}", "X-Kept: yes", "Connection: close"]
        )

    def test_an_address_without_a_path_has_one(self) -> None:
        for path in ("", "?q=1/2"):
            self.ask(path=path)
        self.assertEqual([head.split(" ")[1] for head in self.server.heads], ["/", "/?q=1/2"])

    def test_bodies_are_passed_on_by_length_and_in_chunks(self) -> None:
        self.ask("Content-Length: 5", method="POST", body="12345")
        self.ask(
            "Transfer-Encoding: chunked",
            method="POST",
            body="3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n",
        )
        self.assertEqual(self.server.bodies, [b"12345", b"3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n"])

    def test_bytes_are_counted(self) -> None:
        self.ask("Content-Length: 5", method="POST", body="12345")
        self.running.wait(lambda: self.running.closed)
        closed = self.running.closed[-1]
        self.assertGreater(closed["sent"], 50)
        self.assertGreater(closed["received"], 5)
        self.assertEqual(closed["id"], self.running.attempts[-1]["id"])

    def test_answers_of_every_length_come_through(self) -> None:
        self.assertTrue(self.through(b"HTTP/1.1 200 OK\r\n\r\nto the end").endswith("\r\n\r\nto the end"))
        chunks = self.through(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        self.assertTrue(chunks.endswith("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
        self.assertIn("204", self.through(b"HTTP/1.1 204 No Content\r\n\r\n"))
        head = self.through(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", method="HEAD")
        self.assertIn("Content-Length: 1000", head)
        interim = self.through(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.assertTrue(interim.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK") and interim.endswith("ok"))

    def test_two_lengths_are_refused(self) -> None:
        self.assert_refused(
            self.ask("Content-Length: 5", "Content-Length: 6", method="POST", body="12345"), "more than once"
        )
        self.assert_refused(self.ask("Content-Length: 5, 6", method="POST", body="12345"), "not a number")
        self.assert_refused(self.ask("Content-Length: +5", method="POST", body="12345"), "not a number")

    def test_a_length_beside_chunks_is_refused(self) -> None:
        smuggled = "0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
        answer = self.ask("Content-Length: 5", "Transfer-Encoding: chunked", method="POST", body=smuggled)
        self.assert_refused(answer, "where its body ends")

    def test_other_codings_are_refused(self) -> None:
        for coding in ("identity", "gzip, chunked", "chunked, chunked", "xchunked", "chunked\x0b"):
            answer = self.ask(f"Transfer-Encoding: {coding}", method="POST", body="0\r\n\r\n")
            self.assert_refused(answer, "")

    def test_headers_that_could_be_read_in_two_ways_are_refused(self) -> None:
        lines = [
            "Content-Length : 5",
            " folded: 1",
            "X: a\nTransfer-Encoding: chunked",
            "X: a\rb",
            "X\0: 1",
            "no colon",
            ": 1",
        ]
        for line in lines:
            with self.subTest(line=line):
                self.assert_refused(self.ask(line), "not understood")

    def test_a_second_request_on_the_same_connection_is_not_passed_on(self) -> None:
        request = f"GET http://{self.host}/first HTTP/1.1\r\nHost: {self.host}\r\n\r\n"
        answer = self.session.send(request + f"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n{request}")
        self.assertEqual(answer.count("HTTP/1.1"), 1)
        self.assertEqual(len(self.server.heads), 1)

    def test_malformed_chunks_are_passed_to_nobody(self) -> None:
        for body in (
            "-1\r\n\r\n",
            "0x3\r\nabc\r\n",
            "3\nabc\r\n0\r\n\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "f" * 17 + "\r\n",
        ):
            with self.subTest(body=body):
                answer = self.ask("Transfer-Encoding: chunked", method="POST", body=body)
                self.assertNotIn("200 OK", answer)
        self.assertEqual(self.server.bodies, [])

    def test_a_host_header_that_names_another_host_is_refused(self) -> None:
        self.assert_refused(self.ask(host="evil.test"), "its header Host names evil.test")
        self.assert_refused(self.ask(host="api.test"), "its header Host names api.test")  # another port
        self.assert_refused(self.ask(f"host: {self.host}"), "more than once")

    def test_https_addresses_need_a_tunnel(self) -> None:
        answer = self.session.get(f"https://{self.host}/", self.host)
        self.assert_refused(answer, "with CONNECT for anything else")

    def test_other_versions_and_methods_are_refused(self) -> None:
        for line in (
            f"GET http://{self.host}/",
            f"GET http://{self.host}/ HTTP/2.0",
            f"get http://{self.host}/ HTTP/1.1",
            "PRI * HTTP/2.0",
        ):
            self.assert_refused(self.session.send(f"{line}\r\nHost: {self.host}\r\n\r\n"), "not")

    def test_huge_heads_are_refused(self) -> None:
        self.assert_refused(self.ask(f"X: {'x' * 40_000}"), "the head of a request may have 32768 bytes")
        self.assert_refused(self.ask(*(f"X-{number}: 1" for number in range(150))), "more than 100 headers")
        with self.session.connect() as connection:
            try:
                for _ in range(2000):
                    connection.sendall(b"x" * 65536)  # without any end
            except OSError:
                pass
            self.assertRegex(read_all(connection), b"^(HTTP/1.1 431 .*)?")

    def test_answers_that_are_not_understood_are_not_passed_on(self) -> None:
        lies = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
            b"",
        ]
        for lie in lies:
            with self.subTest(lie=lie[:60]):
                self.assertTrue(self.through(lie).startswith("HTTP/1.1 502 not reached from the sandbox: "))

    def test_a_truncated_answer_ends_in_an_error(self) -> None:
        self.assertNotIn("whole", self.through(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"))
        self.assertFalse(
            self.through(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab").endswith("0\r\n\r\n")
        )

    def test_a_host_that_cannot_be_reached_is_told(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        session = self.running.serve("s2", [f"api.test:{port}", f"127.0.0.1:{port}", f"unknown.test:{port}"])
        self.assertIn(
            f"502 not reached from the sandbox: api.test:{port} cannot be reached: Connection refused",
            session.get(f"http://api.test:{port}/"),
        )
        self.assertIn("the name unknown.test is not known", session.get(f"http://unknown.test:{port}/"))
        self.assertEqual([one["decision"] for one in self.running.attempts], ["allowed", "allowed"])
        self.assertIn("Connection refused", self.running.attempts[0]["reason"])

    def test_secrets_reach_their_hosts_and_no_others(self) -> None:
        other = self.origin()
        hosts = [self.host, f"127.0.0.1:{self.server.port}", f"api.test:{other.port}", f"127.0.0.1:{other.port}"]
        fields = {"name": "api.test", "isWildcard": False, "network": None, "ports": [self.server.port]}
        secret = {"placeholder": "placeholder-1", "value": "s3cret", "hosts": [fields]}
        session = self.running.serve("s2", hosts, secrets=[secret])
        for host in hosts[0], hosts[2]:
            session.send(
                f"GET http://{host}/placeholder-1 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer placeholder-1\r\n\r\n"
            )
        self.assertIn("Authorization: Bearer s3cret\r\n", self.server.heads[0])
        self.assertIn("GET /placeholder-1 ", self.server.heads[0])
        self.assertIn("Authorization: Bearer placeholder-1\r\n", other.heads[0])


if __name__ == "__main__":
    unittest.main()
