from IPython.display import HTML, JSON, SVG, Image, Latex, Markdown, Math, display

display(HTML("<b>bold</b>"))
display(Markdown("# Title\n- item"), Latex(r"$x^2$"))
display(JSON({"a": [1, 2]}))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><circle r="5"/></svg>'))
Math(r"\frac{1}{2}")
# %%
display(1, "two", [3.0])
display({"text/plain": "raw", "text/html": "<i>raw</i>"}, raw=True)
# %%
HTML("<table><tr><td>1</td></tr></table>")
# %%
from PIL import Image as PILImage
PILImage.new("L", (4, 4)).save("dot.png")
Image("dot.png")
# %%
Image(filename="none.png")
# %%
class Money:
    def __init__(self, n): self.n = n
    def __repr__(self): return f"Money({self.n})"
    def _repr_html_(self): return f"<b>${self.n}</b>"

Money(5)
# %%
[Money(1), Money(2)]
# %%
handle = display("working", display_id=True)
handle.update("done")
# %%
from IPython.display import clear_output
print("before")
clear_output()
print("after")
