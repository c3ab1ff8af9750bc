"""Using more memory than a session may have: `HOST["memoryMb"]`, several times over."""

import contextlib
import select
import tempfile

TOO_MUCH_MIB = HOST["memoryMb"] * 6
PAGES = b"x" * MIB
# Each child stays below the limit of one process.
EACH_MIB = max(1, HOST["memoryMb"] * 3 // 4)
CHILDREN = TOO_MUCH_MIB // EACH_MIB + 1


@attempt
def fill_heap():
    """Keep bytearrays."""
    kept = []
    while len(kept) < TOO_MUCH_MIB:
        kept.append(bytearray(PAGES))
    return True


@attempt
def fill_private_mapping():
    """Map anonymous memory and touch it."""
    return _fill(mmap.mmap(-1, TOO_MUCH_MIB * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


@attempt
def fill_shared_mapping():
    """Map shared anonymous memory, which no limit of a process counts, and touch it."""
    return _fill(mmap.mmap(-1, TOO_MUCH_MIB * MIB, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))


@attempt
def fill_shared_zero():
    """Map /dev/zero shared, which is memory by another name."""
    fd = os.open("/dev/zero", os.O_RDWR)
    return _fill(mmap.mmap(fd, TOO_MUCH_MIB * MIB, flags=mmap.MAP_SHARED))


@attempt
def fill_memory_file():
    """Write to files that live in memory only, each small enough."""
    for _ in range(TOO_MUCH_MIB // 8):
        fd = os.memfd_create("canary")
        for _ in range(8):
            os.write(fd, PAGES)
    return True


@attempt
def fill_populated_mapping():
    """Have the kernel fill mappings at once, before anything looks."""
    for _ in range(4):
        call("mmap", 0, TOO_MUCH_MIB * MIB // 4, 3, 0x22 | 0x8000, -1, 0)  # MAP_POPULATE
    return True


@attempt(needs="a large /dev/shm")
def fill_shm():
    """Write to /dev/shm."""
    return _fill_directory("/dev/shm")


@attempt
def fill_tmp():
    """Write to /tmp."""
    return _fill_directory(tempfile.gettempdir())


@attempt
def fill_children():
    """Have many children that each stay below the limit."""
    return _all_get_full(_fill_and_wait)


@attempt
def fill_thread_stacks():
    """Have many threads with large stacks."""
    threading.stack_size(16 * MIB)
    gate = threading.Event()
    threads = []
    try:
        while len(threads) * 16 < TOO_MUCH_MIB:
            threads.append(threading.Thread(target=gate.wait, args=(5,), daemon=True))
            threads[-1].start()
        return True
    except RuntimeError:  # "can't start new thread"
        return False
    finally:
        gate.set()
        threading.stack_size(0)
        for thread in threads:
            if thread.ident is not None:
                thread.join()


@attempt
def fill_behind_ended_leaders():
    """Have children whose main thread has ended, so that most of /proc says nothing of their memory."""

    def fill(done):
        threading.Thread(target=_fill_and_wait, args=(done,)).start()
        call("exit", 0)

    return _all_get_full(fill)


@attempt
def fill_siblings():
    """Have processes whose parent is that of the session, so that they are not below it."""
    read_end, write_end = os.pipe()
    siblings = []
    for _ in range(CHILDREN):
        siblings.append(call("clone", 0x8000 | signal.SIGCHLD, 0, 0, 0, 0))  # CLONE_PARENT
        if siblings[-1] == 0:
            _fill_and_wait(write_end)
    full = _count_full(read_end, CHILDREN)
    for pid in siblings:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return full == CHILDREN


@attempt
def rewrite_inherited_pages():
    """Have children that write over every page they got from their parent, and so have it twice."""
    children = 20
    missing = TOO_MUCH_MIB * MIB // children - len(_resident_pages()) * mmap.PAGESIZE
    padding = bytearray(max(0, missing) // MIB * MIB + MIB)
    padding[:: mmap.PAGESIZE] = bytes(len(padding) // mmap.PAGESIZE)

    def rewrite(done):
        for address in _resident_pages():
            place = ctypes.c_char.from_address(address)
            place.value = place.value
        os.write(done, b".")
        time.sleep(10)

    return _all_get_full(rewrite, children)


@attempt
def fill_page_tables():
    """Look at one byte of every two megabytes: each takes a page of the kernel, and none of the process."""
    call("prctl", 41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
    tables = TOO_MUCH_MIB * MIB // mmap.PAGESIZE
    area = mmap.mmap(-1, tables * 2 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    for number in range(tables):
        area[number * 2 * MIB]
    time.sleep(1)
    return True


@attempt
def fill_passed_sockets():
    """Have the kernel keep what was sent through sockets that no process has open: they are under way themselves."""
    carrier, _kept = socket.socketpair()
    sent = 0
    while sent < TOO_MUCH_MIB * MIB:
        for end in socket.socketpair():
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MIB)
            sent += _send_all(end)
            socket.send_fds(carrier, [b"."], [end.fileno()])
            end.close()
    time.sleep(1)
    return True


@attempt
def fill_loopback_buffers():
    """Have the kernel keep what is sent over TCP and never read."""
    server = socket.create_server(("127.0.0.1", 0))
    ends = []
    sent = 0
    while sent < TOO_MUCH_MIB * MIB:
        ends += [socket.create_connection(server.getsockname()), server.accept()[0]]
        for end in ends[-2:]:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MIB)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MIB)
            sent += _send_all(end)
    time.sleep(1)
    return True


@attempt
def fill_socket_buffers():
    """Have the kernel keep what is sent and never read."""
    pairs = []
    sent = 0
    while sent < TOO_MUCH_MIB * MIB:
        pairs.append(socket.socketpair())
        for end in pairs[-1]:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MIB)
            sent += _send_all(end)
    time.sleep(1)
    return True


@attempt
def lock_memory():
    """Lock memory so that it can never be paged out."""
    area = mmap.mmap(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    call("mlock", address, MIB)
    call("munlock", address, MIB)
    return True


def _fill(area):
    for start in range(0, len(area), MIB):
        area[start : start + MIB] = PAGES
    return True


def _fill_directory(directory):
    paths = []
    try:
        for number in range(TOO_MUCH_MIB // 8):
            paths.append(f"{directory}/{HOST['mark']}-{number}")
            with open(paths[-1], "xb") as file:
                for _ in range(8):
                    file.write(PAGES)
        time.sleep(2)  # a part of the disk is measured now and then
        return True
    finally:
        for path in paths:
            os.unlink(path)


def _all_get_full(fill, count=CHILDREN):
    """Whether so many children can use memory at the same time. `fill` writes a byte when it has it, and waits."""
    read_end, write_end = os.pipe()
    children = []
    for _ in range(count):
        children.append(os.fork())
        if children[-1] == 0:
            try:
                fill(write_end)
            finally:
                os._exit(0)
    os.close(write_end)
    full = _count_full(read_end, count)
    alive = [pid for pid in children if os.waitpid(pid, os.WNOHANG) == (0, 0)]
    end_children(alive)
    return full == len(children) == len(alive)


def _count_full(read_end, count):
    """Wait until so many processes have said that they are full, and for a moment in which that can be noticed."""
    full = 0
    deadline = time.monotonic() + 5
    while full < count and time.monotonic() < deadline:
        if select.select([read_end], [], [], 0.1)[0]:
            words = os.read(read_end, 100)
            full += len(words)
            if not words:
                break  # all of them have ended
    time.sleep(1)
    return full


def _fill_and_wait(done):
    kept = [bytearray(PAGES) for _ in range(EACH_MIB)]
    os.write(done, b"." * (len(kept) > 0))
    time.sleep(10)
    os._exit(0)


def _resident_pages():
    """The addresses of all pages of private memory that this process really has."""
    found = []
    with open("/proc/self/maps") as maps, open("/proc/self/pagemap", "rb") as pagemap:
        for line in maps:
            span, mode, _, _, _, *path = line.split(None, 5)
            if mode == "rw-p" and "[stack]" not in "".join(path):
                start, end = (int(number, 16) // mmap.PAGESIZE for number in span.split("-"))
                pagemap.seek(8 * start)
                entries = memoryview(pagemap.read(8 * (end - start))).cast("Q")
                found += [(start + index) * mmap.PAGESIZE for index, entry in enumerate(entries) if entry >> 63]
    return found


def _send_all(end):
    """How much a socket takes before it blocks."""
    end.setblocking(False)
    sent = 0
    try:
        while True:
            sent += end.send(PAGES)
    except BlockingIOError:
        return sent
