class ConfigError(Exception):
    pass


def setting(name):
    try:
        return {"host": "a"}[name]
    except KeyError as error:
        raise ConfigError(f"no setting {name}") from error


try:
    setting("port")
except ConfigError:
    int("none")
