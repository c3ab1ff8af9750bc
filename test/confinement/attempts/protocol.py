"""Lying to the host over the worker's own channels. Whatever happens, the next run must be a true one."""

import stat

CUT_FIELDS = ("total", "kept", "reduced", "totalBytes", "keptBytes")
UNCONFINED = "not run: a plain process has no channel to the host"


@attempt(judge="survival")
def forge_done():
    """Report the end of this run ourselves, and go on."""
    _send(_done(HOST["runId"]))
    time.sleep(0.05)
    print("still here")


@attempt(judge="told")
def forge_done_and_fill_the_disk():
    """Report the end of this run, and write on where nobody seems to look."""
    _send(_done(HOST["runId"]))
    for number in range(100_000):
        with open(f"filling-{number}", "wb") as file:
            file.write(bytes(MIB))
        time.sleep(0.02)


@attempt(judge="told")
def forge_done_and_compute():
    """Report the end of this run, and use the processor without end."""
    _send(_done(HOST["runId"]))
    while True:
        pass


@attempt(judge="survival")
def forge_done_of_next_run():
    """Report the end of the next run before it begins."""
    _send(_done(HOST["nextRunId"]))


@attempt(judge="survival")
def forge_done_from_leftover():
    """Have a child report the end of the next run while that runs or before."""
    if os.fork() == 0:
        time.sleep(0.1)
        _send(_done(HOST["nextRunId"]))
        os._exit(0)


@attempt(judge="survival")
def forge_ready():
    """Say that another process is the worker."""
    _send(_ready())


@attempt(judge="survival")
def forge_resumed():
    """Say that a twin has taken over."""
    _send(_resumed())


@attempt(judge="survival")
def forge_twin():
    """Say that pid 1 is a twin of ours, and that we are."""
    for pid in (os.getpid(), 1):
        _send(_twin(pid))


@attempt(judge="unprotected", hurried=True)
def evade_timeout_as_twin():
    """Say that we are our own twin, which nothing ends, and then run for ever."""
    _send(_twin(os.getpid()))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        time.sleep(0.01)


@attempt(judge="unprotected")
def wake_wrong_twin():
    """Say that a process of ours is a twin, and crash: it is woken with our word for a token."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        time.sleep(5)
        os._exit(0)
    _send(_twin(pid))
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)


@attempt(judge="unprotected")
def wake_impossible_twin():
    """Say that a twin has a number that no process can have, and crash."""
    _send(_twin(2**40))
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)


@attempt(judge="survival")
def forge_huge_length():
    """Announce a frame of gigabytes."""
    os.write(_control(), struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF))


@attempt(judge="survival", hurried=True)
def forge_unfinished_frame():
    """Announce a frame and never finish it, so that what follows is swallowed."""
    os.write(_control(), struct.pack(">II", 4 * MIB, 0) + b"{")


@attempt(judge="survival")
def forge_deep_json():
    """Send JSON nested a million times."""
    _send_text(b"[" * 1_000_000)


@attempt(judge="survival")
def forge_garbage():
    """Send random bytes."""
    os.write(_control(), os.urandom(65536))


@attempt(judge="survival")
def forge_wrong_values():
    """Send frames of the right shape with the wrong values."""
    wrong = _done(HOST["runId"])
    _send_text(json.dumps({**wrong, "variables": {"added": ["x"] * 100_000, "changed": [], "removed": []}}).encode())
    _send_text(json.dumps({**wrong, "memory": float("nan")}).encode())


@attempt(judge="prototype")
def forge_prototype():
    """Send a result whose keys are those of JavaScript's own objects."""
    names = ("__proto__", "constructor", "toString", "text/plain")
    _send(_result(HOST["runId"], dict.fromkeys(names, "polluted")))
    value = json.dumps({"__proto__": {"polluted": True}, "constructor": 1}).encode()
    _write(_frame(json.dumps({"type": "value", "id": HOST["runId"], "jsonBytes": len(value)}).encode(), value))
    _send(_done(HOST["runId"]))
    time.sleep(0.05)


@attempt(judge="memory")
def flood_frames():
    """Send results without end, each as large as a frame may be."""
    for _ in range(160):
        _send(_result(HOST["runId"], {"text/plain": "x" * (4 * MIB)}))


@attempt(judge="memory")
def flood_small_frames():
    """Send very many small results."""
    frame = _frame(json.dumps(_result(HOST["runId"], {"text/plain": ""})).encode())
    for _ in range(100):
        _write(frame * 1000)


@attempt(judge="stall")
def stall_with_lists():
    """Have the host walk millions of empty lists: the data behind a figure that was saved."""
    head, tail = json.dumps(_done(HOST["runId"], saved=["HERE"])).split('"HERE"')
    figure = '{"path":"a.png","title":null,"picture":null,"chart":['
    _send_long(head + figure, "[],", 5 * MIB, "[]]}" + tail)


@attempt(judge="stall")
def stall_with_lists_behind_a_header():
    """Have the host parse as many lists as fit behind the header of a result."""
    for size in (2 * MIB, MIB, MIB // 2):
        chart = b"[" + b"[]," * (size // 3 - 1) + b"0]"
        header = {**_result(HOST["runId"], {"text/plain": ""}), "chartBytes": len(chart)}
        _write(_frame(json.dumps(header).encode(), chart))


@attempt(judge="stall")
def stall_with_wrong_values():
    """Have the host complain about each of a million wrong values."""
    head, tail = json.dumps(_result(HOST["runId"], "HERE")).split('"HERE"')
    _send_long(head + "{", '"%x":0,', 800_000, '"text/plain":""}' + tail)


@attempt(judge="stall")
def stall_with_cheap_frames():
    """Send very many frames of every cheap kind at once: each has to be parsed and checked."""
    cut = {"type": "cut", "id": HOST["runId"], "results": dict.fromkeys(CUT_FIELDS, 0)}
    clear = {**_result(HOST["runId"], {}), "kind": "clear", "wait": True}
    flood = b"".join(_frame(json.dumps(frame).encode()) for frame in (cut, clear)) * 5_000
    for _ in range(20):
        _write(flood)


@attempt(judge="stall")
def stall_with_the_largest_frames():
    """Send frames that are as costly as they may be, until the host has had enough."""
    run = HOST["runId"]
    # The host refuses what costs more than 150,000; an object with one key costs 5.
    lists = b"[" + b",".join(b'{"%x":0}' % key for key in range(29_900)) + b"]"
    chart = {**_result(run, {"text/plain": ""}), "chartBytes": len(lists)}
    value = {"type": "value", "id": run, "jsonBytes": len(lists)}
    for _ in range(20):
        _write(_frame(json.dumps(chart).encode(), lists) + _frame(json.dumps(value).encode(), lists))


@attempt(judge="stall")
def stall_with_long_texts():
    """Send texts that are as long as they may be and slow to read, and one that is no text at all."""
    for unit, count in ((b"\xc3\xa9", 4 * MIB), (b"\xff", 8 * MIB)):
        text = unit * count
        header = {**_result(HOST["runId"], {}), "texts": [["text/html", len(text)]]}
        for _ in range(3):
            _write(_frame(json.dumps(header).encode(), text))
        del text


@attempt(judge="stall")
def flood_after_a_breach():
    """Break the protocol, and go on to send as much as the channel takes."""
    junk = b"\xff" * MIB
    while True:
        _write(junk)


@attempt(judge="survival")
def write_mark():
    """Write the mark that ends a run's output, and print on."""
    frame = sys._getframe()
    while frame is not None:
        request = frame.f_locals.get("request")
        if isinstance(request, dict) and "mark" in request:
            os.write(1, bytes.fromhex(request["mark"]) + b"of no run")
            os.write(2, bytes.fromhex(request["mark"]) + b"of no run")
        frame = frame.f_back


@attempt(judge="survival")
def close_descriptors():
    """Close every descriptor."""
    os.closerange(0, 4096)


@attempt(judge="survival")
def replace_descriptors():
    """Put something else in the place of every descriptor."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in _sockets():
        os.dup2(null, fd)


@attempt(judge="survival", hurried=True)
def cross_descriptors():
    """Exchange the channels: output goes where frames belong."""
    first, *others = [fd for fd in _sockets() if fd > 2]
    for fd in others:
        os.dup2(fd, first)


@attempt(judge="survival")
def flip_blocking():
    """Make every channel non-blocking."""
    for fd in _sockets():
        os.set_blocking(fd, False)


@attempt(judge="survival")
def shut_channels():
    """Shut the channels down in both directions."""
    for fd in _sockets():
        LIBC.shutdown(fd, socket.SHUT_RDWR)


@attempt(judge="survival", hurried=True)
def steal_requests():
    """Have a child read what the host sends to the worker next."""
    control = _control()
    if os.fork() == 0:
        while os.read(control, 65536):
            pass
        os._exit(0)


@attempt(judge="survival", hurried=True)
def steal_requests_in_thread():
    """Have a thread read what the host sends to the worker next."""
    control = _control()
    threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(control, 65536), b"")], daemon=True).start()


@attempt(judge="crash")
def exit_as_if_well():
    """End the process with exit code 0; the run must not count as a success."""
    os._exit(0)


@attempt(judge="told")
def report_and_die():
    """Report the end of this run ourselves and die at once."""
    _send(_done(HOST["runId"]))
    os.kill(os.getpid(), signal.SIGKILL)


def _sockets():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                found.append(int(name))
        except OSError:
            continue
    return sorted(found)


def _control():
    return next(fd for fd in _sockets() if fd > 2)


def well_formed():
    """One of each frame as attempts forge them: what the host refuses by its shape alone would prove nothing."""
    return [_done("run"), _result("run", {"text/plain": "x"}), _ready(), _resumed(), _twin(7)]


def _done(run, saved=()):
    names = {"added": ["forged"], "changed": [], "removed": []}
    return {
        **{"type": "done", "id": run, "error": None, "memory": False, "changed": False, "touched": False, "marked": False},
        **{"unprotected": None, "variables": names, "saved": list(saved)},
    }


def _result(run, data):
    frame = {"type": "result", "id": run, "kind": "display", "data": data, "binary": []}
    return {**frame, "chart": None, "title": None, "picture": None}


def _ready():
    return {"type": "ready", "pid": 2, "isEmpty": True}


def _resumed():
    return {"type": "resumed", "pid": 2, "files": "restored"}


def _twin(pid):
    return {"type": "twin", "pid": pid, "token": "00" * 16, "dropped": None, "refreshed": False}


def _send(header):
    _send_text(json.dumps(header).encode())


def _send_text(text):
    _write(_frame(text))


def _send_long(head, unit, count, tail):
    """Send a header that would not fit into our own memory. A unit may contain its number."""

    def pieces():
        yield head
        for at in range(0, count, 10_000):
            yield "".join(unit % number if "%" in unit else unit for number in range(at, at + 10_000))
        yield tail

    _write(struct.pack(">II", sum(map(len, pieces())), 0))
    for piece in pieces():
        _write(piece.encode())


def _frame(text, payload=b""):
    return struct.pack(">II", len(text), len(payload)) + text + payload


def _write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(_control(), view) :]
