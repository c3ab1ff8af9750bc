import tempfile, zipfile, shutil, json
from pathlib import Path

with tempfile.TemporaryDirectory() as tmp:
    base = Path(tmp)
    (base / "sub").mkdir()
    for i in range(3):
        (base / "sub" / f"part{i}.json").write_text(json.dumps({"id": i, "squares": [n * n for n in range(i)]}))
    archive = shutil.make_archive("bundle", "zip", base)
    exists = base.exists()
print(Path(archive).name, exists, base.exists())
# %%
with zipfile.ZipFile("bundle.zip") as z:
    names = sorted(n for n in z.namelist() if n.endswith(".json"))
    content = {n: json.loads(z.read(n)) for n in names}
content
# %%
sorted(p.name for p in Path(".").iterdir()), Path("bundle.zip").suffix, Path("a") / "x"
