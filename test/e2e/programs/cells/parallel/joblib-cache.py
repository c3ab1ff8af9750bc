from joblib import Memory, Parallel, delayed

Parallel(n_jobs=2)(delayed(pow)(n, 2) for n in range(4))
# %%
memory = Memory("cache", verbose=0)

@memory.cache
def slow_double(n):
    print("computing", n)
    return n * 2

slow_double(4), slow_double(4)
