"""Runs cells in IPython itself. Says for each, as JSON, what it printed, the value of it, and its error."""

import json
import os
import sys

from IPython.core.interactiveshell import InteractiveShell

sys.path[0] = ""  # as in a kernel
report = os.fdopen(os.dup(1), "w")
out = os.memfd_create("out")
os.dup2(out, 1)
shell = InteractiveShell.instance()
shell.system = shell.system_raw  # a kernel gives commands a terminal, which changes what they print
shell.showtraceback = shell.showsyntaxerror = lambda *_, **__: None
hook = type(shell.displayhook)  # values are reported, not printed
hook.write_output_prompt = hook.write_format_data = hook.finish_displayhook = lambda *_, **__: None
for cell in json.loads(sys.argv[1]):
    os.ftruncate(out, 0)
    os.lseek(out, 0, os.SEEK_SET)
    result = shell.run_cell(cell, store_history=True)
    sys.stdout.flush()
    os.lseek(out, 0, os.SEEK_SET)
    printed = os.read(out, 1_000_000).decode()
    error = result.error_before_exec or result.error_in_exec
    value = None if result.result is None else repr(result.result)
    report.write(json.dumps({"out": printed, "value": value, "error": error and type(error).__name__}) + "\n")
report.flush()
os._exit(0)
