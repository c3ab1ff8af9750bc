"""Reads the data behind figures of matplotlib."""
