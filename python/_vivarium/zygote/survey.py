"""Forks the surveyor: before any large import, and again whenever the host asks for another one."""

from __future__ import annotations

import gc
import os
import signal

from _vivarium.confine import kernel
from _vivarium.values.hints import NoReturn
from _vivarium.zygote.setup import Setup

CHANNEL = 4
NAME = b"viv-surveyor"
_PR_SET_NAME = 15


def spawn_surveyor(setup: Setup, token: bytes = b"") -> int:
    """Fork a surveyor and return its pid. After a predecessor it goes on behind `token` in the host's channel."""
    pid = os.fork()
    if pid == 0:
        try:
            _become_surveyor(setup, token)
        finally:
            os._exit(1)
    return pid


def _become_surveyor(setup: Setup, token: bytes) -> NoReturn:
    kernel.die_with_parent()
    kernel.syscall("prctl", _PR_SET_NAME, NAME)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    kernel.close_fds_except([CHANNEL])
    gc.enable()  # the zygote puts it off until all is imported
    # Only now: the zygote goes on meanwhile, and needs none of this.
    from _vivarium.channel import Channel
    from _vivarium.surveyor.server import Surveyor, SurveySettings

    channel = Channel(CHANNEL)
    if token:
        channel.skip_past(token)
    Surveyor(channel, SurveySettings(sessions=setup.sessions)).serve()
