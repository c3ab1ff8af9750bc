"""Tells what proposed code is made of (syntax, imports, uses of names, results) without running it."""
