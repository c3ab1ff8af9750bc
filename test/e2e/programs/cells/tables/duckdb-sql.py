import duckdb
import pandas as pd

orders = pd.DataFrame({"id": [1, 2, 3, 4], "customer": ["a", "b", "a", "c"], "total": [20.0, 35.5, 12.0, 8.0]})
duckdb.sql("SELECT customer, count(*) AS n, sum(total) AS revenue FROM orders GROUP BY customer ORDER BY customer")
# %%
con = duckdb.connect()
con.execute("CREATE TABLE t AS SELECT range AS i, range * range AS sq FROM range(5)")
con.execute("SELECT * FROM t WHERE i > ?", [2]).fetchall()
# %%
df = con.execute("SELECT avg(sq) AS mean_sq, max(i) AS top FROM t").df()
print(df)
# %%
con.execute("SELECT wrong FROM t")
