"""Changing what belongs to the user of the host, where a session may have the same user and the same file system.

`HOST["belongings"]` are files of that user: `closed` lies where no session may read, `readable` where one may.
`HOST["victim"]` notes the signals that reach it. Whatever an attempt changes, it changes back.
"""

import fcntl
import stat

VICTIM = HOST["victim"]
CLOSED, READABLE = HOST["belongings"]["closed"], HOST["belongings"]["readable"]
AT_FDCWD = -100
NEW_MODE = 0o604
LONG_AGO_NS = 10**18
ATTRIBUTE = "user.vivarium"
F_SETSIG, F_SETOWN_EX = 10, 15


@attempt
def change_mode():
    """Change the mode of a file by its path, with every call there is."""
    path = CLOSED.encode()
    calls = (
        lambda mode: call("chmod", path, mode),
        lambda mode: call("fchmodat", AT_FDCWD, path, mode),
        lambda mode: call("fchmodat2", AT_FDCWD, path, mode, 0),
    )
    return any([_changes_mode(CLOSED, change) for change in calls])


@attempt
def change_mode_by_descriptor():
    """Change the mode of a file that may only be read, by a descriptor of it."""
    with open(READABLE) as file:
        return _changes_mode(READABLE, lambda mode: call("fchmod", file.fileno(), mode))


@attempt
def change_mode_of_directory():
    """Close a directory to its owner."""
    folder = os.path.dirname(CLOSED)
    return _changes_mode(folder, lambda mode: os.chmod(folder, mode))


@attempt
def change_mode_through_process():
    """Change the mode of a file through the entry of a descriptor in /proc."""
    fd = os.open(CLOSED, os.O_PATH)
    return _changes_mode(CLOSED, lambda mode: os.chmod(f"/proc/self/fd/{fd}", mode))


@attempt
def change_owner():
    """Change the owner of a file, which the kernel allows if it stays the same and notes as a change."""
    path, user = CLOSED.encode(), (os.stat(CLOSED).st_uid, os.stat(CLOSED).st_gid)
    link = f"{CLOSED}-link"
    calls = (
        (CLOSED, lambda: call("chown", path, *user)),
        (CLOSED, lambda: call("fchownat", AT_FDCWD, path, *user, 0)),
        (link, lambda: call("lchown", link.encode(), *user)),
        (READABLE, lambda: os.chown(os.open(READABLE, os.O_RDONLY), *user)),
    )
    return any([_is_changed_by(changed, change) for changed, change in calls])


@attempt
def change_times():
    """Change the times of a file by its path, with every call there is."""
    path = CLOSED.encode()
    old = struct.pack("qqqq", 10**9, 0, 10**9, 0)
    calls = (
        lambda: call("utime", path, struct.pack("qq", 10**9, 10**9)),
        lambda: call("utimes", path, old),
        lambda: call("futimesat", AT_FDCWD, path, old),
        lambda: call("utimensat", AT_FDCWD, path, old, 0),
    )
    return any([_changes_times(CLOSED, change) for change in calls])


@attempt
def change_times_by_descriptor():
    """Change the times of a file that may only be read, by a descriptor of it."""
    with open(READABLE) as file:
        return _changes_times(READABLE, lambda: os.utime(file.fileno(), ns=(LONG_AGO_NS, LONG_AGO_NS)))


@attempt(needs="extended attributes")
def change_attributes():
    """Set and remove an extended attribute of files, by path and by descriptor."""
    return any([_sets_attribute(CLOSED), _sets_attribute(os.open(READABLE, os.O_RDONLY))])


@attempt(judge="signalled")
def signal_in_every_way():
    """Send a signal with every call there is."""
    pid, number = VICTIM["pid"], signal.SIGUSR1
    info = struct.pack("iii", number, 0, -1).ljust(128, b"\0")  # as sigqueue says of itself
    for name, arguments in (
        ("kill", (pid, number)),
        ("kill", (-pid, number)),  # it leads a group of its own
        ("tkill", (pid, number)),
        ("tgkill", (pid, pid, number)),
        ("rt_sigqueueinfo", (pid, number, info)),
        ("rt_tgsigqueueinfo", (pid, pid, number, info)),
        ("pidfd_send_signal", (os.pidfd_open(pid), number, None, 0)),
    ):
        succeeds(name, *arguments)


@attempt(judge="signalled")
def signal_by_io():
    """Have the kernel send a signal to another process when data arrives for us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for own in (lambda: fcntl.fcntl(ours, fcntl.F_SETOWN, VICTIM["pid"]), _own_by_thread(ours)):
        try:
            own()
            fcntl.fcntl(ours, F_SETSIG, signal.SIGUSR1)
            fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
            theirs.send(b"x")
            time.sleep(0.05)
            ours.recv(1)
        except OSError:
            continue


@attempt
def slow_process():
    """Lower the priority of another process: by its number, by its group, and for its disks."""
    before = os.getpriority(os.PRIO_PROCESS, VICTIM["pid"])
    for which, number in ((os.PRIO_PGRP, os.getpgid(VICTIM["pid"])), (os.PRIO_PROCESS, VICTIM["pid"])):
        succeeds("setpriority", which, number, before + 1)
    is_slowed = os.getpriority(os.PRIO_PROCESS, VICTIM["pid"]) != before
    return is_slowed or succeeds("ioprio_set", 1, VICTIM["pid"], 2 << 13 | 4)


@attempt(unconfined="not run: it would slow down everything that this user runs")
def slow_everything():
    """Lower the priority of everything that belongs to the user."""
    before = os.getpriority(os.PRIO_PROCESS, VICTIM["pid"])
    succeeds("setpriority", os.PRIO_USER, 0, before + 1)
    return os.getpriority(os.PRIO_PROCESS, VICTIM["pid"]) != before


@attempt
def limit_process():
    """Take its descriptors from another process."""
    limits = resource.prlimit(VICTIM["pid"], resource.RLIMIT_MSGQUEUE)
    resource.prlimit(VICTIM["pid"], resource.RLIMIT_MSGQUEUE, (0, limits[1]))
    resource.prlimit(VICTIM["pid"], resource.RLIMIT_MSGQUEUE, limits)
    return True


@attempt
def see_host_network_below_process():
    """Find the host's listening port below our own entries in /proc, and those of our threads."""
    own = f"/proc/{os.getpid()}"
    for path in (f"{own}/net/tcp", f"{own}/task/{os.getpid()}/net/tcp", "/proc/thread-self/net/tcp", "/proc/net/tcp"):
        try:
            with open(path) as file:
                if f":{HOST['port']:04X} " in file.read():
                    return True
        except OSError:
            continue
    return False


@attempt
def see_host_mounts():
    """Read the mounts of the machine."""
    for name in ("mounts", "mountinfo", "mountstats"):
        for folder in ("/proc/self", f"/proc/self/task/{os.getpid()}"):
            try:
                with open(f"{folder}/{name}") as file:
                    if "sysfs" in file.read():  # which no session has
                        return True
            except OSError:
                continue
    return False


@attempt
def watch_host_directory():
    """Have the kernel tell which files are used in a directory that may not be listed."""
    queue = call("inotify_init1", os.O_NONBLOCK)
    try:
        call("inotify_add_watch", queue, os.path.dirname(CLOSED).encode(), 0x20)
        return True
    finally:
        os.close(queue)


@attempt
def hold_up_writers():
    """Take a lease on a file that may only be read: a program that opens it to write has to wait."""
    with open(READABLE) as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True


@attempt
def truncate_host_file():
    """Cut a file of the host by its path."""
    size = os.stat(CLOSED).st_size
    call("truncate", CLOSED.encode(), size)
    return True


@attempt(judge="signalled", unconfined="not run: a plain process has no guard")
def have_the_guard_signal():
    """Say that another process is our twin, and end: waking our twin signals that process."""
    _say_twin(VICTIM["pid"])
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)


def succeeds(name, *arguments):
    """Whether a call works; one that this machine does not have does not."""
    try:
        call(name, *arguments)
    except (OSError, Absent):
        return False
    return True


def _changes_mode(path, change):
    before = stat.S_IMODE(os.stat(path).st_mode)
    try:
        change(NEW_MODE if not os.path.isdir(path) else 0o701)
    except (OSError, Absent):
        return False
    if stat.S_IMODE(os.stat(path).st_mode) == before:
        return False
    change(before)
    return True


def _changes_times(path, change):
    before = os.stat(path)
    try:
        change()
    except (OSError, Absent):
        return False
    if os.stat(path).st_mtime_ns == before.st_mtime_ns:
        return False
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return True


def _is_changed_by(path, change):
    before = os.lstat(path).st_ctime_ns
    time.sleep(0.01)  # the clock of files is coarse
    try:
        change()
    except (OSError, Absent):
        return False
    return os.lstat(path).st_ctime_ns != before


def _sets_attribute(file):
    try:
        os.setxattr(file, ATTRIBUTE, b"x")
        is_set = ATTRIBUTE in os.listxattr(file)
        os.removexattr(file, ATTRIBUTE)
    except OSError:
        return False
    return is_set


def _own_by_thread(file):
    owner = struct.pack("ii", 1, VICTIM["pid"])  # F_OWNER_PID
    return lambda: fcntl.fcntl(file, F_SETOWN_EX, owner)


def _say_twin(pid):
    twin = {"type": "twin", "pid": pid, "token": "00" * 16, "dropped": None, "refreshed": False}
    text = json.dumps(twin).encode()
    os.write(_channel(), struct.pack(">II", len(text), 0) + text)


def _channel():
    for fd in range(3, 4096):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                return fd
        except OSError:
            continue
    raise Absent("no channel")
