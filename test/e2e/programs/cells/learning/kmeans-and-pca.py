import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

points, _ = make_blobs(n_samples=90, n_features=4, centers=3, random_state=7)
km = KMeans(n_clusters=3, n_init=5, random_state=7)
labels = km.fit_predict(points)
xy = PCA(n_components=2).fit_transform(points)
fig, ax = plt.subplots(figsize=(5, 4))
scatter = ax.scatter(xy[:, 0], xy[:, 1], c=labels)
ax.legend(*scatter.legend_elements(), title="cluster")
ax.set_title("Clusters in two dimensions")
plt.show()
sorted(map(int, __import__("numpy").bincount(labels)))
