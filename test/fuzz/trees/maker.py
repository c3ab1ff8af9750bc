"""Makes one hostile tree of files, in a session. `SEED`, `OUTSIDE` and `RACES` are set by the line in front of this.

A seed gives the same tree, but not the same timing of what changes while the host looks at it.
"""

import contextlib
import os
import random
import signal
import socket
import stat
import threading
import time

rng = random.Random(SEED)
WORKSPACE, TEMPORARY = "/workspace", "/tmp"
RACE_S = 0.5
UNREAL_TIMES = (-(2**40), -(2**33), -1, 0, 2**32, 253402300799, 2**40, 2**55)
MODES = (0o000, 0o111, 0o300, 0o400, 0o500, 0o555, 0o1777, 0o2755, 0o4755, 0o6777)
NAMES = [
    *(b"a b c.txt data.csv plot.png n.ipynb table.parquet ... .... ..a .git .envrc .output .rollback .bashrc".split()),
    *(b"__proto__ constructor toString hasOwnProperty export-1 figures files inputs attempts output".split()),
    *(b"vivarium-1 figure-1.png results.json notebook.ipynb workspace tmp shm -rf --help ~ * ? $(id) `id` a;b".split()),
    *(b"%2e%2e%2f ..%2f..%2fetc ..\\..\\x C: NUL con.txt".split()),
    b".. ", b" ", b". .", b"\t", b"new\nline", b"\r\n", b"\x1b[2J\x1b]0;t\x07", b"\x7f", b"\xff\xfe", b"\xed\xa0\x80",
    b"\xc0\xae\xc0\xae", b"\xe2\x80\xaegpj.exe", b"\xe2\x80\xa8", b"\xef\xbb\xbf", "e\u0301".encode(), "é".encode(),
    "\U0001f4a5".encode(), "\u2066x\u2069".encode(), b"n" * 255, "é".encode() * 127, b"." * 255, b"\xff" * 255,
    b".upload-0123456789abcdef", b".draft-0123456789abcdef", b".0123456789abcdef", b"run-1.stdout.txt",
]  # fmt: skip
TARGETS = [
    *(f"{OUTSIDE}/{name}" for name in ("secret.txt", "private.txt", "decoy", "decoy/inner/file.txt", ".", "..")),
    *("../" * 12 + f"{OUTSIDE}/{name}".lstrip("/") for name in ("secret.txt", "private.txt", "decoy")),
    *("/ . .. ../.. ../../.. ../tmp ../../sessions /workspace /tmp /etc /etc/passwd /etc/shadow nowhere ./. a b".split()),
    *("/proc /proc/self/environ /proc/self/root /proc/self/cwd /proc/self/fd/0 /proc/self/mem /proc/1/root".split()),
    *(f"/proc/{pid}/environ" for pid in ("1", "self", "self/task/1", "thread-self")),
    *("/dev/zero /dev/full /dev/tty /dev/stdin /sys /proc/sysrq-trigger /proc/kmsg".split()),
    "x" * 4095, "a/" * 2000, " ", "\n",
]  # fmt: skip


def name():
    if rng.random() < 0.3:
        return os.urandom(3).hex().encode() if rng.random() < 0.1 else b"f%d" % rng.randrange(30)
    return rng.choice(NAMES)


def place():
    """A path of something new in a directory that exists already."""
    return rng.choice(folders) + b"/" + name()


def content():
    return rng.choice([b"", b"x", b"a,b\n1,2\n", b"\x89PNG\r\n\x1a\n", os.urandom(64), b"line\n" * 500, b"\0" * 70_000])


def create(path):
    """Opens a file to write. If there is a FIFO in its place, it does not wait for a reader."""
    return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o644), "wb+")


def write(path, data=None):
    with create(path) as file:
        file.write(content() if data is None else data)


def plain():
    write(place())


def folder():
    path = place()
    os.mkdir(path)
    folders.append(path)


def chain():
    """Directories in each other, up to paths that no call takes as a whole."""
    length, part = rng.choice([(5, b"d"), (31, b"d"), (33, b"n" * 200), (40, b"m" * 255), (120, b"d"), (1200, b"deep")])
    with at_home(rng.choice(folders)):
        for _ in range(length):
            os.mkdir(part)
            os.chdir(part)
            if rng.random() < 0.05 or length < 40:
                write(b"inner.txt")
            if rng.random() < 0.02:
                os.mkdir(b"side")
        write(name())


def link():
    os.symlink(rng.choice(TARGETS), place())


def loop():
    one, other = place(), place()
    os.symlink(other, one)
    os.symlink(one, other)


def link_to_neighbour():
    os.symlink(rng.choice(folders), place())


def fifo():
    os.mkfifo(place())


def plug():
    with socket.socket(socket.AF_UNIX) as one, at_home(rng.choice(folders)):
        one.bind(name()[:90])


def device():
    os.mknod(place(), rng.choice([stat.S_IFCHR, stat.S_IFBLK]) | 0o666, os.makedev(1, rng.choice([3, 5, 7])))


def locked():
    path = place()
    if rng.random() < 0.5:
        os.mkdir(path)
        write(path + b"/inside")
    else:
        write(path)
    os.chmod(path, rng.choice(MODES))


def locked_top():
    os.chmod(rng.choice(folders), rng.choice(MODES))


def sparse():
    with create(place()) as file:
        file.truncate(rng.choice([1 << 20, 12 << 20, 17 << 20, 1 << 40]))
        file.write(b"x")


def holes():
    with create(place()) as file:
        for _ in range(5):
            file.seek(rng.randrange(1 << 21))
            file.write(b"x" * 10)


def large():
    write(place(), os.urandom(1 << 10) * (5 << 10))


def hard_links():
    path = place()
    write(path)
    for _ in range(4):
        os.link(path, place())


def foreign_link():
    os.link(rng.choice(["/etc/passwd", "/etc/hostname", "/proc/self/environ"]), place())


def unlinked():
    path = place()
    held.append(create(path))
    held[-1].write(b"x" * 100_000)
    os.unlink(path)


def many():
    base = place()
    os.mkdir(base)
    for number in range(rng.choice([50, 150, 260, 600])):
        write(base + b"/%d" % number, b"")


def wide():
    base = place()
    os.mkdir(base)
    for number in range(rng.choice([100, 250])):
        os.mkdir(base + b"/%d" % number)


def times():
    path = place()
    write(path)
    when = rng.choice(UNREAL_TIMES)
    os.utime(path, (when, when))


def attributes():
    path = place()
    write(path)
    os.setxattr(path, "user.vivarium", os.urandom(200))


def leased():
    """A file that nobody opens without waiting for us."""
    import fcntl

    path = place()
    write(path)
    held.append(create(path))
    fcntl.fcntl(held[-1], fcntl.F_SETLEASE, fcntl.F_WRLCK)


def mapped():
    import mmap

    held.append(create(place()))
    held[-1].truncate(1 << 16)
    held.append(mmap.mmap(held[-1].fileno(), 1 << 16))


def own_places():
    """What the host writes to, taken by something else."""
    for path in (b".output", b".output/run-1.stdout.txt", b"output", b"upload.txt", b"up", b"up/load"):
        with contextlib.suppress(OSError):
            choice = rng.randrange(6)
            if choice == 0:
                os.symlink(rng.choice(TARGETS), path)
            elif choice == 1:
                os.mkfifo(path)
            elif choice == 2:
                os.mkdir(path, 0o000)
            elif choice == 3:
                os.mkdir(path)
            elif choice == 4:
                write(path)


def talk():
    """More than the result takes: the host writes the rest to `.output`."""
    print("x" * 300_000)


def figure():
    """A picture that the worker says it has saved, and that is something else by then."""
    path = rng.choice(["plot.png", "fig.svg", "deep.png"])
    write(path.encode(), b"\x89PNG\r\n\x1a\n" + b"x" * 50)
    if rng.random() < 0.5:
        os.unlink(path)
        os.symlink(rng.choice(TARGETS), path)


def deep_swap(path):
    os.rename(path, path + b".aside")
    os.symlink(rng.choice(TARGETS), path)
    yield
    os.unlink(path)
    os.rename(path + b".aside", path)
    yield


def kind_swap(path):
    """One name that is a file, a link, a FIFO, a directory and nothing in turn."""
    for make in (write, lambda new: os.symlink(rng.choice(TARGETS), new), os.mkfifo, os.mkdir):
        make(path)
        yield
        (os.rmdir if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink)(path)


def size_swap(path):
    write(path, b"x" * 200_000)
    yield
    os.truncate(path, 0)
    yield
    os.truncate(path, 3_000_000)
    yield


def name_swap(path):
    write(path)
    os.rename(path, path[:200] + b"~")
    yield
    os.rename(path[:200] + b"~", path)
    yield


def mode_swap(path):
    os.chmod(os.path.dirname(path), 0o000)
    yield
    os.chmod(os.path.dirname(path), 0o755)
    yield


def crowd(path):
    for number in range(20):
        write(path[:200] + b"%d" % number, b"")
    yield
    for number in range(20):
        os.unlink(path[:200] + b"%d" % number)
    yield


def race(until):
    """Changes some names again and again while the host reads them."""
    swaps = []
    for _ in range(3):
        swap = rng.choice([deep_swap, kind_swap, size_swap, name_swap, mode_swap, crowd])
        swaps.append((swap, rng.choice(folders[1:] or folders) if swap is deep_swap else place()))
    while time.monotonic() < until:
        for swap, path in swaps:
            try:
                for _ in swap(path):
                    time.sleep(0.0005)
            except OSError:
                time.sleep(0.0005)


@contextlib.contextmanager
def at_home(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def wipe(top):
    """Removes everything below a directory: inner directories are moved to the top, so no path gets long."""
    count = 0
    os.chmod(top, 0o700)
    while names := os.listdir(os.fsencode(top)):
        for each in names:
            path = os.path.join(os.fsencode(top), each)
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for inner in os.listdir(path):
                below = os.path.join(path, inner)
                if stat.S_ISDIR(os.lstat(below).st_mode):
                    os.chmod(below, 0o700)
                    count += 1
                    os.rename(below, os.fsencode(f"{top}/wiped-{os.getpid()}-{count}"))
                else:
                    os.unlink(below)
            os.rmdir(path)


def tidy():
    for racer in globals().get("racers", []):
        racer.join(2 * RACE_S)
    for _ in range(3):  # a process of an earlier tree may still be at work
        try:
            wipe(WORKSPACE)
            wipe(TEMPORARY)
            return
        except OSError:
            time.sleep(RACE_S)


def build():
    common = [plain, plain, folder, folder, link, link, link, locked, fifo, hard_links, times, own_places]
    rare = [chain, loop, link_to_neighbour, plug, device, locked_top, sparse, holes, foreign_link, unlinked]
    rarer = [large, attributes, leased, mapped, talk, figure]
    slow = [many, wide]
    for _ in range(rng.randrange(4, 24)):
        make = rng.choice(rng.choices([common, rare, rarer, slow], [60, 25, 13, 2])[0])
        try:
            make()
        except (OSError, ValueError):
            continue  # the name is taken, or the session may not do that


signal.signal(signal.SIGIO, signal.SIG_IGN)  # what asks for a lease back
for each in globals().get("held", []):
    with contextlib.suppress(BaseException):
        each.close()
held = []
with contextlib.suppress(OSError):
    os.chmod(WORKSPACE, 0o700)
os.chdir(WORKSPACE)
if rng.random() < 0.9:
    tidy()
racers = []
folders = [WORKSPACE.encode()]
build()
if RACES == "thread":
    racers = [threading.Thread(target=race, args=(time.monotonic() + RACE_S,), daemon=True)]
    racers[0].start()
elif RACES == "process":
    if os.fork() == 0:
        race(time.monotonic() + RACE_S)
        os._exit(0)
if rng.random() < 0.2:  # a second tree, which the host only removes
    folders = [TEMPORARY.encode()]
    build()
