print("Grüße, 世界, 👩‍🔬, naïve, ½ ≤ π")
print("\x1b[1;31mred\x1b[0m and \u202ereversed")
names = {"größe": "élan", "名前": "値"}
names
