import random
import statistics as st

random.seed(123)

def estimate(n):
    hits = sum(random.random() ** 2 + random.random() ** 2 <= 1 for _ in range(n))
    return 4 * hits / n

runs = [estimate(2000) for _ in range(5)]
for i, r in enumerate(runs, 1):
    print(f"run {i}: {r:.4f}")
print("mean", round(st.mean(runs), 4), "stdev", round(st.stdev(runs), 4))
