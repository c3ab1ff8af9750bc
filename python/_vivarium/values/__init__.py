"""Reads values of a program without running its code. Imports nothing else of this package."""
