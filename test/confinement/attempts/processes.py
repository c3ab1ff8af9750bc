"""Seeing, signalling and tracing processes of the host.

`HOST["victim"]` is a process of the same user that holds a secret in its memory, its environment and a descriptor.
"""

VICTIM = HOST["victim"]
PTRACE_TRACEME = 0
PTRACE_SEIZE = 0x4206
PTRACE_DETACH = 17
CLONE_PARENT = 0x8000


@attempt
def see_processes():
    """Find another program of the machine in /proc."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline") as file:
                    if VICTIM["mark"] in file.read():
                        return True
            except OSError:
                continue
    return False


@attempt
def signal_process():
    """Send a signal to another process."""
    os.kill(VICTIM["pid"], 0)
    return True


@attempt
def signal_by_pidfd():
    """Send a signal to another process through a descriptor of it."""
    signal.pidfd_send_signal(os.pidfd_open(VICTIM["pid"]), 0)
    return True


@attempt
def signal_parent():
    """Send a signal to the process that started this one."""
    parent = os.getppid()
    if parent == 0:
        return False
    os.kill(parent, 0)
    return True


@attempt(needs="root")
def signal_pid_1():
    """Send a signal to pid 1."""
    os.kill(1, 0)
    return True


@attempt(unconfined="not run: it could end the machine")
def kill_pid_1():
    """Send every signal there is to pid 1; afterwards the session must still work."""
    for number in range(1, 65):
        try:
            os.kill(1, number)
        except OSError:
            continue
    return False


@attempt(unconfined="not run: it would end everything that this user runs")
def kill_everything():
    """Kill every process that can be reached."""
    os.kill(-1, signal.SIGKILL)
    return False


@attempt(unconfined="not run: it would end the test")
def kill_own_group():
    """Kill the process group that this process was started in."""
    os.killpg(0, signal.SIGKILL)
    return True


@attempt(needs="ptrace")
def trace_process():
    """Trace another process."""
    call("ptrace", PTRACE_SEIZE, VICTIM["pid"], 0, 0)
    return True


@attempt
def trace_child():
    """Have a child traced, to change its system calls behind a filter's back."""
    return in_child(lambda: call("ptrace", PTRACE_TRACEME, 0, 0, 0) == 0)


@attempt(needs="ptrace")
def read_process_memory():
    """Read the memory of another process with process_vm_readv(2)."""
    return _vm_read(VICTIM["pid"], VICTIM["address"], len(VICTIM["secret"])) == VICTIM["secret"].encode()


@attempt(needs="ptrace")
def read_process_memory_file():
    """Read the memory of another process through /proc."""
    fd = os.open(f"/proc/{VICTIM['pid']}/mem", os.O_RDONLY)
    return os.pread(fd, len(VICTIM["secret"]), VICTIM["address"]) == VICTIM["secret"].encode()


@attempt(needs="ptrace")
def read_process_environment():
    """Read the environment of another process."""
    with open(f"/proc/{VICTIM['pid']}/environ") as file:
        return VICTIM["secret"] in file.read()


@attempt(needs="ptrace")
def open_process_descriptor():
    """Open a file that another process has open, through /proc."""
    with open(f"/proc/{VICTIM['pid']}/fd/{VICTIM['fd']}") as file:
        return VICTIM["secret"] in file.read()


@attempt(needs="ptrace")
def take_process_descriptor():
    """Take a descriptor out of another process with pidfd_getfd(2)."""
    fd = call("pidfd_getfd", os.pidfd_open(VICTIM["pid"]), VICTIM["fd"], 0)
    return VICTIM["secret"].encode() in os.pread(fd, 4096, 0)


@attempt
def read_process_limits():
    """Read and set the limits of another process."""
    limits = resource.prlimit(VICTIM["pid"], resource.RLIMIT_CORE)
    resource.prlimit(VICTIM["pid"], resource.RLIMIT_CORE, limits)
    return True


@attempt
def slow_process():
    """Lower the priority of another process."""
    os.setpriority(os.PRIO_PROCESS, VICTIM["pid"], os.getpriority(os.PRIO_PROCESS, VICTIM["pid"]))
    return True


@attempt
def bind_process():
    """Choose the processors of another process."""
    os.sched_setaffinity(VICTIM["pid"], os.sched_getaffinity(VICTIM["pid"]))
    return True


@attempt(needs="kcmp")
def compare_processes():
    """Learn about another process by kcmp(2)."""
    return call("kcmp", os.getpid(), VICTIM["pid"], 1, 0, 0) >= 0


@attempt(needs="a readable pid 1")
def read_memory_of_pid_1():
    """Look into pid 1: its environment, its memory map, its root."""
    for name in ("environ", "maps"):
        try:
            with open(f"/proc/1/{name}") as file:
                if file.read():
                    return True
        except OSError:
            continue
    return len(os.listdir("/proc/1/root/")) > 0


@attempt(needs="a readable pid 1")
def join_namespaces_of_pid_1():
    """Join the namespaces of pid 1."""
    fd = os.open("/proc/1/ns/uts", os.O_RDONLY)
    call("setns", fd, 0)
    return True


@attempt
def join_namespaces_of_process():
    """Join a namespace of another process of the host; opening it is enough to be outside."""
    os.close(os.open(f"/proc/{VICTIM['pid']}/ns/net", os.O_RDONLY))
    return True


@attempt
def become_a_sibling():
    """Start a process that is a child of our parent, which is no process of the session."""
    pid = call("clone", CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return True


@attempt(judge="close")
def outlive_session():
    """Leave a daemon behind that still runs when the session is closed."""
    leave_behind()


@attempt(judge="leftover", hurried=True)
def outlive_timeout():
    """Leave a daemon behind and spin until the run times out."""
    leave_behind()
    while True:
        pass


def _vm_read(pid, address, count):
    buffer = ctypes.create_string_buffer(count)
    ours = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(buffer), count))
    theirs = ctypes.create_string_buffer(struct.pack("QQ", address, count))
    call("process_vm_readv", pid, ours, 1, theirs, 1, 0)
    return buffer.raw
