"""Damaging the worker that runs the code, from inside. Whatever happens, the next run must be a true one."""

import atexit
import builtins

UNCONFINED = "not run: a plain process has no worker to damage"


def _fails(*_arguments, **_keywords):
    raise RuntimeError("patched")


@attempt(judge="survival")
def run_at_exit():
    """Have code run at the end of the process, which never comes to it."""
    atexit.register(lambda: (time.sleep(30), _fails()))


@attempt(judge="survival")
def set_alarm():
    """Have an alarm go off after the run."""
    signal.signal(signal.SIGALRM, _fails)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)


@attempt(judge="survival")
def set_hidden_timer():
    """Have a timer that Python does not know end the process after the run."""
    event = ctypes.create_string_buffer(struct.pack("QiiQ", 0, signal.SIGKILL, 0, 0), 64)
    timer = ctypes.create_string_buffer(8)
    call("timer_create", 1, event, timer)
    call("timer_settime", struct.unpack("i", timer.raw[:4])[0], 0, struct.pack("4Q", 0, 0, 0, 20_000_000), None)


@attempt(judge="survival")
def interrupt_worker():
    """Have interrupts rain on the worker after the run."""
    parent = os.getpid()
    if os.fork() == 0:
        for _ in range(50):
            os.kill(parent, signal.SIGINT)
            time.sleep(0.002)
        os._exit(0)


@attempt(judge="survival")
def trace_worker():
    """Have every call of the worker traced by a function that fails."""
    sys.setprofile(_fails)
    threading.settrace(_fails)
    sys.settrace(_fails)


@attempt(judge="survival")
def trace_frames_below():
    """Put a trace function into the frames of the worker itself."""
    frame = sys._getframe().f_back
    while frame is not None:
        frame.f_trace = _fails
        frame = frame.f_back
    sys.settrace(_fails)


@attempt(judge="survival")
def hook_imports():
    """Fail every import."""
    sys.meta_path.insert(0, type("Hook", (), {"find_spec": staticmethod(_fails)}))
    sys.path_hooks.insert(0, _fails)
    builtins.__import__ = _fails


@attempt(judge="survival")
def forget_modules():
    """Empty the table of modules."""
    sys.modules.clear()


@attempt(judge="survival", hurried=True)
def patch_builtins():
    """Replace the functions that everything is built on."""
    for name in ("len", "isinstance", "type", "print", "open", "compile", "exec", "getattr", "range", "dict", "bytes"):
        setattr(builtins, name, _fails)


@attempt(judge="survival", hurried=True)
def patch_json():
    """Replace how frames are encoded."""
    json.dumps = lambda *_, **__: "{}"


@attempt(judge="survival", hurried=True)
def patch_json_reading():
    """Replace how requests are decoded."""
    json.loads = _fails


@attempt(judge="survival", hurried=True)
def patch_write():
    """Replace how frames are written, by nothing."""
    os.write = lambda fd, data: len(data)


@attempt(judge="survival", hurried=True)
def patch_read():
    """Replace how requests are read, by nothing."""
    os.read = lambda fd, count: time.sleep(0.01) or b"\0" * count


@attempt(judge="survival", hurried=True)
def patch_fork():
    """Have the worker believe that it is its own twin."""
    os.fork = lambda: 0


@attempt(judge="survival")
def patch_kill():
    """Keep the worker from ending twins that it needs no more."""
    os.kill = lambda *_: None


@attempt(judge="survival")
def patch_exit():
    """Keep the worker from ending itself."""
    os._exit = lambda *_: None


@attempt(judge="survival", hurried=True)
def patch_wire():
    """Replace the worker's own functions, found in its frames."""
    frame = sys._getframe()
    while frame is not None:
        for name in ("wire", "values", "trace"):
            module = frame.f_globals.get(name)
            for attribute in ("send", "receive", "write_all", "describe"):
                if hasattr(module, attribute):
                    setattr(module, attribute, _fails)
        frame = frame.f_back


@attempt(judge="survival", hurried=True)
def arm_worker():
    """Have an interrupt hit the worker outside of runs."""
    for found in gc.get_objects():
        if type(found).__name__ == "Worker" and hasattr(found, "_armed"):
            type(found)._armed = property(lambda _: True, lambda *_: None)
    threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


@attempt(judge="survival")
def damage_rollback():
    """Destroy what the worker keeps to undo changes of files."""
    import shutil

    with open("file", "w") as file:
        file.write("changed")
    shutil.rmtree("/.rollback", ignore_errors=True)


@attempt(judge="survival")
def lower_recursion():
    """Leave no room on the stack."""
    sys.setrecursionlimit(60)


@attempt(judge="survival")
def break_streams():
    """Put impossible things in the place of the standard streams."""
    sys.stdout = sys.stderr = sys.stdin = type("Stream", (), {"write": _fails, "flush": _fails})()
    sys.__stdout__ = sys.__stderr__ = None
    sys.excepthook = sys.displayhook = sys.unraisablehook = _fails


@attempt(judge="survival", hurried=True)
def keep_threads():
    """Have threads that go on after the run and take every chance to run."""
    def spin():
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass

    for _ in range(4):
        threading.Thread(target=spin, daemon=True).start()


@attempt(judge="survival")
def raise_strangely():
    """Raise an exception that fails when it is described."""

    class Strange(BaseException):
        __str__ = __repr__ = _fails
        __traceback__ = property(_fails)

    raise Strange


@attempt(judge="survival")
def exhaust_stack():
    """Overflow the stack of C."""
    sys.setrecursionlimit(1 << 30)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    repr(deep)


@attempt(judge="survival")
def corrupt_memory():
    """Write where nothing of ours is."""
    ctypes.memset(id(None), 0xFF, 64)
