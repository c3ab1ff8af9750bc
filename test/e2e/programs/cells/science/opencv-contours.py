import cv2
import numpy as np

canvas = np.zeros((100, 100), dtype=np.uint8)
cv2.rectangle(canvas, (10, 10), (40, 40), 255, -1)
cv2.circle(canvas, (70, 70), 15, 255, -1)
contours, _ = cv2.findContours(canvas, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
print(len(contours), sorted(int(cv2.contourArea(c)) for c in contours))
ok = cv2.imwrite("canvas.png", canvas)
ok, cv2.imread("canvas.png").shape
# %%
import matplotlib.pyplot as plt
plt.imshow(canvas, cmap="gray")
plt.axis("off")
# %%
cv2.setLogLevel(0)
cv2.imread("nothing.png") is None
# %%
cv2.cvtColor(None, cv2.COLOR_BGR2GRAY)
