"""Finds out which variables a run can have changed, and which it did change."""
