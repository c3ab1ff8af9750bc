"""Becoming more than an ordinary process, and reaching parts of the kernel that no program needs."""

import fcntl

NEWUSER = 0x10000000
NEWNS = 0x00020000
NEWNET = 0x40000000


@attempt(needs="root")
def become_other_user():
    """Become another user."""
    return in_child(lambda: os.setresuid(1234, 1234, 1234) is None)


@attempt(needs="root")
def become_other_group():
    """Join another group."""
    return in_child(lambda: os.setgroups([0, 1, 2]) is None)


@attempt
def run_set_uid_program():
    """Run a program that becomes root when anybody starts it."""
    if not os.path.exists("/usr/bin/su"):
        raise Absent("no set-uid program")
    child = subprocess.Popen(["/usr/bin/su", "root"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.05)
        with open(f"/proc/{child.pid}/status") as file:
            ids = next(line for line in file if line.startswith("Uid:")).split()
        return ids[2] == "0"
    finally:
        child.kill()
        child.communicate()


@attempt
def make_set_uid_program():
    """Leave a program that becomes its owner when anybody starts it."""
    for name, mode, later in (("set-uid-1", 0o755, 0o4755), ("set-uid-2", 0o4755, None)):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode))
        if later is not None:
            os.chmod(name, later)
        if not os.stat(name).st_mode & 0o4000:
            return False
    return True


@attempt
def unshare_user():
    """Make a user namespace with unshare(2): full capabilities inside of it."""
    return in_child(lambda: call("unshare", NEWUSER) == 0)


@attempt
def clone_user():
    """Make a user namespace with clone(2)."""
    return _clones("clone", NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)


@attempt
def clone3_user():
    """Make a user namespace with clone3(2), whose flags no filter can see."""
    return _clones("clone3", ctypes.create_string_buffer(struct.pack("11Q", NEWUSER, 0, 0, 0, signal.SIGCHLD, *[0] * 6)), 88)


@attempt(needs="root")
def unshare_mounts():
    """Make a mount namespace."""
    return in_child(lambda: call("unshare", NEWNS | NEWNET) == 0)


@attempt(needs="root")
def change_root():
    """Change the root directory."""
    return in_child(lambda: os.chroot(".") is None)


@attempt(needs="root")
def hold_capabilities():
    """Hold or take any capability."""
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    data = ctypes.create_string_buffer(24)
    call("capget", header, data)
    if any(data.raw):
        return True
    return in_child(lambda: call("capset", header, ctypes.create_string_buffer(b"\xff" * 24)) == 0)


@attempt
def gain_privileges_by_exec():
    """Be allowed to gain privileges when a program is executed."""
    return LIBC.prctl(39, 0, 0, 0, 0) == 0


@attempt(needs="bpf")
def load_bpf():
    """Make a map of the kernel's own virtual machine."""
    attributes = ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1), 72)
    return call("bpf", 0, attributes, 72) >= 0


@attempt(needs="io_uring")
def use_io_uring():
    """Set up a ring through which system calls go past every filter."""
    return call("io_uring_setup", 4, ctypes.create_string_buffer(120)) >= 0


@attempt(needs="userfaultfd")
def use_userfaultfd():
    """Stop the kernel at a page fault."""
    return call("userfaultfd", 1) >= 0


@attempt(needs="perf")
def use_perf():
    """Measure with the kernel's performance events."""
    event = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0) + bytes(24) + struct.pack("Q", 0b1100001), 112)
    return call("perf_event_open", event, 0, -1, -1, 0) >= 0


@attempt(needs="modules")
def load_module():
    """Come as far as the kernel looking at a module that is not there."""
    return _reaches("finit_module", -1, b"", 0)


@attempt(needs="root")
def reboot():
    """Come as far as the kernel looking at a wrong number in a call to reboot."""
    return _reaches("reboot", 0, 0, 0, 0)


@attempt(needs="root")
def swap():
    """Come as far as the kernel looking for a swap file that is not there."""
    return _reaches("swapon", b"/nonexistent", 0)


@attempt
def change_personality():
    """Switch off the randomness of addresses."""
    return in_child(lambda: call("personality", 0x0040000) >= 0)


@attempt
def splice_pipes():
    """Move pages between pipes, where kernels had their worst holes."""
    (first, out), (into, second) = os.pipe(), os.pipe()
    os.write(out, b"x")
    return call("splice", first, None, second, None, 1, 0) == 1


@attempt
def map_pages_into_pipe():
    """Hand pages of memory to a pipe."""
    _, out = os.pipe()
    text = ctypes.create_string_buffer(b"x" * 64)
    vector = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), 64))
    return call("vmsplice", out, vector, 1, 0) == 64


@attempt(needs="32-bit calls")
def call_as_i386():
    """Make a system call by the numbers of another architecture."""
    if os.uname().machine != "x86_64":
        raise Absent("only x86_64 has them")

    def interrupt():
        code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid); int 0x80; ret
        area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        area.write(code)
        function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(area)))
        return function() == os.getpid()

    return in_child(interrupt)


@attempt
def raise_limits():
    """Raise the limits of memory and of file sizes."""
    try:
        for which in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
            resource.setrlimit(which, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return True
    except ValueError:  # "not allowed to raise maximum limit"
        return False


@attempt(needs="root")
def raise_priority():
    """Go before every other process."""
    return in_child(lambda: os.nice(-5) is not None)


@attempt(needs="root")
def use_realtime_scheduler():
    """Keep a processor for oneself."""
    return in_child(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) is None)


@attempt(needs="TIOCSTI")
def type_into_terminal():
    """Type into a terminal as if its user did."""
    _, terminal = os.openpty()

    def type_one():
        os.setsid()
        fcntl.ioctl(terminal, 0x540E, 0)
        fcntl.ioctl(terminal, 0x5412, b"x")
        return True

    return in_child(type_one)


@attempt
def install_filter():
    """Install a filter of system calls, with which a set-uid program can be misled."""

    def install():
        program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000))
        header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(program)))
        LIBC.prctl(38, 1, 0, 0, 0)
        return call("seccomp", 1, 0, header) == 0

    return in_child(install)


@attempt
def be_without_filter():
    """Run without a filter of system calls."""
    with open("/proc/self/status") as file:
        return "Seccomp:\t0" in file.read()


@attempt
def read_clock_settings():
    """Reach the kernel's clock settings."""
    return call("adjtimex", ctypes.create_string_buffer(208)) >= 0


@attempt(needs="root")
def set_clock():
    """Come as far as the kernel looking at a clock that does not exist."""
    return _reaches("clock_adjtime", -1, ctypes.create_string_buffer(208), refusals=(errno.EPERM, errno.ENOSYS))


@attempt(needs="root")
def set_host_name():
    """Name the machine (as it is named)."""
    name = socket.gethostname().encode()
    return call("sethostname", name, len(name)) == 0


@attempt(needs="local descriptor tables")
def change_segments():
    """Reach the processor's segment tables."""
    return call("modify_ldt", 0, ctypes.create_string_buffer(16), 16) >= 0


@attempt(needs="I/O ports")
def use_ports():
    """Talk to hardware by its ports."""
    return in_child(lambda: call("ioperm", 0x80, 1, 1) == 0)


@attempt(needs="fanotify")
def watch_files():
    """Watch the file accesses of others."""
    return call("fanotify_init", 0x200, 0) >= 0


@attempt
def execute_descriptor():
    """Execute a program that has no name."""
    fd = os.open("/bin/true", os.O_RDONLY)

    def execute():
        arguments = (ctypes.c_char_p * 2)(b"true", None)
        call("execveat", fd, b"", arguments, None, 0x1000)

    return in_child(execute)


@attempt(needs="root")
def read_kernel_log_by_call():
    """Read the kernel's log by syslog(2)."""
    return call("syslog", 3, ctypes.create_string_buffer(4096), 4096) >= 0


def _clones(name, *arguments):
    """Whether the kernel makes the child; it ends at once."""
    pid = call(name, *arguments)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


def _reaches(name, *arguments, refusals=(errno.EPERM, errno.ENOSYS)):
    """Whether the kernel looks at the arguments rather than refusing the call."""
    try:
        call(name, *arguments)
        return True
    except OSError as error:
        return error.errno not in refusals
