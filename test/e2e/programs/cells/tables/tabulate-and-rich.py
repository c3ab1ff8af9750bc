from tabulate import tabulate

rows = [["Sun", 696000, 1989100000], ["Earth", 6371, 5973.6], ["Moon", 1737, 73.5]]
print(tabulate(rows, headers=["Planet", "R (km)", "mass (x 10^29 kg)"], tablefmt="grid"))
# %%
from rich.console import Console
from rich.table import Table

table = Table(title="Star Wars Movies")
table.add_column("Released", style="cyan", no_wrap=True)
table.add_column("Title", style="magenta")
table.add_row("Dec 20, 2019", "The Rise of Skywalker")
table.add_row("May 25, 2018", "Solo")
console = Console(width=60, force_jupyter=False)
console.print(table)
# %%
from rich import print as rprint
rprint({"name": "Ada", "langs": ["en", "fr"]})
# %%
from rich.pretty import pprint
pprint({"a": [1, 2, 3]})
