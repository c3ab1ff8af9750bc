import warnings
warnings.warn("first warning")
print("after")
# %%
def old():
    warnings.warn("old() is deprecated", DeprecationWarning, stacklevel=2)
    return 1
old()
# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("recorded")
[str(w.message) for w in caught]
# %%
import logging
logging.warning("root warning %s", 1)
logging.info("not shown")
# %%
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", force=True)
log = logging.getLogger("app")
log.info("started")
try:
    1 / 0
except ZeroDivisionError:
    log.error("failed")
# %%
import sys
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(message)s"))
log.addHandler(handler)
log.propagate = False
log.info("to stdout")
# %%
warnings.filterwarnings("ignore")
warnings.warn("ignored")
# %%
import numpy as np
np.float64(1) / 0
