"""Changing what a mount shows: /shared is a writable directory of the machine, in which another mount has its source.

After the program, the session that has the other mount at /inner gets a fresh interpreter. What it sees there is the
verdict: files of the machine, or `forged`, which is not in the directory that was mounted.
"""

UNCONFINED = "not run: a plain process has no mounts"


def _swap_for_link(name, end):
    os.rename(name, f"{name}-away")
    os.symlink(end, name)


@attempt(judge="nested")
def swap_own_source_for_link():
    """Put a link to the root in place of the source of a mount that the session has itself."""
    _swap_for_link("/shared/outer/inner", "/")
    return False


@attempt(judge="nested")
def swap_own_parent_for_link():
    """Put a link in place of a directory that leads to the source."""
    os.mkdir("/shared/other")
    os.symlink("/", "/shared/other/inner")
    _swap_for_link("/shared/outer", "other")
    return False


@attempt(judge="mounted")
def swap_source_for_link():
    """Put a link to the root in place of the source of a mount of another session."""
    _swap_for_link("/shared/outer/inner", "/")
    return False


@attempt(judge="mounted")
def swap_source_for_host_root():
    """Put a link to the place where the builder sees the machine."""
    _swap_for_link("/shared/outer/inner", "/.host")
    return False


@attempt(judge="mounted")
def swap_parent_for_link():
    """Put a link in place of a directory that leads to the source of another session's mount."""
    os.mkdir("/shared/other")
    os.symlink("/", "/shared/other/inner")
    _swap_for_link("/shared/outer", "other")
    return False


@attempt(judge="mounted")
def swap_source_for_directory():
    """Put another directory in place of the source."""
    os.rename("/shared/outer/inner", "/shared/away")
    os.mkdir("/shared/outer/inner")
    open("/shared/outer/inner/forged", "w").close()
    return False


@attempt(judge="mounted")
def swap_source_again_and_again():
    """Swap the source for a link and back, while the other session is opened."""
    os.symlink("/", "/shared/outer/link")
    if os.fork() == 0:
        os.setsid()
        stop = time.monotonic() + 4
        while time.monotonic() < stop:
            call("renameat2", -100, b"/shared/outer/inner", -100, b"/shared/outer/link", 2)
        os._exit(0)
    return False


@attempt(judge="link")
def leave_link_for_later():
    """Leave a link where the source of a mount is to be that somebody asks for later."""
    _swap_for_link("/shared/outer/inner", "/")
    return False
