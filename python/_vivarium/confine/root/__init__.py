"""Builds the root file system of an enclosure."""
