"""Finding secrets: of the host process, of the engine, of other sessions."""

import types

OF_HOST = re.compile(rb"host-secret-[0-9a-f]{32}")


@attempt
def read_environment():
    """Find the host's secret in os.environ."""
    return OF_HOST.search(repr(dict(os.environ)).encode()) is not None


@attempt
def read_environment_of_libc():
    """Find the host's secret in the environment that C sees."""
    pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, "environ")
    index = 0
    while pointer and pointer[index] is not None:
        if OF_HOST.search(pointer[index]):
            return True
        index += 1
    return False


@attempt
def read_environment_of_process():
    """Find the host's secret in /proc/self/environ, where the environment at the start stays."""
    with open("/proc/self/environ", "rb") as file:
        return OF_HOST.search(file.read()) is not None


@attempt
def read_environment_in_child():
    """Find the host's secret in the environment of a child."""
    shown = subprocess.run(["/usr/bin/env"], capture_output=True, check=True).stdout
    return OF_HOST.search(shown) is not None


@attempt
def search_objects():
    """Find the host's secret in any object that Python can reach."""
    for found in gc.get_objects():
        for child in (found, *gc.get_referents(found)):  # a dict of strings is not an object of its own to the collector
            values = child.values() if isinstance(child, dict) else child if isinstance(child, (list, tuple)) else (child,)
            for value in list(values):
                text = value.encode("utf-8", "replace") if isinstance(value, str) else value
                if isinstance(text, bytes) and OF_HOST.search(text):
                    return True
    return False


@attempt
def search_memory():
    """Find the host's secret anywhere in memory, freed memory included."""
    return _memory_holds(OF_HOST)


@attempt(unconfined="not run: a plain process has no zygote whose objects it inherits")
def search_zygote_objects():
    """Find the zygote's own objects: its table of sessions, a token, a frame of its loop."""
    for found in gc.get_objects():
        if str(type(found).__module__).startswith("_vivarium.zygote"):
            return True
        if isinstance(found, types.FrameType) and found.f_code.co_filename.endswith(("zygote/server.py", "zygote/__main__.py")):
            if any(name in found.f_locals for name in ("config", "command", "forked")) and found.f_code.co_name != "main":
                return True
    return False


@attempt
def read_host_name():
    """Learn the name of the machine."""
    return socket.gethostname() == HOST["hostname"]


@attempt(unconfined="not run: a plain process inherits no channel", judge="fresh")
def find_strange_descriptors():
    """Find descriptors besides the standard ones and the worker's three."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue  # the listing's own
    sockets = [path for path in found if path.startswith("socket:")]
    return len(sockets) > 5 or any(path != "/dev/null" for path in found if path not in sockets)


def _memory_holds(pattern):
    """Search every readable mapping of this process; what we search for is not in our own text."""
    with open("/proc/self/maps") as file:
        areas = [line.split() for line in file]
    fd = os.open("/proc/self/mem", os.O_RDONLY)
    for area in areas:
        if "r" not in area[1] or (len(area) > 5 and area[5].startswith(("[v", "/usr", "/lib"))):
            continue
        start, end = (int(text, 16) for text in area[0].split("-"))
        while start < end:
            try:
                piece = os.pread(fd, min(end - start, 4 * MIB), start)
            except (OSError, OverflowError):
                break
            if not piece:
                break
            if pattern.search(piece):
                return True
            start += len(piece)
    return False
