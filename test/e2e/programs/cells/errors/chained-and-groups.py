class ConfigError(Exception):
    """Raised for a bad configuration."""

def load(path):
    try:
        return open(path).read()
    except FileNotFoundError as e:
        raise ConfigError(f"no configuration at {path}") from e

load("settings.ini")
# %%
try:
    {}["k"]
except KeyError:
    raise ValueError("while handling")
# %%
raise ExceptionGroup("several", [ValueError("a"), TypeError("b")])
# %%
try:
    raise ExceptionGroup("g", [ValueError(1), OSError(2)])
except* ValueError as group:
    print("values:", group.exceptions)
except* OSError as group:
    print("os:", group.exceptions)
# %%
e = ValueError("noted")
e.add_note("look here")
raise e
# %%
class Silent(Exception):
    def __str__(self):
        return ""
raise Silent("x")
# %%
raise SystemError
# %%
import traceback
try:
    load("again.ini")
except ConfigError:
    print(traceback.format_exc().splitlines()[-1])
# %%
ConfigError("x"), ConfigError
