"""Fingerprints and descriptions of values of libraries: arrays and tables."""
