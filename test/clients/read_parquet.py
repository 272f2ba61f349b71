"""Reads a Parquet file by DuckDB: types of its columns, and rows with every value as exact text, as JSON."""

import json
import sys

import duckdb

columns = duckdb.execute("describe select * from read_parquet(?)", [sys.argv[1]]).fetchall()
types = {name: kind for name, kind, *_ in columns}


def exact(name):
    # A time as text would not show what lies beyond microseconds.
    value = f"epoch_ns({name})" if types[name] == "TIMESTAMP_NS" else name
    return f"cast({value} as varchar) as {name}"


rows = duckdb.execute(f"select {', '.join(map(exact, types))} from read_parquet(?)", [sys.argv[1]])
names = [column[0] for column in rows.description]
print(json.dumps({"types": types, "rows": [dict(zip(names, row)) for row in rows.fetchall()]}))
