import pandas as pd

wide = pd.DataFrame({f"column_{n}": range(n, n + 4) for n in range(40)})
wide
