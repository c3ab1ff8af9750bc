"""Tests of `_vivarium.jupyter`."""
