import matplotlib.pyplot as plt
import pandas as pd

cities = pd.DataFrame({
    "city": ["Oslo", "Rome", "Lisbon", "Athens"],
    "lat": [59.9, 41.9, 38.7, 38.0],
    "lon": [10.7, 12.5, -9.1, 23.7],
    "population": [0.7, 2.8, 0.5, 0.6],
})
fig, ax = plt.subplots(figsize=(6, 5))
sc = ax.scatter(cities.lon, cities.lat, s=cities.population * 200, c=cities.population, cmap="viridis", alpha=0.7)
for row in cities.itertuples():
    ax.annotate(row.city, (row.lon, row.lat), textcoords="offset points", xytext=(6, 6))
fig.colorbar(sc, label="population (millions)")
ax.set(xlabel="longitude", ylabel="latitude", title="Cities", xlim=(-15, 30), ylim=(35, 65))
ax.set_aspect(1.6)
plt.show()
# %%
from math import radians, sin, cos, asin, sqrt

def haversine(a, b):
    (la1, lo1), (la2, lo2) = (map(radians, p) for p in (a, b))
    h = sin((la2 - la1) / 2) ** 2 + cos(la1) * cos(la2) * sin((lo2 - lo1) / 2) ** 2
    return 2 * 6371 * asin(sqrt(h))

pts = list(zip(cities.lat, cities.lon))
pd.DataFrame([[round(haversine(p, q)) for q in pts] for p in pts], index=cities.city, columns=cities.city)
