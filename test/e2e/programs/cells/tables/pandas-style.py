import pandas as pd

df = pd.DataFrame({"team": ["Red", "Blue", "Green"], "points": [12, 30, 21], "share": [0.19, 0.476, 0.333]})
styled = (
    df.style.format({"share": "{:.1%}"})
    .background_gradient(subset=["points"], cmap="Blues")
    .highlight_max(subset=["share"], color="lightgreen")
    .set_caption("Standings")
)
styled
# %%
print(df.to_markdown(index=False))
# %%
print(df.to_latex(index=False, float_format="%.2f"))
html = df.to_html(classes="table", border=0)
print(html[:60])
# %%
print(df.to_string(index=False))
print(df.to_markdown(tablefmt="github"))
