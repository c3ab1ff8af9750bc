%%writefile helpers.py
"""Helpers."""

def greet(name):
    return f"Hello {name}"
# %%
import helpers
helpers.greet("Ada")
# %%
%mkdir -p data
%cd -q data
%pwd
# %%
%cd ..
# %%
%ls
# %%
%cat helpers.py
# %%
%run helpers.py
greet("Bob")
# %%
%load_ext autoreload
%autoreload 2
