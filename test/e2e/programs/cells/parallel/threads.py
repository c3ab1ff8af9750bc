import threading
import queue
from concurrent.futures import ThreadPoolExecutor

jobs, done = queue.Queue(), []
lock = threading.Lock()

def worker():
    while (item := jobs.get()) is not None:
        with lock:
            done.append(item * 10)

threads = [threading.Thread(target=worker, name=f"w{i}") for i in range(3)]
for t in threads:
    t.start()
for n in range(5):
    jobs.put(n)
for _ in threads:
    jobs.put(None)
for t in threads:
    t.join()
sorted(done)
# %%
with ThreadPoolExecutor() as ex:
    print(list(ex.map(lambda s: s.upper(), ["a", "b"])))
# %%
def boom():
    raise RuntimeError("in a thread")

with ThreadPoolExecutor() as ex:
    future = ex.submit(boom)
future.exception()
