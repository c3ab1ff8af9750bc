"""What every session sees of us: commands and a module `pip` for child processes. It imports nothing of the others."""
