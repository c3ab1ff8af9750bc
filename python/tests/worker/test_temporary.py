"""Tests of emptying temporary directories."""

import os
import tempfile
import unittest

from _vivarium.worker.temporary import empty_temporary


class EmptyTest(unittest.TestCase):
    def test_everything_goes_but_what_was_prepared(self) -> None:
        with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as outside:
            os.makedirs(f"{place}/deep/er")
            os.chmod(f"{place}/deep", 0o500)
            os.mkdir(f"{place}/prepared")
            os.symlink(outside, f"{place}/link")
            for path in (f"{place}/file", f"{place}/prepared/fonts", f"{outside}/kept"):
                with open(path, "w"):
                    pass
            empty_temporary((), (place,), f"{place}/prepared")
            self.assertEqual(os.listdir(place), ["prepared"])
            self.assertEqual((os.listdir(f"{place}/prepared"), os.listdir(outside)), (["fonts"], ["kept"]))

    def test_a_link_in_its_place_is_not_what_was_prepared(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            os.symlink("/etc", f"{place}/prepared")
            empty_temporary((), (place,), f"{place}/prepared")
            self.assertEqual(os.listdir(place), [])

    def test_a_place_that_cannot_be_listed_costs_only_itself(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(f"{place}/locked", 0o000)
            empty_temporary((), (f"{place}/gone", place), "")
            self.assertEqual(os.listdir(place), [])

    def test_what_leads_to_a_mount_stays(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            for path in (f"{place}/data/sets/mine", f"{place}/data2"):
                os.makedirs(path)
            empty_temporary((f"{place}/data//sets/mine/",), (place,), "")
            self.assertEqual(os.listdir(place), ["data"])
            self.assertTrue(os.path.isdir(f"{place}/data/sets/mine"))

    def test_a_place_that_is_a_mount_itself_stays_as_it_is(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(f"{place}/of-the-owner")
            empty_temporary((f"{place}/",), (place,), "")
            self.assertEqual(os.listdir(place), ["of-the-owner"])


if __name__ == "__main__":
    unittest.main()
