"""Getting through the gate to what is not on the list. The list has every name, and one address with one port."""

import ssl

SECONDS = 2


def hears(client):
    """Whether the host's greeting arrives."""
    data = b""
    while len(data) < 10_000 and (more := client.recv(1000)):
        data += more
    return HOST["greeting"].encode() in data


def proxy(kind):
    """A connection to one of the proxies."""
    return socket.create_connection(("127.0.0.1", HOST["proxies"][kind]), SECONDS)


def tunnel(target, then=b""):
    """Whether the greeting comes through a tunnel."""
    with proxy("http") as client:
        client.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        client.sendall(then)
        return hears(client)


def any_of(way, targets):
    """Whether one of several targets is reached. Those that a proxy only resets are not."""
    reached = []
    for target in targets:
        try:
            reached.append(way(target))
        except OSError:
            reached.append(False)
    return any(reached)


def ask(url, host):
    """Whether the greeting is what a request in plain HTTP gets."""
    with proxy("http") as client:
        client.sendall(f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return hears(client)


def socks(kind, host, port):
    """Whether the greeting comes through the SOCKS proxy."""
    with proxy("socks") as client:
        client.sendall(b"\x05\x01\x00")
        client.recv(2)
        client.sendall(bytes([5, 1, 0, kind]) + host + struct.pack(">H", port))
        return hears(client)


def named(name):
    """A name, as SOCKS has it."""
    return bytes([len(name)]) + name.encode()


@attempt
def tunnel_to_host():
    """Have the gate lead to a server on the host's loopback."""
    return tunnel(f"127.0.0.1:{HOST['port']}")


@attempt
def tunnel_by_whole_numbers():
    """Write the address as one number: decimal, hexadecimal, octal."""
    return any_of(tunnel, [f"{one}:{HOST['port']}" for one in ("2130706433", "0x7f000001", "017700000001")])


@attempt
def tunnel_by_short_forms():
    """Write the address with fewer or other parts."""
    forms = ("127.1", "127.0.1", "0x7f.1", "0177.0.0.1", "127.0.0.01", "0x7f.0x0.0x0.0x1", "127.0.0.2")
    return any_of(tunnel, [f"{one}:{HOST['port']}" for one in forms])


@attempt
def tunnel_to_zero():
    """Use the address zero, which leads to the machine itself."""
    return any_of(tunnel, [f"{one}:{HOST['port']}" for one in ("0.0.0.0", "0", "0x0")])


@attempt
def tunnel_by_mapped_addresses():
    """Write the address as one of IPv6."""
    forms = ("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::FFFF:127.0.0.1]")
    return any_of(tunnel, [f"{one}:{HOST['port']}" for one in forms])


@attempt(needs="IPv6")
def tunnel_to_host_tcp6():
    """Have the gate lead to the IPv6 loopback, in several forms."""
    forms = ("[::1]", "[0:0:0:0:0:0:0:1]", "[::1%lo]", "[::]")
    return any_of(tunnel, [f"{one}:{HOST['port6']}" for one in forms])


@attempt
def tunnel_by_names():
    """Use names that are listed and lead to the host's loopback."""
    return any_of(tunnel, [f"{one}:{HOST['port']}" for one in ("localhost", "LOCALHOST", "localhost.")])


@attempt(needs="a name for the machine")
def tunnel_by_host_name():
    """Use the name of the machine, which may lead to any address of it."""
    return tunnel(f"{HOST['hostname']}:{HOST['port']}")


@attempt(needs="a second address")
def tunnel_to_host_address():
    """Have the gate lead to an outward address of the host, which it would reach by itself."""
    if HOST["address"] is None:
        raise Absent("the host has no address but loopback")
    return tunnel(f"{HOST['address']}:{HOST['addressPort']}")


@attempt(needs="a metadata service")
def tunnel_to_metadata():
    """Reach the metadata service of a cloud."""
    query = b"GET / HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n"
    with proxy("http") as client:
        client.sendall(b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n" + query)
        return client.recv(1000).count(b"HTTP/1.1 ") > 1 or b"HTTP/1.1 " in client.recv(1000)


@attempt
def tunnel_to_neighbour():
    """Reach a server of another session."""
    with proxy("http") as client:
        client.sendall(f"CONNECT 127.0.0.1:{HOST['neighbour']['port']} HTTP/1.1\r\n\r\n".encode())
        return b" 200 " in client.recv(1000)


@attempt
def socks_to_host():
    """Ask the SOCKS proxy for an address of the host: as IPv4, mapped into IPv6, as text, by name."""
    mapped = bytes(10) + b"\xff\xff\x7f\x00\x00\x01"
    ways = [(1, b"\x7f\x00\x00\x01"), (4, mapped), (3, named("127.0.0.1")), (3, named("127.1")), (3, named("localhost"))]
    return any_of(lambda way: socks(*way, HOST["port"]), ways)


@attempt
def ask_host():
    """Ask a web server of the host in plain HTTP, by several forms of its address."""
    forms = ("127.0.0.1", "localhost", "2130706433", "127.1", "[::ffff:127.0.0.1]")
    targets = [f"{one}:{HOST['webPort']}" for one in forms]
    return any_of(lambda target: ask(f"http://{target}/", target), targets)


@attempt
def ask_with_listed_user():
    """Write the listed host where an address has its user, or name it in the Host header."""
    listed, web = f"127.0.0.1:{HOST['listedPort']}", f"127.0.0.1:{HOST['webPort']}"
    return any_of(lambda one: ask(*one), [(f"http://{listed}@{web}/", listed), (f"http://{web}/", listed)])


@attempt
def ask_listed_host_for_another():
    """Ask the listed server for another site that it may have, by the Host header."""
    return ask(f"http://127.0.0.1:{HOST['listedPort']}/", "internal.example.org")


@attempt
def follow_redirect():
    """Follow a redirect of the listed server to one that is not listed."""
    listed = f"127.0.0.1:{HOST['listedPort']}"
    with proxy("http") as client:
        client.sendall(f"GET http://{listed}/away HTTP/1.1\r\nHost: {listed}\r\n\r\n".encode())
        location = re.search(r"Location: (http://(\S+)/)", client.recv(1000).decode())
    return ask(location[1], location[2])


@attempt
def name_another_site_in_tls():
    """Begin TLS with another name than that of the listed host."""
    context = ssl.create_default_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname="internal.example.org").do_handshake()
    except ssl.SSLWantReadError:
        return tunnel(f"localhost:{HOST['listedPort']}", outgoing.read())


@attempt
def take_listeners():
    """Take the sockets that lead out from where a session hands them to the gate."""
    directory = os.path.dirname(HOST["engineSocket"])
    found = [name for name in os.listdir(directory) if name.endswith(".net")]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(f"{directory}/{found[0]}")
        return len(socket.recv_fds(client, 1 << 16, 128)[1]) > 0
