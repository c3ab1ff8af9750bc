import sys, pprint, textwrap
print("a", "b", sep="-", end="!\n")
print("no newline", end="")
sys.stdout.write("written\n")
# %%
for i in range(3):
    print(f"\rstep {i}", end="", flush=True)
print()
# %%
pprint.pprint({"k" * 10: list(range(30)), "z": {"y": ["long text " * 5] * 3}})
# %%
print(textwrap.fill("word " * 30, 40))
print("\033[31mred\033[0m", file=sys.stderr)
# %%
print(*range(5), file=sys.stdout)
print({"a": {1, }}, None, ..., print)
sys.stderr.write("plain error text")
# %%
sys.stdout.buffer.write(b"bytes\n")
# %%
import contextlib, io
buf = io.StringIO()
with contextlib.redirect_stdout(buf):
    print("captured")
buf.getvalue()
# %%
print(sys.stdout.isatty(), sys.stdout.encoding)
