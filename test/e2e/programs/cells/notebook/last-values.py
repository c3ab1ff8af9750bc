3 + 4
# %%
_ * 2
# %%
None
# %%
"text"
# %%
x = 5; x
# %%
x;
# %%
if True:
    x
# %%
1, 2
# %%
print
# %%
lambda a: a
# %%
...
# %%
x == 5
