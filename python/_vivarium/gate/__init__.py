"""The one process that connects sessions to listed hosts. It runs outside of all sessions, and trusts none of them."""
