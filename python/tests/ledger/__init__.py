"""Tests of `_vivarium.cell`."""
