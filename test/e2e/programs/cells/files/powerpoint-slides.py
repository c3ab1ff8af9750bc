from pptx import Presentation
from pptx.util import Inches

prs = Presentation()
slide = prs.slides.add_slide(prs.slide_layouts[1])
slide.shapes.title.text = "Project status"
body = slide.placeholders[1].text_frame
body.text = "On track"
for point in ("Budget: 80 % used", "Next: user tests"):
    para = body.add_paragraph()
    para.text = point
    para.level = 1
prs.save("status.pptx")

for i, s in enumerate(Presentation("status.pptx").slides, 1):
    for shape in s.shapes:
        if shape.has_text_frame:
            print(i, shape.name, repr(shape.text_frame.text))
