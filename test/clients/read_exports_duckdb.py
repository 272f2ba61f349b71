"""Reads exports by their address with DuckDB, whose extension for that is a package; prints what it found, as JSON."""

import glob
import json
import os
import sys

import duckdb
import duckdb_extension_httpfs

base, resource, amount, time = sys.argv[1:]
address = f"{base}/api/v2/export/{resource}"
folder = os.path.dirname(duckdb_extension_httpfs.__file__)
[extension] = glob.glob(f"{folder}/extensions/*/httpfs.duckdb_extension")
database = duckdb.connect()
database.execute(f"load '{extension}'")
found = {}
for source, last in {
    f"'{address}.parquet'": f'epoch_ns("{time}")',
    f"read_parquet('{address}?format=parquet&times=local')": f'epoch_ns("{time}")',
    f"'{address}.csv'": f'"{time}"',
    f"read_json('{address}.ndjson')": f'cast("{time}" as bigint)',
}.items():
    query = f'select count(*), cast(sum(cast("{amount}" as decimal(38, 0))) as varchar), max({last}) from {source}'
    rows, total, newest = database.execute(query).fetchone()
    found[source.replace(base, "")] = {"rows": rows, "total": total, "last": newest}
print(json.dumps(found))
