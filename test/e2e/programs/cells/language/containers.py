from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
import types

OrderedDict(a=1, b=[1, 2]), deque([1, 2, 3], maxlen=3), Counter("hello"), defaultdict(int, a=1)
# %%
{3, 1, 2}, frozenset({"b", "a"}), set(), {}, (), (1,), []
# %%
types.SimpleNamespace(a=1, b="x"), ChainMap({"a": 1}, {"b": 2}), types.MappingProxyType({"k": 1})
# %%
list(range(100))
# %%
{i: chr(97 + i) * i for i in range(12)}
# %%
{"name": "A long enough value to wrap " * 2, "nested": {"list": list(range(30)), "t": (1, 2, (3, 4))}}
# %%
["a" * 30, "b" * 30, "c" * 30]
# %%
list(range(1200))
# %%
{f"key {i}" for i in range(10)}
# %%
int, str, dict, len, print, type, ValueError, list[int], int | None, types, object(), NotImplemented, Ellipsis
# %%
"a long text " * 20
# %%
[["x"] * 3] * 40
# %%
dict.fromkeys("ab").keys(), {"a": 1}.values(), {"a": 1}.items()
# %%
namedtuple("P", "x y")(1, "z" * 80)
# %%
[ValueError("x"), bytearray(b"ab"), memoryview(b"x").tolist(), 1.0, True, None]
