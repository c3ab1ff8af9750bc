"""Tests of names and addresses: their spellings, and which of them are public."""

from __future__ import annotations

import ipaddress
import unittest

from _vivarium.gate.addresses import NotAHost, kind_of, parse_authority, parse_host
from _vivarium.gate.rules import Refused, Rules

from .running import entry


class SpellingTest(unittest.TestCase):
    """What counts as an address, as a name, or as neither."""

    def test_names_are_lowered_and_lose_the_dot_of_the_root(self) -> None:
        self.assertEqual(parse_host("API.Example.com."), "api.example.com")
        self.assertEqual(parse_host("_dmarc.x-y.example"), "_dmarc.x-y.example")

    def test_other_spellings_of_an_ipv4_address_are_refused(self) -> None:
        spellings = ["2130706433", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "0x7f.0.0.1"]
        spellings += ["127.0.0.1.", "1.2.3.4.5", "256.1.1.1", "127.0.0.0x1", "017700000001", "0"]
        for text in spellings:
            with self.subTest(text=text), self.assertRaises(NotAHost):
                parse_host(text)

    def test_what_looks_like_neither_is_refused(self) -> None:
        hosts = [
            "",
            ".",
            "a..b",
            "-a.com",
            "a b",
            "a\0b",
            "ex\u00e4mple.com",
            "a/b",
            "a@b",
            "a%62.com",
            "\uff11.1.1.1",
            "x" * 64,
        ]
        for text in [*hosts, ("a." * 130) + "com", "[::1", "::1%eth0", "[127.0.0.1]", "1:2"]:
            with self.subTest(text=text), self.assertRaises(NotAHost):
                parse_host(text)

    def test_an_ipv4_address_inside_of_an_ipv6_one_is_that_address(self) -> None:
        for text in ("::ffff:127.0.0.1", "[::ffff:7f00:1]", "0:0:0:0:0:ffff:7f00:0001"):
            self.assertEqual(parse_host(text), ipaddress.IPv4Address("127.0.0.1"))

    def test_ports_are_decimal(self) -> None:
        self.assertEqual(parse_authority("a.test:443"), ("a.test", 443))
        self.assertEqual(parse_authority("[::1]:80"), (ipaddress.ip_address("::1"), 80))
        for text in (
            "a.test",
            "a.test:",
            "a.test:0",
            "a.test:65536",
            "a.test:+80",
            "a.test:0x50",
            "a.test:\u0661",
            "::1:80",
            "a:1:2",
        ):
            with self.subTest(text=text), self.assertRaises(NotAHost):
                parse_authority(text)


class KindTest(unittest.TestCase):
    """Which addresses are not public."""

    def test_addresses_that_are_not_public_are_known(self) -> None:
        others = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
        ]
        others += [
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
        ]
        others += [
            "::",
            "::1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "fc00::1",
            "fd00:ec2::254",
        ]
        others += [
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2002:7f00:1::1",
            "2002:a00:1::",
            "2001:db8::1",
        ]
        others += ["100::1", "4000::1", "3fff::1"]
        for text in others:
            with self.subTest(text=text):
                self.assertIsNotNone(kind_of(ipaddress.ip_address(text)))

    def test_public_addresses_are_public(self) -> None:
        for text in ("93.184.216.34", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1", "64:ff9b::808:808"):
            with self.subTest(text=text):
                self.assertIsNone(kind_of(ipaddress.ip_address(text)))


class RulesTest(unittest.TestCase):
    """What the lists mean."""

    def refusal(self, rules: Rules, host: str, port: int) -> str | None:
        try:
            rules.check_host(parse_host(host), port)
        except Refused as error:
            return str(error)
        return None

    def test_a_wildcard_means_all_names_below_and_not_the_name_itself(self) -> None:
        rules = Rules([entry("*.example.org:443")], [])
        self.assertIsNone(self.refusal(rules, "a.b.example.org", 443))
        for host in ("example.org", "badexample.org", "example.org.evil.test", "a.example.org.evil"):
            self.assertIn("not on the list", str(self.refusal(rules, host, 443)))

    def test_a_star_means_every_name_and_no_address(self) -> None:
        rules = Rules([entry("*:443")], [])
        self.assertIsNone(self.refusal(rules, "anything.test", 443))
        self.assertIsNotNone(self.refusal(rules, "8.8.8.8", 443))

    def test_an_entry_without_a_port_means_the_usual_ones_and_a_denial_all(self) -> None:
        plain = {**entry("a.test:1"), "ports": None}
        self.assertIsNone(self.refusal(Rules([plain], []), "a.test", 443))
        self.assertIn("allowed on 80, 443 only", str(self.refusal(Rules([plain], []), "a.test", 22)))
        self.assertIn("network.deny", str(self.refusal(Rules([entry("a.test:22")], [plain]), "a.test", 22)))

    def test_denied_addresses_are_refused_behind_names_too(self) -> None:
        rules = Rules([entry("a.test:443")], [entry("93.184.216.0/24:443")])
        with self.assertRaisesRegex(Refused, r"a\.test leads to 93\.184\.216\.34:443"):
            rules.check_address("a.test", ipaddress.ip_address("93.184.216.34"), 443)

    def test_an_address_that_is_not_public_must_be_listed_itself_with_its_port(self) -> None:
        address = ipaddress.ip_address("10.0.0.5")
        with self.assertRaisesRegex(Refused, r"add the address 10\.0\.0\.5:5432 to network\.allow"):
            Rules([entry("db.test:5432")], []).check_address("db.test", address, 5432)
        Rules([entry("db.test:5432"), entry("10.0.0.0/8:5432")], []).check_address("db.test", address, 5432)
        with self.assertRaises(Refused):
            Rules([entry("db.test:5432"), entry("10.0.0.5:80")], []).check_address("db.test", address, 5432)


if __name__ == "__main__":
    unittest.main()
