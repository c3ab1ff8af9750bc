"""Rules for files, ports and processes, by Landlock."""
