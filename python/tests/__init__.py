"""Tests of the Python side; run them with `python -m unittest discover -s python/tests -t python`."""
