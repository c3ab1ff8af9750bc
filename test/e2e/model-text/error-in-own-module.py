with open("cleaning.py", "w") as file:
    file.write("import json\n\n\ndef load(text):\n    return json.loads(text)\n")
# %%
import cleaning

cleaning.load("{'rows': 3}")
