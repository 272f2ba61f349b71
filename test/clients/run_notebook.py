#!/usr/bin/env python3
"""Runs the code cells of a notebook in one namespace, as Jupyter does. Prints a JSON list with the text and the
number of pictures that each cell shows.

    run_notebook.py NOTEBOOK [--write]

--write replaces the notebook's stored outputs.
"""

import base64
import contextlib
import io
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

pictures = []


def show():
    """Collects the drawn figures, which Jupyter would show."""
    for number in plt.get_fignums():
        png = io.BytesIO()
        plt.figure(number).savefig(png, format="png", dpi=72, bbox_inches="tight", metadata={"Software": None})
        pictures.append(base64.b64encode(png.getvalue()).decode())
    plt.close("all")


plt.show = show

path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    notebook = json.load(file)

namespace = {"__name__": "__main__"}
shown = []
cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
for number, cell in enumerate(cells, 1):
    out = io.StringIO()
    pictures.clear()
    with contextlib.redirect_stdout(out):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
    text = out.getvalue()
    shown.append({"text": text, "pictures": len(pictures)})
    cell["execution_count"] = number
    lines = text.splitlines(True)
    cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    cell["outputs"] += [
        {"data": {"image/png": picture}, "metadata": {}, "output_type": "display_data"} for picture in pictures
    ]

if "--write" in sys.argv[2:]:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(notebook, file, indent=1, ensure_ascii=False)
        file.write("\n")
print(json.dumps(shown))
