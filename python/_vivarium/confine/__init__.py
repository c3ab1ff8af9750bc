"""Confines processes: identity, limits, control groups, Landlock, seccomp and a root file system of their own."""
