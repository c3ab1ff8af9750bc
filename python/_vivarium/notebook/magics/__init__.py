"""The magics, grouped by what they are about."""
