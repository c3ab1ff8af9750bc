import pandas as pd

# Build the sales data
sales = pd.DataFrame({
    "region": ["North", "South", "North", "East", "South", "East"],
    "product": ["A", "A", "B", "B", "A", "A"],
    "units": [10, 4, 7, 3, 9, 12],
    "price": [2.5, 2.5, 4.0, 4.0, 2.5, 2.5],
})
sales["revenue"] = sales["units"] * sales["price"]

with pd.ExcelWriter("report.xlsx", engine="openpyxl") as writer:
    sales.to_excel(writer, sheet_name="Data", index=False)
    sales.pivot_table(index="region", columns="product", values="revenue", aggfunc="sum", fill_value=0).to_excel(writer, sheet_name="Summary")
print("✅ Report saved to report.xlsx")
# %%
sheets = pd.read_excel("report.xlsx", sheet_name=None)
for name, frame in sheets.items():
    print(f"--- {name}: {frame.shape[0]} rows x {frame.shape[1]} columns")
sheets["Summary"]
# %%
from openpyxl import load_workbook
from openpyxl.styles import Font

wb = load_workbook("report.xlsx")
ws = wb["Data"]
for cell in ws[1]:
    cell.font = Font(bold=True, color="FF0000")
ws["G1"] = "=SUM(E2:E7)"
wb.save("report.xlsx")
[[c.value for c in row] for row in ws.iter_rows(min_row=1, max_row=3)]
