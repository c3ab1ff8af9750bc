"""Using more processes, disk, time and output than a session may have."""

import shutil

TOO_MANY = 200
OVERTIME_S = HOST["timeoutMs"] / 1000 * 6  # far beyond the time limit and its grace, also on a busy machine


@attempt
def fork_many():
    """Have two hundred children at once."""
    children = []
    try:
        while len(children) < TOO_MANY:
            children.append(os.fork())
            if children[-1] == 0:
                time.sleep(10)
                os._exit(0)
        return True
    finally:
        end_children(children)


@attempt
def leave_zombies():
    """Have two hundred children that have ended and are never collected."""
    children = []
    try:
        while len(children) < TOO_MANY:
            children.append(os.fork())
            if children[-1] == 0:
                os._exit(0)
        return True
    finally:
        for pid in children:
            os.waitpid(pid, 0)


@attempt(unconfined="not run: nothing would stop it", hurried=True)
def fork_bomb():
    """Fork without end, in every child too, ignoring what can be ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            os.fork()
            os.setsid()
        except OSError:
            continue


@attempt
def start_threads():
    """Have two hundred threads at once."""
    gate = threading.Event()
    threads = [threading.Thread(target=gate.wait, args=(10,), daemon=True) for _ in range(TOO_MANY)]
    started = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
        return True
    except RuntimeError:  # "can't start new thread"
        return False
    finally:
        gate.set()
        for thread in started:
            thread.join()


@attempt(needs="a high limit of open files")
def open_many_files():
    """Have four thousand files open."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    fds = []
    try:
        while len(fds) < 4000:
            fds.append(os.open("/dev/null", os.O_RDONLY))
        return True
    finally:
        for fd in fds:
            os.close(fd)


@attempt
def fill_workspace():
    """Write more to the workspace than it may hold, in files that are small enough."""
    os.makedirs("full", exist_ok=True)
    return _fill_here("full")


@attempt(unconfined="not run: a plain process has no hidden directories")
def fill_hidden_directories():
    """Write as much to every other directory that can be written on the same disk."""
    here = os.stat(".").st_dev
    places = [f"/{name}" for name in os.listdir("/") if os.access(f"/{name}", os.W_OK) and os.stat(f"/{name}").st_dev == here]
    for place in set(places) - {HOST["workspaceInside"]}:
        paths = [f"{place}/{HOST['mark']}-{number}" for number in range(HOST["workspaceMb"] * 2 // 8)]
        try:
            for path in paths:
                with open(path, "wb") as file:
                    file.write(bytes(8 * MIB))
                time.sleep(0.25)  # what is there at the first look counts as found, and from then on growth is seen
            time.sleep(2)
            return True
        except OSError:
            continue
        finally:
            for path in filter(os.path.exists, paths):
                os.unlink(path)
    return False


@attempt
def fill_unlinked_files():
    """Write as much to files that have no name any more."""
    return _fill_files(lambda fd: fd)


@attempt
def fill_mapped_files():
    """Write as much to files that have no name and are not open any more, only mapped."""

    def keep(fd):
        call("mmap", 0, 8 * MIB, 1, 1, fd, 0)
        os.close(fd)

    return _fill_files(keep)


@attempt
def fill_in_unreadable_program():
    """Have as much in files without a name that a program has open which nobody may read, nor look into."""
    program = f"""
import os, time
for number in range({HOST["workspaceMb"]} * 2 // 8):
    fd = os.open(f"unnamed-{{number}}", os.O_RDWR | os.O_CREAT)
    os.unlink(f"unnamed-{{number}}")
    os.write(fd, bytes({8 * MIB}))
print(flush=True)
time.sleep(10)
"""
    name = os.path.realpath(sys.executable)
    shutil.copyfile(name, "unreadable")
    os.chmod("unreadable", 0o111)
    environment = {"PYTHONHOME": sys.base_prefix, "LD_LIBRARY_PATH": f"{os.path.dirname(os.path.dirname(name))}/lib"}
    with subprocess.Popen(["./unreadable", "-c", program], stdout=subprocess.PIPE, env=environment) as process:
        try:
            is_full = process.stdout.readline() == b"\n"
            time.sleep(2)
            return is_full and process.poll() is None
        finally:
            process.kill()
            os.unlink("unreadable")


@attempt(guard="quota")
def fill_passed_files():
    """Write as much to files that have no name and are not open any more: they are under way through a socket."""
    carrier, _kept = socket.socketpair()

    def keep(fd):
        socket.send_fds(carrier, [b"."], [fd])
        os.close(fd)

    return _fill_files(keep)


@attempt
def fill_locked_directory():
    """Write as much to a directory that can be entered and not be listed."""
    os.mkdir("locked", 0o300)
    return _fill_here("locked")


@attempt
def fill_deep_directory():
    """Write as much to a directory whose path is longer than a path can be."""
    here = os.getcwd()
    try:
        for _ in range(30):
            os.mkdir("deep" * 60)
            os.chdir("deep" * 60)
        return _fill_here(".")
    finally:
        os.chdir(here)
        os.system("rm -rf deep*")


@attempt(needs="inotify instances that nobody else has")
def take_inotify_instances():
    """Have more inotify instances than a session needs: the user of all sessions has 128 of them."""
    return len([call("inotify_init1", 0) for _ in range(64)]) == 64


@attempt
def write_large_file():
    """Write one file that is larger than a file may be."""
    try:
        with open("large", "wb") as file:
            for _ in range(HOST["fileMb"] + 1):
                file.write(bytes(MIB))
        return True
    finally:
        os.unlink("large")


@attempt
def make_sparse_file():
    """Make a file that claims to have a terabyte."""
    try:
        with open("sparse", "wb") as file:
            file.truncate(1 << 40)
        return True
    finally:
        os.unlink("sparse")


@attempt(guard="cgroup")
def make_many_files_in_shm():
    """Use up the inodes of a /dev/shm that is memory; without a control group it is a part of the disk."""
    made = []
    try:
        while len(made) < 70_000:
            path = f"/dev/shm/{HOST['mark']}-{len(made)}"
            open(path, "x").close()
            made.append(path)
        return True
    finally:
        for path in made:
            os.unlink(path)


@attempt
def burn_processor():
    """Use more processor time than a run may."""
    return _spin(HOST["cpuMs"] / 1000 * 2, time.process_time)


@attempt
def burn_processor_in_children():
    """Use more processor time than a run may, in children that end one after the other."""
    for _ in range(6):
        in_child(lambda: _spin(HOST["cpuMs"] / 1000 / 3, time.process_time))
    return True


@attempt(hurried=True)
def sleep_on():
    """Just sleep longer than a run may take."""
    time.sleep(OVERTIME_S)
    return True


@attempt(hurried=True)
def ignore_interrupt():
    """Ignore the interrupt that ends a run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _spin(OVERTIME_S)


@attempt(hurried=True)
def block_interrupt():
    """Block every signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return _spin(OVERTIME_S)


@attempt(hurried=True)
def swallow_interrupt():
    """Catch the interrupt, again and again."""
    end = time.monotonic() + OVERTIME_S
    while time.monotonic() < end:
        try:
            _spin(end - time.monotonic())
        except BaseException:  # noqa: BLE001
            continue
    return True


@attempt(hurried=True)
def stay_in_c():
    """Stay in one call of C, where no Python handler runs."""
    LIBC.poll.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int]
    end = time.monotonic() + OVERTIME_S
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while time.monotonic() < end:
        ctypes.PyDLL(None).poll(None, 0, 200)  # keeps the interpreter's lock
    return True


@attempt(hurried=True)
def stop_self():
    """Stop the process; a child wakes it when the time is over."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        time.sleep(OVERTIME_S)
        os.kill(parent, signal.SIGCONT)
        os._exit(0)
    os.kill(parent, signal.SIGSTOP)
    os.waitpid(pid, 0)
    return True


@attempt(judge="output")
def flood_stdout():
    """Print a hundred times more than is kept."""
    for _ in range(HOST["outputBytes"] * 100 // MIB + 1):
        os.write(1, b"x" * MIB)


@attempt(judge="output")
def flood_with_lines():
    """Print many short lines, not all of them text."""
    line = b"\x1b[31m\xff\xfe\n"
    for _ in range(HOST["outputBytes"] * 50 // (len(line) * 1000) + 1):
        os.write(1, line * 1000)


@attempt(unconfined="not run: there is no session to clean up", judge="removed")
def dig_deep():
    """Nest directories deeper than a path can say; closing the session must remove them."""
    for _ in range(60):
        os.mkdir("deep" * 25)
        os.chdir("deep" * 25)
    os.chdir(HOST["workspaceInside"])
    return False


@attempt(unconfined="not run: there is no session to clean up", judge="removed")
def lock_directories():
    """Leave directories without any permission; closing the session must remove them."""
    os.makedirs("locked/inner")
    open("locked/inner/file", "w").close()
    os.chmod("locked/inner", 0)
    os.chmod("locked", 0)
    return False


@attempt(unconfined="not run: there is no session to clean up", judge="removed")
def mislead_clean_up():
    """Leave links to the host's files; closing the session must not follow them."""
    os.symlink(os.path.dirname(HOST["canary"]["home"]), "home")
    os.makedirs("a/b")
    os.symlink(HOST["canary"]["tmp"], "a/b/file")
    return False


def _fill_files(keep):
    """Write twice the size of a workspace into files that are removed while they are open."""
    for number in range(HOST["workspaceMb"] * 2 // 8):
        fd = os.open(f"unnamed-{number}", os.O_RDWR | os.O_CREAT)
        os.unlink(f"unnamed-{number}")
        os.write(fd, bytes(8 * MIB))
        keep(fd)
    time.sleep(2)
    return True


def _fill_here(directory):
    try:
        for number in range(HOST["workspaceMb"] * 2 // 8):
            with open(f"{directory}/{number}", "wb") as file:
                file.write(bytes(8 * MIB))
        time.sleep(2)
        return True
    finally:
        os.chmod(directory, 0o700)
        for name in os.listdir(directory):
            os.unlink(f"{directory}/{name}")


def _spin(seconds, clock=time.monotonic):
    end = clock() + seconds
    while clock() < end:
        pass
    return True
