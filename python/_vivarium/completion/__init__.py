"""Completes what stands before a cursor, without running code of the program."""
