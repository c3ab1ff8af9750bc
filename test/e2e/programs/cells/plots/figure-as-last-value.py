import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(3, 2))
ax.plot([1, 4, 9])
fig
# %%
ax.set_title("Changed later")
fig
# %%
ax.set_xlabel("x")
# %%
def make():
    f, a = plt.subplots()
    a.plot([1, 2])
    return f

make()
# %%
f = make()
plt.close(f)
# %%
for i in range(3):
    plt.figure()
    plt.plot([i, i + 1])
