"""For `scripts/bench --only export`: pyarrow writes the same rows in a separate process."""
import json
import subprocess
from pathlib import Path

PYTHON = Path(__file__).resolve().parent.parent / "target/readers/python/bin/python3"

WRITER = """
import json, sys, time
import pyarrow, pyarrow.parquet
folder = sys.argv[1]
rows = {name: pyarrow.parquet.read_table(f"{folder}/{name}.parquet") for name in ("series", "buckets")}
schemas = {name: table.schema for name, table in rows.items()}
rows = {name: table.to_pylist() for name, table in rows.items()}
began = time.perf_counter()
for name, found in rows.items():
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(found, schemas[name]), f"{folder}/{name}-pyarrow.parquet")
print(json.dumps([time.perf_counter() - began, len(rows["series"]), len(rows["buckets"])]))
"""


def pyarrow(folder):
    """Writes the rows of a directory again from Python's own values. Returns the seconds, and the numbers of series and buckets."""
    command = [PYTHON if PYTHON.exists() else "python3", "-c", WRITER, folder]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
