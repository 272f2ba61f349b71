"""Asks a hostile server in every way. Arguments: address, and the names of its paths, each with a kind of request.

Prints the error of each, and the memory that Python's objects took at most, in MiB.
"""

import json
import sys
import tempfile
import tracemalloc
from pathlib import Path

from lyra_client import Client, LyraError

base, *paths = sys.argv[1:]


REQUESTS = {
    "page": lambda lyra: lyra.checkpoints_page(),
    "report": lambda lyra: lyra.coverage(),
    "stream": lambda lyra: next(lyra.follow("checkpoints")),
    "rows": lambda lyra: list(lyra.export_rows("checkpoints")),
    "walk": lambda lyra: list(lyra.checkpoints()),
    "export": lambda lyra: export(lyra),
}


def export(lyra: Client) -> None:
    """Of an export that fails nothing is left."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            lyra.export("checkpoints", Path(folder) / "rows.csv")
        finally:
            assert list(Path(folder).iterdir()) == []


tracemalloc.start()
found = {}
for path in paths:
    kind = path.split("/")[0]
    with Client(f"{base}/{path}", retries=1, longest_wait=0.01, timeout=2, max_bytes=1024 * 1024) as lyra:
        try:
            REQUESTS[kind](lyra)
            found[path] = "no error"
        except LyraError as error:
            found[path] = f"{type(error).__name__}: {str(error)[:300]}"
print(json.dumps({"errors": found, "memory": tracemalloc.get_traced_memory()[1] / 2**20}))
