import csv, io, json
import xml.etree.ElementTree as ET

raw = """id;name;amount
1;Müller;12,50
2;O'Neil;7,00
3;"Smith; Sons";100,25
"""
rows = list(csv.DictReader(io.StringIO(raw), delimiter=';'))
for r in rows:
    r['amount'] = float(r['amount'].replace(',', '.'))
print(json.dumps(rows, indent=2, ensure_ascii=False))
# %%
root = ET.Element('customers')
for r in rows:
    e = ET.SubElement(root, 'customer', id=r['id'])
    ET.SubElement(e, 'name').text = r['name']
ET.indent(root)
xml = ET.tostring(root, encoding='unicode')
print(xml)
[c.find('name').text for c in ET.fromstring(xml).iter('customer')]
