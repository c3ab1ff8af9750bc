"""Finding in memory what the zygote knew before it forked this session.

Freed memory is soon written over: these programs are bare, without the prelude.
"""

BARE = True


@attempt(unconfined="not run: a plain process has no zygote whose memory it inherits", judge="fresh")
def search_memory_for_neighbour():
    """Find the environment of a session that was opened earlier."""
    import os

    fd = os.open("/proc/self/mem", os.O_RDONLY)
    for line in open("/proc/self/maps"):
        place, mode, *rest = line.split()
        if "r" not in mode or rest[-1] in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            continue
        start, end = (int(text, 16) for text in place.split("-"))
        found = os.pread(fd, end - start, start).partition(b"neighbour-" + b"secret-")[2][:1]
        if found in (b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"a", b"b", b"c", b"d", b"e", b"f"):
            return True
    return False
