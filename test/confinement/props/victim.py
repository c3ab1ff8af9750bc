"""A program of the host that holds a secret in memory, environment and a file; also the plain neighbour of attempts."""

PR_SET_PTRACER = 0x59616D61
# The last is sent by the test, and comes after all others that are under way then: Python handles them by number.
NOTED = (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO, signal.SIGPWR)


def stand():
    """Say where the secret is, then wait until the test is over."""
    secret = ctypes.create_string_buffer(os.environ["VICTIM_SECRET"].encode())
    file = open("secret", "w+")
    file.write(os.environ["VICTIM_SECRET"])
    file.flush()
    signals = os.open("signals", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number in NOTED:
        signal.signal(number, lambda received, _: os.write(signals, f"{received}\n".encode()))
    LIBC.prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)  # where Yama would forbid it to unrelated processes
    facts = {"pid": os.getpid(), "address": ctypes.addressof(secret), "fd": file.fileno(), "secret": secret.value.decode()}
    kept = settle(*HOST["settle"])
    print(json.dumps(facts), flush=True)
    while sys.stdin.read():  # until it is closed
        pass
    clear(HOST["settle"][0], HOST["settle"][2])
    del kept
