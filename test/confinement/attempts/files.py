"""Reading and changing files of the host."""

import stat


@attempt
def read_file_in_tmp():
    """Open a file of the host's /tmp by its absolute path."""
    return holds_canary(HOST["canary"]["tmp"])


@attempt
def read_file_in_home():
    """Open a file in the home of the user who runs the host process."""
    return holds_canary(HOST["canary"]["home"])


@attempt
def read_ssh_key():
    """Open the private ssh key of that user."""
    return holds_canary(HOST["canary"]["ssh"])


@attempt
def read_file_beside_workspace():
    """Open a file that lies next to the workspace."""
    return holds_canary(HOST["canary"]["beside"])


@attempt
def read_by_traversal():
    """Climb out of the working directory with '..', by path and by descriptor."""
    try:
        return holds_canary("../" * 40 + HOST["canary"]["home"])
    except OSError:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        for _ in range(40):
            fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        found = os.open(HOST["canary"]["home"].lstrip("/"), os.O_RDONLY, dir_fd=fd)
        return HOST["canary"]["secret"].encode() in os.read(found, 4096)


@attempt
def read_through_links():
    """Follow symbolic links to the host, absolute and relative, from the workspace."""
    for number, target in enumerate((HOST["canary"]["home"], "../" * 40 + HOST["canary"]["home"])):
        link = f"link-{number}"
        os.symlink(target, link)
        try:
            if holds_canary(link):
                return True
        except OSError:
            continue
        finally:
            os.unlink(link)
    return False


@attempt
def read_through_process_roots():
    """Look for the host's files below /proc/PID/root and /proc/PID/cwd of every visible process."""
    pids = ["self", *(name for name in os.listdir("/proc") if name.isdigit())]
    for pid in pids:
        for start in (f"/proc/{pid}/root", f"/proc/{pid}/cwd/" + "../" * 40):
            try:
                if holds_canary(start + HOST["canary"]["home"]):
                    return True
            except OSError:
                continue
    return False


@attempt(unconfined="not run: a plain process inherits no directory")
def read_through_inherited_directories():
    """Use any descriptor that was left open as a way to the host's directories."""
    for fd in range(4096):
        for path in (HOST["canary"]["home"].lstrip("/"), "../" * 40 + HOST["canary"]["home"]):
            try:
                os.close(os.open(path, os.O_RDONLY, dir_fd=fd))
                return True
            except OSError:
                continue
    return False


@attempt(needs="ext4")
def open_root_by_handle():
    """Open the root directory of the disk by a forged file handle (inode 2)."""
    handle = ctypes.create_string_buffer(struct.pack("IiII", 8, 1, 2, 0))
    for start in (".", "/usr", "/etc/ld.so.cache"):
        mount = os.open(start, os.O_RDONLY)
        try:
            fd = call("open_by_handle_at", mount, handle, os.O_RDONLY)
        except OSError:
            continue
        return len(os.listdir(fd)) > 0
    return False


@attempt(needs="root")
def read_shadow():
    """Read the password hashes of the machine."""
    with open("/etc/shadow") as file:
        return "root:" in file.read()


@attempt
def read_accounts():
    """Read the accounts of the machine."""
    with open("/etc/passwd") as file:
        return len(file.readlines()) > 5


@attempt
def list_home():
    """List the home of the user who runs the host process."""
    return len(os.listdir(HOST["home"])) > 0


@attempt(needs="root")
def list_home_of_root():
    """List root's home; the way to a Python that lies there is no secret."""
    ways = (sys.prefix, sys.base_prefix, os.path.realpath(sys.executable))
    return any(not any(way.startswith(f"/root/{name}/") for way in ways) for name in os.listdir("/root"))


@attempt
def list_data_directory():
    """List the directory where the engine keeps all workspaces."""
    return len(os.listdir(HOST["dataDir"])) > 0


@attempt
def read_sysfs():
    """Read what the kernel tells about devices."""
    return len(os.listdir("/sys/class")) > 0


@attempt
def read_kernel_command_line():
    """Read how the machine was booted."""
    with open("/proc/cmdline") as file:
        return len(file.read().strip()) > 0


@attempt
def read_machine_statistics():
    """Read facts about the machine's disks, interrupts and memory zones."""
    for name in ("interrupts", "diskstats", "zoneinfo", "kallsyms", "partitions"):
        try:
            with open(f"/proc/{name}") as file:
                if file.read(100):
                    return True
        except OSError:
            continue
    return False


@attempt(needs="kcore")
def read_kernel_memory():
    """Read /proc/kcore."""
    with open("/proc/kcore", "rb") as file:
        return file.read(4) == b"\x7fELF"


@attempt(needs="root")
def read_kernel_log():
    """Read /dev/kmsg."""
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    return len(os.read(fd, 8192)) > 0


@attempt(needs="a disk")
def read_disk():
    """Read a block device."""
    for name in os.listdir("/dev"):
        path = f"/dev/{name}"
        try:
            if stat.S_ISBLK(os.stat(path).st_mode) and os.read(os.open(path, os.O_RDONLY), 512):
                return True
        except OSError:
            continue
    return False


@attempt(needs="root")
def make_device():
    """Make a device node of our own and open it."""
    os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    try:
        return len(os.read(os.open("device", os.O_RDONLY), 1)) == 1
    finally:
        os.unlink("device")


@attempt
def link_host_file():
    """Get a hard link to a file of the host into the workspace."""
    os.link(HOST["canary"]["beside"], "stolen")
    os.unlink("stolen")
    return True


@attempt(judge="canary")
def overwrite_host_files():
    """Write into files of the host; the test looks at them afterwards."""
    for path in HOST["canary"]["writable"]:
        try:
            with open(path, "a") as file:
                file.write("overwritten")
        except OSError:
            continue


@attempt(judge="canary")
def delete_host_files():
    """Delete files of the host; the test looks for them afterwards."""
    for path in HOST["canary"]["writable"]:
        try:
            os.unlink(path)
        except OSError:
            continue


@attempt(needs="root")
def write_to_usr():
    """Put a file into /usr."""
    return _writes(f"/usr/{HOST['mark']}")


@attempt(needs="root")
def write_to_etc():
    """Put a file into /etc."""
    return _writes(f"/etc/{HOST['mark']}")


@attempt(needs="root")
def write_to_root():
    """Put a file into the root directory."""
    return _writes(f"/{HOST['mark']}")


@attempt(needs="root")
def write_to_libraries():
    """Put a module where every later session would import it from."""
    return _writes(f"{os.path.dirname(os.__file__)}/{HOST['mark']}.py")


@attempt(needs="root")
def write_kernel_setting():
    """Change a setting of the kernel (to the value that it has)."""
    with open("/proc/sys/vm/swappiness") as file:
        value = file.read()
    with open("/proc/sys/vm/swappiness", "w") as file:
        file.write(value)
    return True


@attempt(needs="root")
def mount_tmpfs():
    """Mount a filesystem with mount(2)."""
    os.mkdir("point")
    try:
        call("mount", b"tmpfs", b"point", b"tmpfs", 0, None)
        call("umount2", b"point", 0)
        return True
    finally:
        os.rmdir("point")


@attempt(needs="root")
def mount_bind():
    """Bind the root directory to a place of our own."""
    os.mkdir("point")
    try:
        call("mount", b"/", b"point", None, 4096, None)
        call("umount2", b"point", 2)
        return True
    finally:
        os.rmdir("point")


@attempt(needs="root")
def mount_new_filesystem():
    """Make a filesystem with fsopen(2)."""
    return call("fsopen", b"tmpfs", 0) >= 0


@attempt(needs="root")
def clone_mount_tree():
    """Clone the mounts of the root directory with open_tree(2)."""
    return call("open_tree", -100, b"/", 1) >= 0


@attempt(needs="root")
def remount_proc():
    """Remount /proc with other flags."""
    call("mount", None, b"/proc", None, 32 | 4096 | 1 << 21, None)
    return True


@attempt(unconfined="not run: it would take a mount away from the machine")
def unmount_masks():
    """Take away what covers parts of /proc, and the workspace."""
    for path in (b"/proc/kcore", b"/proc/sys", b"/dev/shm", b"/workspace"):
        try:
            call("umount2", path, 2)
            return True
        except OSError:
            continue
    return False


def _writes(path):
    with open(path, "x"):
        os.unlink(path)
        return True
