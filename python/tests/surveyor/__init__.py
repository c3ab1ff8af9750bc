"""Tests of the surveyor."""
