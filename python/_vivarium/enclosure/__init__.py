"""The walls of one session: the process that builds them, and the first process inside."""
