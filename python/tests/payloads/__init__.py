"""Tests of `_vivarium.payloads`."""
