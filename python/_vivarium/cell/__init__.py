"""Compiles and runs code, and keeps track of what it does to the process and its variables."""
