"""Walls around untrusted Python: one file for each kernel mechanism."""
