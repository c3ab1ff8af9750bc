"""Filters system calls."""
