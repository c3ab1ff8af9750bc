"""Starts a command of the system in an enclosure: a fork of pid 1 closes the walls of a worker, and executes it.

What to execute comes from the host over a connection of its own, so that the zygote never hears of it.
"""

from __future__ import annotations

# without the enums of `signal`, which would be copied into every pid 1
import _signal as signal  # type: ignore[import-not-found]
import errno
import os

from _vivarium import protocol
from _vivarium.confine import kernel
from _vivarium.confine.landlock import ruleset as landlock
from _vivarium.worker.join import (
    EXIT_NOT_JOINED,
    NICENESS,
    Admission,
    WorkerSettings,
    close_walls,
    filter_of,
    mounts_of,
    prefer_for_oom,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn  # slow to load

# As shells say it.
EXIT_NOT_FOUND = 127
EXIT_NOT_EXECUTED = 126
# What Python and we ignore or handle, and a program expects to find as usual.
USUAL_SIGNALS = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGPIPE, signal.SIGCHLD, signal.SIGXFSZ),
)


def start_command(fds: list[int], settings: WorkerSettings, admission: Admission) -> int:
    """Fork a process that becomes a command. Returns its pid. `fds` lead to the host: standard input, output, error."""
    if settings.level != "none":
        filter_of(settings, admission, landlock.abi())  # made once, for all commands of the session
    pid = os.fork()
    if pid:
        return pid
    try:
        _become_command(fds, settings, admission)
    finally:
        os._exit(EXIT_NOT_JOINED)  # an error must never lead back into the loop of pid 1


def _become_command(fds: list[int], settings: WorkerSettings, admission: Admission) -> NoReturn:
    """Take what to execute from the host, close the walls, tell the host so, and execute it."""
    signal.set_wakeup_fd(-1)
    for number in USUAL_SIGNALS:  # before the host knows of us, and may signal us
        signal.signal(number, signal.SIG_DFL)
    os.setsid()  # by which its processes are known
    os.umask(0o022)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
    kernel.close_fds_except(())
    message = protocol.receive(0)
    try:
        if settings.level != "namespaces":
            _leave_guard(settings)
        is_powerless = settings.level == "namespaces"
        close_walls(settings, admission.replaced(mounts=mounts_of(message)), is_powerless=is_powerless)
    except BaseException as error:
        protocol.send(0, {"pid": os.getpid(), "problem": f"{type(error).__name__}: {error}"[:300]})
        raise
    protocol.send(0, {"pid": os.getpid(), "problem": None})
    environment = {**settings.environment, **message["variables"]}
    _execute(message["argv"], message["directory"], environment, settings.workspace)


def _leave_guard(settings: WorkerSettings) -> None:
    """Become a process of the session, where its pid 1 is not one."""
    prefer_for_oom()
    if settings.privileged:
        os.setresgid(settings.uid, settings.uid, settings.uid)
        os.setresuid(settings.uid, settings.uid, settings.uid)
    kernel.die_with_parent()


def _execute(argv: list[str], directory: str, environment: dict[str, str], workspace: str) -> NoReturn:
    """Execute a program. One that cannot be is told as a shell would."""
    os.nice(NICENESS)
    what, code = directory, EXIT_NOT_EXECUTED
    try:
        os.chdir(os.path.join(workspace, directory))
        what = argv[0]
        _search(argv, environment)
    except OSError as error:
        if what is argv[0] and isinstance(error, FileNotFoundError):
            code = EXIT_NOT_FOUND
        text = "command not found" if code == EXIT_NOT_FOUND and "/" not in what else error.strerror
        protocol.write_all(2, f"vivarium: {what}: {text}\n".encode("utf-8", "replace"))
    os._exit(code)


def _search(argv: list[str], environment: dict[str, str]) -> NoReturn:
    """Execute the first program of that name. Raises why there is none; `os.execvpe` imports a lot to do the same."""
    program, refused = argv[0], None
    places = [""] if "/" in program else environment.get("PATH", os.defpath).split(":")
    for place in places:
        try:
            os.execve(os.path.join(place, program), argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refused = refused or error
    raise refused or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
