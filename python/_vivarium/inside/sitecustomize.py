"""Has a Python that a session starts find what was installed for the session, after everything else."""

import os
import sys

_SITE = f"{os.environ.get('VIVARIUM_PACKAGES', '')}/site"
if os.path.isdir(_SITE) and _SITE not in sys.path:
    sys.path.append(_SITE)
