"""Describes proposed code (syntax, imports, uses of names, results) without running it."""
