answer = 42
# %%
import ctypes

print("going down", flush=True)
answer = 43
ctypes.string_at(0)
# %%
answer
