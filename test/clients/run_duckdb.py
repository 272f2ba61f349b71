"""Runs statements with DuckDB, whose extensions for SQLite and PostgreSQL are packages; prints what each returned, as JSON.

The argument names a file with a JSON list of statements. Rows are texts and nulls; statements that are no queries return none.
"""

import glob
import json
import os
import sys

import duckdb
import duckdb_extension_postgres_scanner
import duckdb_extension_sqlite_scanner

database = duckdb.connect()
database.execute("set timezone = 'UTC'")
for package in (duckdb_extension_sqlite_scanner, duckdb_extension_postgres_scanner):
    folder = os.path.dirname(package.__file__)
    [extension] = glob.glob(f"{folder}/extensions/*/*.duckdb_extension")
    database.execute(f"load '{extension}'")
results = []
for statement in json.load(open(sys.argv[1])):
    if statement.lower().startswith(("select", "from")):
        described = database.execute(f"describe {statement}").fetchall()
        # Python would need another package for times with a zone.
        rows = database.execute(f"select cast(columns(*) as varchar) from ({statement})").fetchall()
        columns = [[name, type] for name, type, *_ in described]
    else:
        database.execute(statement)
        columns, rows = [], []
    results.append({"columns": columns, "rows": rows})
print(json.dumps(results))
# Without waiting for the threads of the library.
sys.stdout.flush()
os._exit(0)
