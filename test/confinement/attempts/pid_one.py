"""Changing pid 1 of the enclosure, the trusted process that ends, signals and reaps for the session."""

import fcntl

UNCONFINED = "not run: without walls, pid 1 is that of the machine"
IOPRIO_WHO_PROCESS = 1
IOPRIO_IDLE = 3 << 13
BEYOND_32_BITS = 1 << 32


@attempt
def take_its_descriptors():
    """Take away the descriptors of pid 1, and wake it with an orphan."""
    resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))
    print("ESCAPED", flush=True)
    leave_orphan()


@attempt
def lower_its_limits():
    """Lower any limit of pid 1, with a number that is 1 in the bits that count."""
    new = ctypes.create_string_buffer(struct.pack("QQ", 0, 0))
    changed = [limit for limit in range(16) if succeeds("prlimit64", BEYOND_32_BITS | 1, limit, new, None)]
    return len(changed) > 0


@attempt
def lower_priority_of_its_user():
    """Have everything of our user run last; pid 1 is of the same user."""
    before = os.getpriority(os.PRIO_PROCESS, 1)
    os.setpriority(os.PRIO_USER, 0, 19)
    return os.getpriority(os.PRIO_PROCESS, 1) != before


@attempt
def lower_its_priority():
    """Have pid 1 run last."""
    os.setpriority(os.PRIO_PROCESS, 1, 19)
    return True


@attempt
def lower_priority_of_its_group():
    """Have its process group run last, under every number that it could have."""
    changed = [number for number in range(3) if succeeds("setpriority", os.PRIO_PGRP, number, 19)]
    return len(changed) > 0


@attempt
def choose_its_processors():
    """Bind pid 1 to one processor, which others keep busy."""
    os.sched_setaffinity(1, {0})
    return True


@attempt
def choose_its_scheduling():
    """Give pid 1 another class of scheduling, or of access to disks."""
    idle = struct.pack("i", 0)
    return (
        succeeds("sched_setscheduler", 1, 5, idle)
        or succeeds("sched_setparam", 1, idle)
        or succeeds("ioprio_set", IOPRIO_WHO_PROCESS, 1, IOPRIO_IDLE)
    )


@attempt
def write_its_files():
    """Write to a file of pid 1 below /proc."""
    for name in ("oom_score_adj", "comm", "autogroup", "timerslack_ns", "coredump_filter", "clear_refs", "mem"):
        try:
            os.close(os.open(f"/proc/1/{name}", os.O_WRONLY))
        except OSError:
            continue
        return True
    return False


@attempt
def signal_it_through_a_file():
    """Have the kernel signal pid 1 when a socket can be read; afterwards the session must still work."""
    ours, theirs = socket.socketpair()
    for number in (0, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV):
        try:
            fcntl.fcntl(ours, fcntl.F_SETSIG, number)
            fcntl.fcntl(ours, fcntl.F_SETOWN, 1)
            fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        except OSError:
            continue
        theirs.send(b"x")
    return False


def leave_orphan():
    """Leave an orphan that ends, for pid 1 to collect."""
    pid = os.fork()
    if pid == 0:
        os.fork()
        os._exit(0)
    os.waitpid(pid, 0)
    time.sleep(0.2)


def succeeds(name, *arguments):
    """Whether a system call is allowed."""
    try:
        call(name, *arguments)
    except OSError:
        return False
    return True
