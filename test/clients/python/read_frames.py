"""Reads exports as files and frames, and compares them with rows. Argument: address. Prints what the frames have, as JSON."""

import csv
import json
import os
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

from lyra_client import Client

RESOURCE = "funding_payments"

lyra = Client(sys.argv[1])
rows = [row.node for row in lyra.export_rows(RESOURCE)]
expected = {
    "rows": len(rows),
    "total": str(sum(Decimal(row["amount"]) for row in rows)),
    "last": max(int(row["timestamp"]) for row in rows),
}
frame = lyra.to_pandas(RESOURCE)
in_pandas = {
    "rows": len(frame),
    "total": str(sum(frame.amount)),
    "last": frame.timestamp.max().value,
}
table = lyra.to_polars(RESOURCE)
in_polars = {
    "rows": table.height,
    "total": str(table["amount"].sum()),
    "last": table["timestamp"].cast(int).max(),
}
types = {
    "pandas": [str(frame.dtypes[name]) for name in ("amount", "timestamp")],
    "polars": [str(table.schema[name]) for name in ("amount", "timestamp")],
    "text": str(lyra.to_polars(RESOURCE, numbers="text").schema["amount"]),
}
one = rows[0]["marketId"]
assert lyra.to_polars(RESOURCE, market_id=one).height == sum(row["marketId"] == one for row in rows)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "payments.csv"
    height = lyra.export(RESOURCE, file)
    with file.open(newline="") as opened:
        assert [row["amount"] for row in csv.DictReader(opened)] == [row["amount"] for row in rows]
    lyra.export(RESOURCE, file.with_suffix(".txt"), format="ndjson", newest_first=True)
    lines = [json.loads(line) for line in file.with_suffix(".txt").read_text().splitlines()]
    assert [line["timestamp"] for line in lines] == [row["timestamp"] for row in rows[::-1]]
    assert sorted(path.name for path in Path(folder).iterdir()) == ["payments.csv", "payments.txt"]
found = {"expected": expected, "pandas": in_pandas, "polars": in_polars, "types": types, "height": height}
print(json.dumps(found), flush=True)
# The libraries' threads may still be running, and would sometimes abort an interpreter that ends in the usual way.
os._exit(0)
