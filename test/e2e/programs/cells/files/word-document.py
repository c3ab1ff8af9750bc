from docx import Document
from docx.shared import Pt

doc = Document()
doc.add_heading('Quarterly review', level=1)
p = doc.add_paragraph('Revenue grew by ')
run = p.add_run('12 %')
run.bold = True
run.font.size = Pt(14)
p.add_run(' compared with last year.')
table = doc.add_table(rows=1, cols=2)
table.rows[0].cells[0].text, table.rows[0].cells[1].text = 'Item', 'Cost'
for item, cost in [('Rent', 1200), ('Paper', 35)]:
    cells = table.add_row().cells
    cells[0].text = item
    cells[1].text = str(cost)
doc.save('review.docx')
# %%
text = [para.text for para in Document('review.docx').paragraphs]
rows = [[cell.text for cell in row.cells] for table in Document('review.docx').tables for row in table.rows]
print('\n'.join(text))
rows
