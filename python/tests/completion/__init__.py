"""Tests of `_vivarium.completion`."""
