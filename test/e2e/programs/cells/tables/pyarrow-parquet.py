import pyarrow as pa
import pyarrow.parquet as pq
import pandas as pd

table = pa.table({"id": [1, 2, 3], "tags": [["a"], [], ["b", "c"]], "when": pd.to_datetime(["2024-01-01", "2024-02-01", None])})
pq.write_table(table, "events.parquet", compression="zstd")
table.schema
# %%
back = pq.read_table("events.parquet", columns=["id", "tags"])
print(back.to_pylist())
back
# %%
meta = pq.ParquetFile("events.parquet").metadata
meta.num_rows, meta.num_columns, meta.row_group(0).column(0).compression
# %%
pd.read_parquet("events.parquet").dtypes
