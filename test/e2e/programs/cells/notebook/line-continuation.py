total = 1 + \
    2
total
# %%
s = """
!not a command
%not a magic
"""
print(s)
# %%
print("50%")
y = 10 %3
y
# %%
for i in range(2):
    !echo {i}
    print(i)
# %%
value = %sx echo captured
value
# %%
    indented = 1
    indented + 1
