# options: {"limits": {"memoryMb": 256}}
import numpy as np

rows = []
while True:
    rows.append(np.ones(4_000_000))
