%%capture out
print("hidden")
import sys
print("err", file=sys.stderr)
display("shown")
# %%
out.stdout, out.stderr, len(out.outputs)
# %%
%env GREETING=hello there
# %%
%env GREETING
# %%
import os
a, b, s = 1, 2.5, "text"
os.environ["GREETING"]
# %%
%who
# %%
%whos
# %%
%who_ls int float
# %%
out.show()
