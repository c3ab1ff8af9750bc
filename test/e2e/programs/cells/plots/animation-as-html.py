import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation
from IPython.display import HTML

fig, ax = plt.subplots(figsize=(2, 2))
(line,) = ax.plot([], [])
ax.set_xlim(0, 3); ax.set_ylim(0, 3)

def update(i):
    line.set_data(range(i), range(i))
    return (line,)

anim = FuncAnimation(fig, update, frames=3)
html = HTML(anim.to_jshtml())
plt.close(fig)
html
