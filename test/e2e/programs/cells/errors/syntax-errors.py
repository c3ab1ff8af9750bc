print("before")
x = = 1
# %%
def f(:
    pass
# %%
for i in range(3)
    print(i)
# %%
if True:
print("x")
# %%
print "hello"
# %%
return 5
# %%
x = "unterminated
# %%
(1, 2
# %%
	mixed = 1
  tabs = 2
# %%
await_ = 1
break
# %%
from __future__ import nothing
# %%
f = 1
1 = f
