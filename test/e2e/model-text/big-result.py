squares = {n: n * n for n in range(5000)}
squares
