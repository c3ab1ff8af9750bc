from skimage import filters, measure, morphology
import numpy as np

yy, xx = np.mgrid[:64, :64]
image = (((yy - 32) ** 2 + (xx - 20) ** 2 < 100) | ((yy - 40) ** 2 + (xx - 50) ** 2 < 60)).astype(float)
edges = filters.sobel(image)
labels = measure.label(image > 0.5)
[(int(r.label), int(r.area)) for r in measure.regionprops(labels)]
# %%
print(edges.max().round(3), morphology.disk(2))
