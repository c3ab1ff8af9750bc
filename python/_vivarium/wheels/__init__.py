"""Unpacks wheels into the cache, outside of all sessions. It trusts nothing in them."""
