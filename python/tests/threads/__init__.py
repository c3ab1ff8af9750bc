"""Tests of `_vivarium.threads`."""
