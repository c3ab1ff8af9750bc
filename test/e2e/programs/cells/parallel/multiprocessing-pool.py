from multiprocessing import Pool, cpu_count

def square(n):
    return n * n

if __name__ == "__main__":
    with Pool(2) as pool:
        result = pool.map(square, range(6))
    print(result)
# %%
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
import os

def work(n):
    return n, os.getpid() != os.getppid()

with ProcessPoolExecutor(max_workers=2) as ex:
    results = sorted(f.result() for f in as_completed([ex.submit(work, n) for n in range(3)]))
results
# %%
def fails(n):
    raise ValueError(f"cannot do {n}")

with Pool(1) as pool:
    pool.map(fails, [7])
# %%
from multiprocessing import Process, Queue

def put(q):
    q.put("from child")

q = Queue()
p = Process(target=put, args=(q,))
p.start()
p.join()
print(q.get())
p.exitcode
