"""Asks the kernel what changed in a tree of directories, so that nobody has to walk it again."""
