import httpx

with httpx.Client(base_url="http://localhost:8000") as client:
    items = client.get("/api/items", params={"limit": 2}).json()
    posted = client.post("/api/items", json={"name": "pear"})
items
# %%
posted.status_code, posted.json()
# %%
import urllib.request, json
with urllib.request.urlopen("http://localhost:8000/api/items?limit=1") as r:
    print(r.status, json.load(r))
# %%
urllib.request.urlopen("http://localhost:8000/missing")
