"""Reads a Parquet file with DuckDB; prints column types, and rows with every value as exact text, as JSON."""

import json
import sys

import duckdb

columns = duckdb.execute("describe select * from read_parquet(?)", [sys.argv[1]]).fetchall()
types = {name: kind for name, kind, *_ in columns}


def exact(name):
    # A time as text would lose its nanoseconds.
    quoted = f"\"{name}\""
    value = f"epoch_ns({quoted})" if types[name] in ("TIMESTAMP_NS", "TIMESTAMPTZ_NS") else quoted
    return f"cast({value} as varchar) as {quoted}"


rows = duckdb.execute(f"select {', '.join(map(exact, types))} from read_parquet(?)", [sys.argv[1]])
names = [column[0] for column in rows.description]
print(json.dumps({"types": types, "rows": [dict(zip(names, row)) for row in rows.fetchall()]}))
