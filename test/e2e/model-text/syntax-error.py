total = 0
for n in range(3)
    total += n
