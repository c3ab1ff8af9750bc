from rapidfuzz import fuzz, process

names = ["Jon Smith", "John Smyth", "Jane Doe", "Smith, John"]
process.extract("John Smith", names, scorer=fuzz.token_sort_ratio, limit=2)
# %%
import difflib
difflib.get_close_matches("appel", ["ape", "apple", "peach"])
# %%
print("\n".join(difflib.unified_diff("a\nb\nc".split(), "a\nB\nc".split(), lineterm="")))
