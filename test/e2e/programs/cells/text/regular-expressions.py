import re
from collections import Counter, defaultdict

log = """2024-05-01 ERROR disk full on /dev/sda1
2024-05-01 INFO user=ada logged in
2024-05-02 ERROR timeout after 30s
"""
pattern = re.compile(r"^(?P<day>\S+) (?P<level>[A-Z]+) (?P<rest>.*)$", re.M)
pattern
# %%
levels = Counter(m["level"] for m in pattern.finditer(log))
levels
# %%
by_day = defaultdict(list)
for m in pattern.finditer(log):
    by_day[m["day"]].append(m["rest"])
by_day
# %%
pattern.search(log)
# %%
re.compile("(unclosed")
