import polars as pl

df = pl.DataFrame({"name": ["Ada", "Bob", "Cy", "Dee"], "dept": ["x", "y", "x", "y"], "pay": [10.5, 8.0, None, 12.25]})
out = (
    df.lazy()
    .with_columns(pl.col("pay").fill_null(pl.col("pay").mean()).alias("filled"))
    .group_by("dept")
    .agg(pl.len().alias("n"), pl.col("filled").sum().round(2))
    .sort("dept")
    .collect()
)
print(out)
# %%
df
# %%
df.filter(pl.col("pay") > 9).select("name").to_series().to_list()
# %%
df.select(pl.col("nope"))
