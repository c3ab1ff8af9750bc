import pandas as pd

long = pd.DataFrame({"n": range(100_000), "square": [n * n for n in range(100_000)]})
long
