"""Runs inside the kernel of a Jupyter server."""
