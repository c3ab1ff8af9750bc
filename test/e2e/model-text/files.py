import json
import os

os.makedirs("out", exist_ok=True)
with open("out/summary.json", "w") as file:
    json.dump({"rows": 3}, file)
with open("notes.txt", "w") as file:
    file.write("three rows\n")
os.listdir("out")
# %%
with open("notes.txt", "a") as file:
    print("checked", file=file)
