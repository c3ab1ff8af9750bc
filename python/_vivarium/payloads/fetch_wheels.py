"""Resolves requirements and fetches their wheels, in a session of the host's own that reaches the indexes alone.

`order` has the requirements, the indexes and the path of `uv`. Nothing of a package is ever run or unpacked here.
"""

import base64
import hashlib
import html
import json
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from importlib.metadata import distributions

_MAX_PAGE = 50 << 20
_MAX_WHEEL = 4 << 30
_MAX_TEXT = 3000
_CHUNK = 1 << 20
_UNREACHABLE = ("Request failed", "error sending request", "Failed to fetch", "client error", "timed out")


def find_link_hosts(order):
    """Return the hosts that the pages of these packages link to: indexes keep files elsewhere."""
    hosts = set()
    for index in order["indexes"]:
        for name in order["names"]:
            try:
                page, base = _page(f"{index.rstrip('/')}/{name}/", order)
            except (OSError, ValueError):
                continue  # resolving tells what is wrong with it
            for link in re.findall(r'"url"\s*:\s*"([^"]+)"|href\s*=\s*["\']([^"\']+)', page):
                target = urllib.parse.urlsplit(urllib.parse.urljoin(base, html.unescape(link[0] or link[1])))
                if target.scheme in ("http", "https") and target.hostname:
                    hosts.add(f"{target.scheme}://{target.netloc.rpartition('@')[2]}")
    return sorted(hosts)[:50]


def fetch(order):
    """Return the wheels that are needed, which are in the working directory; or what is wrong."""
    there = _installed()
    _make_stubs(there)
    found = subprocess.run(
        _command(order, there),
        input="\n".join(order["requirements"]),
        capture_output=True,
        text=True,
        env=_variables(order),
    )
    if found.returncode != 0:
        return {"problem": found.stderr[-_MAX_TEXT:], "isUnreachable": any(one in found.stderr for one in _UNREACHABLE)}
    wheels, kept = [], []
    for package in _parse(found.stdout):
        known = there.get(package["name"])
        if known is not None and known["version"] == package["version"]:
            kept.append({"name": package["name"], "version": package["version"]})
        elif package["name"] not in order["installed"]:
            wheels.append(package)
    for number, wheel in enumerate(wheels):
        try:
            wheel.update(_download(wheel, f"{number}.whl", order))
        except (OSError, ValueError) as error:
            return {"problem": f"{wheel['name']} could not be fetched: {error}"[:_MAX_TEXT], "isUnreachable": True}
    return {"wheels": wheels, "kept": kept}


def _installed():
    """Return what the environment has, by name. It stays as it is."""
    packages = os.environ.get("VIVARIUM_PACKAGES") or "none"
    found = {}
    for one in distributions():
        if one.metadata is None or not one.version or str(one.locate_file("")).startswith(packages):
            continue
        found.setdefault(_normal(one.metadata["Name"] or ""), {"version": one.version, "metadata": one.metadata})
    return found


def _make_stubs(there):
    """Make wheels without content for what is there: it need not be on any index."""
    os.makedirs(_stubs(), exist_ok=True)
    for name, known in there.items():
        stem = f"{name.replace('-', '_')}-{known['version']}"
        extras = [f"Provides-Extra: {one}" for one in known["metadata"].get_all("Provides-Extra") or []]
        needs = known["metadata"].get_all("Requires-Dist") or []
        extras += [f"Requires-Dist: {' '.join(one.split())}" for one in needs if "extra" in one.partition(";")[2]]
        head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {known['version']}", *extras]
        with zipfile.ZipFile(f"{_stubs()}/{stem}-py3-none-any.whl", "w") as stub:
            stub.writestr(f"{stem}.dist-info/METADATA", "\n".join(head) + "\n")
            stub.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            stub.writestr(f"{stem}.dist-info/RECORD", "")


def _stubs():
    return f"{os.environ.get('TMPDIR', '/tmp')}/stubs"


def _command(order, there):
    """Return the call of uv. One index decides for each name: the first that has it."""
    pins = {**{name: known["version"] for name, known in there.items()}, **order["installed"]}
    with open(f"{_stubs()}/constraints.txt", "w", encoding="utf-8") as file:
        file.write("".join(f"{name}=={version}\n" for name, version in pins.items()))
    *first, last = order["indexes"] or [None]
    sources = [word for index in first for word in ("--index", index)]
    sources += ["--default-index", last] if last else ["--no-index"]
    for directory in order["directories"]:
        sources += ["--find-links", directory]
    return [
        *(order["uv"], "pip", "compile", "-", "--quiet", "--no-config", "--python", sys.executable),
        *("--only-binary", ":all:", "--index-strategy", "first-index", "--format", "pylock.toml", "--no-header"),
        *("--constraint", f"{_stubs()}/constraints.txt", "--find-links", _stubs(), *sources),
    ]


def _variables(order):
    proxies = {name: value for name, value in os.environ.items() if name.upper() in ("HTTP_PROXY", "HTTPS_PROXY")}
    temporary = os.environ.get("TMPDIR", "/tmp")
    settings = {"UV_CACHE_DIR": f"{temporary}/uv", "UV_HTTP_RETRIES": "1", "UV_PYTHON_DOWNLOADS": "never"}
    certificate = _certificate(order)
    trust = {"SSL_CERT_FILE": certificate} if certificate else {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
    return {"HOME": temporary, "PATH": os.environ["PATH"], "NO_COLOR": "1", **settings, **trust, **proxies}


def _certificate(order):
    return os.path.abspath(order["certificate"]) if order["certificate"] else None


def _parse(lock):
    """Return name, version and wheel of each package of a lock file."""
    packages = []
    for part in re.split(r"^\[\[packages\]\]$", lock, flags=re.MULTILINE)[1:]:
        fields = dict(re.findall(r'^(name|version) = ("(?:[^"\\]|\\.)*")$', part, re.MULTILINE))
        place = re.search(r'\b(url|path) = ("(?:[^"\\]|\\.)*")', part)
        digest = re.search(r'sha256 = "([0-9a-f]{64})"', part)
        if len(fields) != 2 or place is None:
            raise ValueError(f"uv wrote something unknown: {part[:200]}")
        where = json.loads(place[2])
        url = where if place[1] == "url" else f"file://{os.path.abspath(where)}"
        name, version = json.loads(fields["name"]), json.loads(fields["version"])
        packages.append({"name": _normal(name), "version": version, "url": url, "sha256": digest and digest[1]})
    return packages


def _download(wheel, file, order):
    """Write a wheel to a file, and return it with its hash, which must be that of the index."""
    digest, size = hashlib.sha256(), 0
    with _open(wheel["url"], order) as source, open(file, "wb") as target:
        while data := source.read(_CHUNK):
            digest.update(data)
            size += len(data)
            if size > _MAX_WHEEL:
                raise ValueError(f"it is larger than {_MAX_WHEEL} bytes")
            target.write(data)
    if wheel["sha256"] not in (None, digest.hexdigest()):
        raise ValueError(f"its sha256 is {digest.hexdigest()}, and the index says {wheel['sha256']}")
    name = urllib.parse.unquote(urllib.parse.urlsplit(wheel["url"]).path.rpartition("/")[2])
    return {"sha256": digest.hexdigest(), "file": file, "filename": name}


def _page(url, order):
    accept = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
    with _request(url, order, {"Accept": accept}) as page:
        return page.read(_MAX_PAGE).decode("utf-8", "replace"), page.geturl()


def _open(url, order):
    if url.startswith("file://"):
        return open(urllib.parse.unquote(urllib.parse.urlsplit(url).path), "rb")
    return _request(url, order, {})


def _request(url, order, headers):
    parts = urllib.parse.urlsplit(url)
    request = urllib.request.Request(str(_without_user(url)), headers={"User-Agent": "vivarium", **headers})
    for known in (url, *order["indexes"]):
        given = urllib.parse.urlsplit(known)
        if given.username and (given.scheme, given.hostname, given.port) == (parts.scheme, parts.hostname, parts.port):
            pair = f"{urllib.parse.unquote(given.username)}:{urllib.parse.unquote(given.password or '')}"
            request.add_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
            break
    proxies = {name: os.environ.get(f"{name}_proxy") for name in ("http", "https")}
    context = ssl.create_default_context(cafile=_certificate(order))
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({name: value for name, value in proxies.items() if value}),
        urllib.request.HTTPSHandler(context=context),
    )
    return opener.open(request, timeout=60)


def _without_user(url):
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
