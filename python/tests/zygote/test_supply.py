"""The builder may end at any moment: every order that is open then is done by its successor."""

from __future__ import annotations

import json
import os
import select
import socket
import time
import unittest
from unittest import mock

from _vivarium.confine.cgroup import Group
from _vivarium.zygote import supply as module
from _vivarium.zygote.supply import BuildFailed, Enclosure, Supply

PLAIN = {
    "hasMounts": False,
    "network": False,
    "listed": False,
    "readOnly": False,
    "workspace": None,
    "uid": None,
    "limits": {"cpus": None},
}


class Builders:
    """Plays every builder that the supply starts."""

    def __init__(self) -> None:
        self.started: list[socket.socket] = []
        self.failures = 0

    def spawn(self, _: object) -> tuple[socket.socket, int]:
        """Start one, or fail as a machine without a free process does."""
        if self.failures:
            self.failures -= 1
            raise BlockingIOError(11, "Resource temporarily unavailable")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self.started.append(theirs)
        return ours, 1000 + len(self.started)

    def orders(self) -> list[dict]:
        """Return what the present builder was asked for."""
        found = []
        while select.select([self.started[-1]], [], [], 0)[0]:
            message, fds, _, _ = socket.recv_fds(self.started[-1], 1 << 20, 1)
            for fd in fds:
                os.close(fd)
            found.append(json.loads(message))
        return found

    def answer(self, order: dict, **answer: object) -> None:
        """Say that an order is done."""
        fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(4)] if "pid1" in answer else []
        socket.send_fds(self.started[-1], [json.dumps({**answer, "number": order["number"]}).encode()], fds)
        for fd in fds:
            os.close(fd)


class SupplyTest(unittest.TestCase):
    """A supply whose builders are played by the test."""

    def setUp(self) -> None:
        self.builders = Builders()
        setup = mock.Mock(instance="i", ahead=0)
        setup.uid_of.side_effect = lambda count: count
        setup.cgroups.kind = "v2"
        patch = mock.patch.object(module, "spawn_builder", self.builders.spawn)
        patch.start()
        self.addCleanup(patch.stop)
        self.supply = Supply(setup)
        self.addCleanup(lambda: [one.close() for one in self.builders.started])
        self.addCleanup(self.supply.disown)

    def claim(self, name: str) -> None:
        """Ask for an enclosure."""
        self.assertIsNone(self.supply.claim({**PLAIN, "enclosure": name}))

    def kill_builder(self) -> None:
        """End the builder, and let the supply notice as the zygote's loop does."""
        self.builders.started[-1].close()
        with self.assertRaises(OSError):
            while True:
                self.supply.receive()
        self.supply.replace_builder()
        self.wait_for_builder()

    def wait_for_builder(self) -> None:
        """Resume as often as the loop would."""
        while (pause := self.supply.next_s()) is not None:
            time.sleep(pause)
            self.supply.resume()

    def built(self) -> dict:
        """Return the answer to a build."""
        return {"pid1": 77, "ticket": "t", "workspace": "w", "uid": 5, "group": {"memory": "/groups/g"}}

    def test_every_kind_of_order_is_repeated_until_it_is_done(self) -> None:
        self.claim("s1")
        go_read, go = os.pipe()
        self.addCleanup(os.close, go_read)
        group = Group("v2", {"memory": "/groups/a"})
        self.supply.attach(group, 123, go)
        null = os.open("/dev/null", os.O_RDONLY)
        self.supply.discard(Enclosure(1, "w", 0, null, (), Group("v2", {"memory": "/groups/b"})))
        first = self.builders.orders()
        self.assertEqual([next(iter(order)) for order in first], ["build", "attach", "remove"])
        self.kill_builder()
        self.assertEqual(self.builders.orders(), first)
        for order in first[1:]:
            self.builders.answer(order)
            self.supply.receive()
        self.kill_builder()
        self.assertEqual(self.builders.orders(), first[:1])
        self.builders.answer(first[0], **self.built())
        delivery = self.supply.receive()
        assert delivery is not None
        command, enclosure = delivery
        assert command is not None
        self.assertEqual((command["enclosure"], enclosure.pid1), ("s1", 77))
        self.kill_builder()
        self.assertEqual(self.builders.orders(), [])

    def test_a_worker_is_let_go_by_one_of_the_builders_or_learns_that_it_is_not(self) -> None:
        go_read, go = os.pipe()
        os.set_blocking(go_read, False)
        self.supply.attach(Group("v2", {"memory": "/groups/a"}), 123, go)
        [order] = self.builders.orders()
        self.kill_builder()
        self.builders.orders()
        with self.assertRaises(BlockingIOError):
            os.read(go_read, 1)  # still open: a successor can send the go
        self.builders.answer(order, error="no such group")
        self.supply.receive()
        self.assertEqual(os.read(go_read, 1), b"")
        os.close(go_read)

    def test_the_order_of_a_worker_that_has_ended_is_forgotten(self) -> None:
        go_read, go = os.pipe()
        self.supply.attach(Group("v2", {"memory": "/groups/a"}), 123, go)
        self.builders.orders()
        self.supply.remove(123)
        self.assertEqual(os.read(go_read, 1), b"")
        os.close(go_read)
        self.kill_builder()
        self.assertEqual(self.builders.orders(), [])

    def test_a_builder_that_cannot_be_started_is_started_later(self) -> None:
        self.claim("s1")
        self.builders.failures = 3
        self.kill_builder()
        self.claim("s2")
        self.assertEqual(len(self.builders.orders()), 2)
        self.assertEqual(len(self.builders.started), 2)

    def test_a_builder_that_is_busy_is_not_waited_for(self) -> None:
        for number in range(1000):
            self.claim(f"s{number}")
        self.assertIsNotNone(self.supply.next_s())
        names: list[str] = []
        while len(names) < 1000:
            names += [order["build"] for order in self.builders.orders()]
            self.supply.resume()
        self.assertEqual(names, [f"i-{number}" for number in range(1, 1001)])

    def test_an_enclosure_that_nobody_waits_for_any_more_is_ended_and_its_group_removed(self) -> None:
        self.claim("s1")
        [order] = self.builders.orders()
        self.assertTrue(self.supply.cancel("s1"))
        self.assertFalse(self.supply.cancel("s1"))
        self.builders.answer(order, **self.built())
        self.assertIsNone(self.supply.receive())
        [removal] = self.builders.orders()
        self.assertEqual(removal["remove"], {"memory": "/groups/g"})

    def test_a_build_that_failed_is_told_to_the_session_that_waits(self) -> None:
        self.claim("s1")
        [order] = self.builders.orders()
        self.builders.answer(order, error="no room")
        with self.assertRaisesRegex(BuildFailed, "no room"):
            self.supply.receive()


if __name__ == "__main__":
    unittest.main()
