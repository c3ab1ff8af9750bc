"""What a neighbour leaves in every place that could be shared. Run in another session, and by a plain process."""


def settle(name, port, key):
    """Write files, listen, and keep all of it."""
    for path in (f"/tmp/{name}", f"/dev/shm/{name}", name):
        try:
            with open(path, "w") as file:
                file.write(name)
        except PermissionError:
            print("no", path)  # where sessions have no directories of their own there
    try:
        server = socket.create_server(("127.0.0.1", port))
    except OSError:
        server = None  # not without a control group
    try:
        abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        abstract.bind(b"\0" + name.encode())
        abstract.listen()
    except OSError:
        abstract = None  # not without namespaces
    try:
        call("shmget", key, 4096, 0o1666)
    except OSError:
        print("no SysV memory")
    return server, abstract


def clear(name, key):
    """Take away what would outlive the process."""
    for path in (f"/tmp/{name}", f"/dev/shm/{name}", name):
        os.unlink(path)
    call("shmctl", call("shmget", key, 0, 0), 0, None)
