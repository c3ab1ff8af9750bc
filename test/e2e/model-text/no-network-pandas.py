import pandas as pd

prices = pd.read_csv("https://example.com/prices.csv")
