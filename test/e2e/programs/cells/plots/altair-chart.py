import altair as alt
import pandas as pd

source = pd.DataFrame({"a": list("ABC"), "b": [28, 55, 43]})
chart = alt.Chart(source).mark_bar().encode(x="a", y="b").properties(width=200)
chart
# %%
chart.to_dict()["mark"]
# %%
chart.save("chart.json")
(chart + chart.mark_text(dy=-5).encode(text="b")).display()
