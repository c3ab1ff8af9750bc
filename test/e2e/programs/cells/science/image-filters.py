import numpy as np
from PIL import Image, ImageDraw, ImageFilter

img = Image.new("RGB", (120, 80), "white")
draw = ImageDraw.Draw(img)
draw.ellipse((20, 10, 80, 70), fill=(200, 30, 30))
draw.text((5, 5), "Hello")
img
# %%
gray = img.convert("L").filter(ImageFilter.GaussianBlur(2))
arr = np.asarray(gray)
print(arr.shape, arr.dtype, int(arr.min()), int(arr.max()))
gray.save("gray.png")
Image.open("gray.png").size
# %%
display(img.resize((60, 40)))
Image.open("none.png")
