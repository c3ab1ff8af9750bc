import threading

stop = threading.Event()
thread = threading.Thread(target=stop.wait)
thread.start()
# %%
x = 1
# %%
y = 2
# %%
stop.set()
thread.join()
