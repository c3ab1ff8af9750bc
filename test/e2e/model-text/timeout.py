# options: {"limits": {"timeoutMs": 3000}}
import time

total = 1
print("starting")
time.sleep(60)
# %%
total
