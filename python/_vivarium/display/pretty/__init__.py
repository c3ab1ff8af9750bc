"""The text of values as notebooks show it: containers broken into lines, classes and functions by their names."""
