# The program's function is called by a library: its frame stays between two folded ones.
import pandas as pd

df = pd.DataFrame({"price": ["1", "two", "3"]})


def parse(text):
    return float(text)


df["price"].apply(parse)
