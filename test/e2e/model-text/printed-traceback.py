import json
import logging
import traceback

try:
    json.loads("{")
except ValueError:
    traceback.print_exc()
try:
    json.loads("[")
except ValueError:
    print(traceback.format_exc())
try:
    json.loads("]")
except ValueError:
    logging.exception("could not parse")
