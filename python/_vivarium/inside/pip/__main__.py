"""`python -m pip`, and the commands `pip` and `uv`, in child processes of a session."""

import sys

from .command import other_installer, pip

if sys.argv[1:2] == ["--as"]:
    sys.exit(other_installer(sys.argv[2], sys.argv[3:]))
sys.exit(pip(sys.argv[1:]))
