def share(part, whole):
    return part / whole


def report(rows):
    for name, part, whole in rows:
        print(name, share(part, whole))


rows = [("north", 1, 4), ("south", 3, 0)]
report(rows)
