"""Tests of `_vivarium.display`."""
