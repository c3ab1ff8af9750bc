"""Tests of pid 1."""
