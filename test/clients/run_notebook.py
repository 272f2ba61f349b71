#!/usr/bin/env python3
"""Runs the code cells of a notebook in one namespace, as Jupyter does, and prints a JSON list of what each prints.

    run_notebook.py NOTEBOOK [--write]

With --write the notebook's stored outputs are replaced by these.
"""

import contextlib
import io
import json
import sys

path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    notebook = json.load(file)

namespace = {"__name__": "__main__"}
printed = []
cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
for number, cell in enumerate(cells, 1):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
    text = out.getvalue()
    printed.append(text)
    cell["execution_count"] = number
    lines = text.splitlines(True)
    cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []

if "--write" in sys.argv[2:]:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(notebook, file, indent=1, ensure_ascii=False)
        file.write("\n")
print(json.dumps(printed))
