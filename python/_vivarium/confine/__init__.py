"""What confines a process: identity, limits, control groups, Landlock, seccomp and a root of its own."""
