"""Reaching what another session, or another program of the same user, has left in shared places.

Its neighbour has run `neighbour.py` before and goes on living.
"""

NEAR = HOST["neighbour"]


@attempt
def read_neighbour_tmp():
    """Read the neighbour's file in /tmp."""
    return _is_its(f"/tmp/{NEAR['name']}")


@attempt
def read_neighbour_shm():
    """Read the neighbour's file in /dev/shm."""
    return _is_its(f"/dev/shm/{NEAR['name']}")


@attempt
def read_neighbour_workspace():
    """Read the neighbour's file in its workspace, by the host's path."""
    return _is_its(f"{NEAR['workspace']}/{NEAR['name']}")


@attempt
def connect_to_neighbour_port():
    """Connect to a port that the neighbour listens on."""
    with socket.create_connection(("127.0.0.1", NEAR["port"]), timeout=0.5):
        return True


@attempt
def connect_to_neighbour_socket():
    """Connect to an abstract socket that the neighbour listens on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(b"\0" + NEAR["name"].encode())
        return True


@attempt(needs="SysV memory")
def attach_neighbour_memory():
    """Attach the neighbour's SysV shared memory."""
    return call("shmget", NEAR["key"], 0, 0) >= 0


@attempt(needs="SysV messages")
def use_message_queue():
    """Leave a message in a SysV queue for the next session."""
    queue = call("msgget", NEAR["key"] + 1, 0o1666)
    call("msgctl", queue, 0, None)
    return True


@attempt(needs="POSIX messages")
def use_posix_queue():
    """Leave something in a POSIX message queue."""
    call("mq_open", NEAR["name"].encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
    call("mq_unlink", NEAR["name"].encode())
    return True


@attempt(needs="keyrings")
def use_keyring():
    """Leave a key in the keyring of the user, which no namespace contains."""
    key = call("add_key", b"user", NEAR["name"].encode(), b"secret", 6, -4)
    call("keyctl", 21, key, 0, 0, 0)
    return True


@attempt(needs="groups of terminal sessions")
def weigh_more():
    """Set the weight that the scheduler gives this session, or keep the surveyor from setting any: one a time is taken."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        try:
            fd = os.open("/proc/self/autogroup", os.O_WRONLY)
            return os.write(fd, b"0") == 1
        except BlockingIOError:  # somebody else has just set one
            time.sleep(0.001)
    return False


@attempt
def be_killed_after_others():
    """Have the kernel look for other victims when the machine runs out of memory."""
    for value in ("500", "0"):
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(value)
    with open("/proc/self/oom_score_adj") as file:
        return int(file.read()) < 500


@attempt(unconfined="not run: two plain processes have no zygote in common", judge="randomness")
def repeat_randomness():
    """Get the same random numbers as another session."""
    import random
    import ssl
    import uuid

    drawn = {
        "random": random.random(),
        "urandom": os.urandom(8).hex(),
        "ssl": ssl.RAND_bytes(8).hex(),
        "uuid": str(uuid.uuid4()),
    }
    try:
        import numpy

        drawn["numpy"] = float(numpy.random.random())
        drawn["numpy generator"] = float(numpy.random.default_rng().random())
    except ImportError:
        pass
    print(json.dumps(drawn))
    return False


def _is_its(path):
    with open(path) as file:
        return NEAR["name"] in file.read()
