import http.client

for host in ("example.com", "example.org"):
    try:
        http.client.HTTPSConnection(host, timeout=5).request("GET", "/")
    except OSError as error:
        print(f"{host}: {error}")
