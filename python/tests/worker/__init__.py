"""Tests of `_vivarium.worker`."""
