"""Vivarium inside a Jupyter kernel of somebody else's server."""
