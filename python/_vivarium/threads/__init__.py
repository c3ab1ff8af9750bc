"""Which threads a worker has, and what they mean for a copy of it."""
