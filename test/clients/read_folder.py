"""Reads a folder of Parquet files, and one of its files, with each library; prints rows, columns and markets, as JSON."""

import glob
import json
import os
import sys

import duckdb
import pandas
import polars
import pyarrow.dataset

[folder] = sys.argv[1:]
found = {}


def note(name, rows, columns, markets):
    found[name] = {"rows": rows, "columns": list(columns), "markets": sorted(set(markets))}


for what, place, pattern in (
    ("folder", folder, f"{folder}/**/*.parquet"),
    ("file", *[sorted(glob.glob(f"{folder}/**/*.parquet", recursive=True))[0]] * 2),
):
    frame = pandas.read_parquet(place)
    note(f"pandas, {what}", len(frame), frame.columns, frame["marketId"])
    table = pyarrow.dataset.dataset(place, partitioning="hive").to_table()
    note(f"pyarrow, {what}", table.num_rows, table.column_names, table["marketId"].to_pylist())
    frame = polars.read_parquet(place)
    note(f"polars, {what}", frame.height, frame.columns, frame["marketId"])
    source = f"read_parquet('{pattern}')"
    names = [name for name, *_ in duckdb.execute(f"describe select * from {source}").fetchall()]
    rows, markets = duckdb.execute(f"select count(*), list(distinct marketId) from {source}").fetchone()
    note(f"DuckDB, {what}", rows, names, markets)
print(json.dumps(found), flush=True)
# The libraries' threads may still be running, and would sometimes abort an interpreter that ends in the usual way.
os._exit(0)
