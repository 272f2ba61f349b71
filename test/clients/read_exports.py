"""Reads exports by their address with polars, pandas and pyarrow; prints what each found, as JSON."""

import io
import json
import os
import sys
import urllib.request

import pandas
import polars
import pyarrow.parquet

base, resource, amount, time = sys.argv[1:]
address = f"{base}/api/v2/export/{resource}"
found = {}


def note(name, rows, total, last):
    found[name] = {"rows": rows, "total": str(total), "last": int(last)}


def note_polars(name, frame):
    frame = frame.with_columns(polars.col(amount).cast(polars.Decimal(38, 0)), polars.col(time).cast(polars.Int64))
    note(name, frame.height, frame[amount].sum(), frame[time].max())


note_polars("polars.read_parquet", polars.read_parquet(f"{address}.parquet"))
note_polars("polars.read_parquet with format=", polars.read_parquet(f"{address}?format=parquet"))
note_polars(
    "polars.scan_parquet",
    polars.scan_parquet(f"{address}.parquet").select(amount, time).collect(),
)
note_polars(
    "polars.scan_parquet, the first rows last",
    polars.scan_parquet(f"{address}.parquet").sort(time).collect(),
)
note_polars("polars.read_csv", polars.read_csv(f"{address}.csv", infer_schema_length=None))
note_polars("polars.read_ndjson", polars.read_ndjson(f"{address}.ndjson"))

frame = pandas.read_parquet(f"{address}.parquet", dtype_backend="pyarrow")
note("pandas.read_parquet", len(frame), frame[amount].sum(), frame[time].max().value)
frame = pandas.read_csv(f"{address}.csv")
note("pandas.read_csv", len(frame), frame[amount].sum(), frame[time].max())
frame = pandas.read_json(f"{address}.ndjson", lines=True, dtype=False, convert_dates=False)
note("pandas.read_json", len(frame), frame[amount].map(int).sum(), frame[time].map(int).max())
frame = pandas.read_csv(f"{address}.csv?times=iso", parse_dates=[time])
note("pandas.read_csv with dates", len(frame), frame[amount].sum(), frame[time].dt.as_unit("ns").max().value)

with urllib.request.urlopen(f"{address}.parquet") as answer:
    table = pyarrow.parquet.read_table(io.BytesIO(answer.read()))
types = {name: str(table.schema.field(name).type) for name in (amount, time)}
note("pyarrow", table.num_rows, sum(table[amount].to_pylist()), max(value.value for value in table[time]))
with urllib.request.urlopen(f"{address}.parquet?times=micros&numbers=text") as answer:
    other = pyarrow.parquet.read_table(io.BytesIO(answer.read()))
types["micros"] = str(other.schema.field(time).type)
types["text"] = str(other.schema.field(amount).type)
with urllib.request.urlopen(f"{address}.parquet?times=local") as answer:
    types["local"] = str(pyarrow.parquet.read_table(io.BytesIO(answer.read())).schema.field(time).type)

print(json.dumps({"found": found, "types": types}), flush=True)
# The libraries' threads may still be running, and would sometimes abort an interpreter that ends in the usual way.
os._exit(0)
