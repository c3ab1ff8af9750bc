from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

c = canvas.Canvas("invoice.pdf", pagesize=A4)
c.setFont("Helvetica", 12)
for i, line in enumerate(["Invoice 2024-17", "Tea       3.00", "Coffee    4.50", "Total     7.50"]):
    c.drawString(72, 780 - 18 * i, line)
c.showPage()
c.drawString(72, 780, "Thank you")
c.save()
# %%
from pypdf import PdfReader
reader = PdfReader("invoice.pdf")
print(f"{len(reader.pages)} pages")
for page in reader.pages:
    print(page.extract_text())
# %%
import pdfplumber, re
with pdfplumber.open("invoice.pdf") as pdf:
    words = pdf.pages[0].extract_words()
    text = pdf.pages[0].extract_text()
totals = re.findall(r"(\w+)\s+(\d+\.\d\d)", text)
totals
# %%
sum(float(x) for _, x in totals[:-1]) == float(totals[-1][1])
