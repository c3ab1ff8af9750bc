import plotly.express as px
import plotly.graph_objects as go
import pandas as pd

df = pd.DataFrame({"year": [2020, 2021, 2022], "sales": [3, 5, 4]})
fig = px.line(df, x="year", y="sales", title="Sales", markers=True)
fig.show()
# %%
go.Figure(go.Bar(x=["a", "b"], y=[1, 2]))
# %%
fig.update_layout(template="plotly_white")
fig.write_html("sales.html", include_plotlyjs="cdn")
len(open("sales.html").read()) > 1000
