import sys
print("before")
sys.exit(0)
# %%
sys.exit("stopped with a message")
# %%
sys.exit(3)
# %%
name = input("Your name? ")
# %%
print("still here")
raise SystemExit
# %%
exit()
