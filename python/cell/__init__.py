"""Compiles code, runs it in one namespace and describes what came of it."""
