"""`pip` as a session has it: asks the host, which installs packages for the session."""
