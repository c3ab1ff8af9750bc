import yaml
from jinja2 import Template, UndefinedError, StrictUndefined

config = yaml.safe_load("""
service:
  name: api
  replicas: 3
  ports: [80, 443]
tags: {env: prod, tier: front}
""")
config
# %%
template = Template("""{% for port in service.ports -%}
{{ service.name }}:{{ port }}{{ "," if not loop.last }}
{% endfor %}""")
print(template.render(**config))
print(yaml.dump(config, sort_keys=True))
# %%
Template("{{ missing.name }}", undefined=StrictUndefined).render()
