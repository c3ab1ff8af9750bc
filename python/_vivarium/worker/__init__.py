"""The process that runs a session's code, and its dormant twins."""
