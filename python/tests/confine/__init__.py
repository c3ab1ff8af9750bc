"""Tests of `_vivarium.confine`."""
