"""Reaching the host's network, its sockets and the world."""

import fcntl


@attempt
def connect_to_host_tcp():
    """Talk to a TCP server on the host's loopback."""
    return greets(socket.AF_INET, ("127.0.0.1", HOST["port"]))


@attempt(needs="IPv6")
def connect_to_host_tcp6():
    """Talk to a TCP server on the host's IPv6 loopback."""
    return greets(socket.AF_INET6, ("::1", HOST["port6"]))


@attempt
def connect_to_host_udp():
    """Talk to a UDP server on the host's loopback."""
    return greets(socket.AF_INET, ("127.0.0.1", HOST["udpPort"]), socket.SOCK_DGRAM)


@attempt(needs="a second address")
def connect_to_host_address():
    """Talk to a TCP server on an outward address of the host."""
    if HOST["address"] is None:
        raise Absent("the host has no address but loopback")
    return greets(socket.AF_INET, (HOST["address"], HOST["addressPort"]))


@attempt
def connect_to_abstract_socket():
    """Talk to a server on an abstract unix socket."""
    return greets(socket.AF_UNIX, b"\0" + HOST["abstract"].encode())


@attempt
def connect_to_docker_socket():
    """Talk to a server on a unix socket in the host's filesystem."""
    return greets(socket.AF_UNIX, HOST["dockerSocket"])


@attempt
def connect_to_engine_socket():
    """Talk to the engine's own socket, as a worker would."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(HOST["engineSocket"])
        return True


@attempt
def send_from_socket_pair():
    """Reach a socket of the host by sendto from one half of a socket pair."""
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"hello", HOST["datagramSocket"])
    return True


@attempt(needs="a default route")
def route_to_internet():
    """Find a route to an address of the internet, which sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("198.51.100.1", 9))
        return True


@attempt
def see_host_connections():
    """Find the host's listening port in /proc/net/tcp."""
    with open("/proc/net/tcp") as file:
        return f":{HOST['port']:04X} " in file.read()


@attempt(needs="a second interface")
def see_host_interfaces():
    """See network interfaces other than loopback."""
    with open("/proc/net/dev") as file:
        return len(file.readlines()) > 3


@attempt(needs="root")
def open_raw_socket():
    """Open a raw socket."""
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return True


@attempt(needs="root")
def open_packet_socket():
    """Open a socket that sees every packet."""
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return True


@attempt
def open_netlink_socket():
    """Open a socket to the kernel's network configuration."""
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    return True


@attempt(needs="vsock")
def open_vsock():
    """Open a socket to the hypervisor, which no namespace contains."""
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return True


@attempt(needs="crypto sockets")
def open_crypto_socket():
    """Open a socket to the kernel's cryptography."""
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET, 0).close()
    return True


@attempt
def ask_interface_by_ioctl():
    """Ask the kernel about its interfaces by ioctl."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8913, struct.pack("16sH14x", b"lo", 0))
        return True


@attempt(needs="tun")
def make_tunnel():
    """Make a network interface."""
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH14x", b"canary0", 0x1001))
    return True


@attempt(judge="listener")
def listen_for_host():
    """Leave a server behind that the host, and so the world, can connect to."""
    server = socket.create_server(("0.0.0.0", HOST["freePort"]))
    pid = os.fork()
    if pid == 0:
        os.setsid()
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        server.settimeout(3)
        try:
            server.accept()
        finally:
            os._exit(0)
    server.close()
