import requests
from bs4 import BeautifulSoup

resp = requests.get("http://localhost:8000/countries.html", timeout=10)
resp.raise_for_status()
soup = BeautifulSoup(resp.text, "lxml")
print(soup.title.string, resp.status_code, resp.headers["content-type"])
[(a.get_text(strip=True), a["href"]) for a in soup.select("a[href]")]
# %%
resp
# %%
soup.find("p")
# %%
requests.get("http://localhost:8000/missing").raise_for_status()
