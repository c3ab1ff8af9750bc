"""Finding in memory what the zygote knew before it forked this session.

Freed memory is soon written over: these programs are bare, without the prelude.
"""

BARE = True


@attempt(unconfined="not run: a plain process has no zygote whose memory it inherits", judge="fresh")
def search_memory_for_neighbour():
    """Find what an earlier session or its caller named: variables, mounts, files, code, its id."""
    import os

    fd = os.open("/proc/self/mem", os.O_RDONLY)
    for line in open("/proc/self/maps"):
        place, mode, *rest = line.split()
        if "r" not in mode or rest[-1] in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            continue
        start, end = (int(text, 16) for text in place.split("-"))
        pieces = os.pread(fd, end - start, start).split(b"neighbour-" + b"secret-")
        if any(piece[:1].isalnum() for piece in pieces[1:]):
            return True
    return False


@attempt(unconfined="not run: a plain process has no zygote whose memory it inherits", judge="fresh")
def search_memory_for_token():
    """Find a token by which a worker is known to the host."""
    import os

    fd = os.open("/proc/self/mem", os.O_RDONLY)
    for line in open("/proc/self/maps"):
        place, mode, *rest = line.split()
        if "r" not in mode or rest[-1] in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            continue
        start, end = (int(text, 16) for text in place.split("-"))
        pieces = os.pread(fd, end - start, start).split(b'"tok' + b'en":')
        if any(piece.lstrip(b' "')[:32].isalnum() and len(piece) > 32 for piece in pieces[1:]):
            return True
    return False
