ip = get_ipython()
ip.run_line_magic("who_ls", "")
# %%
ip.run_cell_magic("bash", "", "echo from bash")
# %%
ip.system("echo system")
ip.getoutput("printf 'a\nb'")
# %%
"IPython" in str(type(ip)) or type(ip).__name__
# %%
ip.user_ns["made"] = 7
made
# %%
if 'ipykernel' in str(ip) or ip is not None:
    print("in a notebook")
ip.run_cell("made + 1").result
# %%
ip.ev("made * 2")
# %%
from IPython import get_ipython as gi
gi() is ip
# %%
from IPython.core.magic import register_line_magic

@register_line_magic
def shout(line):
    return line.upper()

%shout hello
