import xlsxwriter
import os

workbook = xlsxwriter.Workbook('chart.xlsx')
worksheet = workbook.add_worksheet('Numbers')
bold = workbook.add_format({'bold': 1, 'bg_color': '#DDEBF7'})
worksheet.write_row('A1', ['Month', 'Sales'], bold)
data = [('Jan', 120), ('Feb', 98), ('Mar', 143)]
for row, (month, value) in enumerate(data, start=1):
    worksheet.write(row, 0, month)
    worksheet.write(row, 1, value)
chart = workbook.add_chart({'type': 'column'})
chart.add_series({'categories': '=Numbers!$A$2:$A$4', 'values': '=Numbers!$B$2:$B$4', 'name': 'Sales'})
worksheet.insert_chart('D2', chart)
workbook.close()
print(os.path.exists('chart.xlsx'), os.path.getsize('chart.xlsx') > 3000)
# %%
import openpyxl
book = openpyxl.load_workbook('chart.xlsx')
book.sheetnames, book['Numbers'].dimensions
# %%
book['Missing']
