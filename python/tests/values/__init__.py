"""Tests of `_vivarium.values`."""
