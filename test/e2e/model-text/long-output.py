for n in range(300):
    print("row", n, "of 300:", "." * 180)
