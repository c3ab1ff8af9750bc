import random
import statistics

primes = [n for n in range(2, 50) if all(n % d for d in range(2, n))]
print(sum(p * p for p in primes))

random.seed(42)
numbers = [random.randint(1, 100) for _ in range(20)]
print(statistics.mean(numbers), statistics.median(numbers), round(statistics.stdev(numbers), 2))
