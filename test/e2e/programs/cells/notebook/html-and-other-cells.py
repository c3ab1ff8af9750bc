%%html
<h1>Hello</h1>
# %%
%%markdown
**bold**
# %%
%%latex
$$e^{i\pi} = -1$$
# %%
%%javascript
console.log(1)
# %%
%%svg
<svg xmlns="http://www.w3.org/2000/svg"></svg>
# %%
%%python
import sys
print("another python", sys.version_info.major)
# %%
%matplotlib inline
%config InlineBackend.figure_format = 'retina'
# %%
%lsmagic_does_not_exist
