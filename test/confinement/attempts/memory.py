"""Using more memory than a session may have: `HOST["memoryMb"]`, several times over."""

import tempfile

TOO_MUCH_MIB = HOST["memoryMb"] * 6
PAGES = b"x" * MIB


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
    each = max(1, HOST["memoryMb"] * 3 // 4)
    read_end, write_end = os.pipe()
    children = []
    for _ in range(TOO_MUCH_MIB // each + 1):
        children.append(os.fork())
        if children[-1] == 0:
            try:
                kept = [bytearray(PAGES) for _ in range(each)]
                os.write(write_end, b"." * (len(kept) > 0))
                time.sleep(5)
            finally:
                os._exit(0)
    os.close(write_end)
    time.sleep(1.5)
    full = os.read(read_end, 100) if _is_readable(read_end) else b""
    alive = [pid for pid in children if os.waitpid(pid, os.WNOHANG) == (0, 0)]
    end_children(alive)
    return len(full) == len(children) == len(alive)


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


@attempt(guard="cgroup")
def fill_socket_buffers():
    """Have the kernel keep what is sent and never read."""
    pairs = []
    sent = 0
    while sent < TOO_MUCH_MIB * MIB:
        pairs.append(socket.socketpair())
        pairs[-1][0].setblocking(False)
        pairs[-1][0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MIB)
        try:
            while True:
                sent += pairs[-1][0].send(PAGES[:65536])
        except BlockingIOError:
            continue
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


def _is_readable(fd):
    import select

    return bool(select.select([fd], [], [], 0)[0])
