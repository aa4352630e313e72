#!/usr/bin/env python3
"""TPC-H on StemDB and on DuckDB in turn: the same rows, the same queries, both warm.

    bench/tpch_duckdb.py [--scale 1] [--rounds 5] [--memory-mib 1024] [--data DIR]

StemDB (STEMDB, or target/release/stemdb) is started on a free port and filled by `stemdb bench prepare tpch`;
`stemdb export` writes its rows as Parquet, and DuckDB copies those into tables of its own in a file. Each round asks
every query of each of the two, one after the other; the first round only warms up. Prints the medians in milliseconds,
their ratios, and the geometric mean of the ratios. Answers that differ end it.

Needs the packages `duckdb` and `pymysql` (PyPI).
"""

import argparse
import decimal
import math
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb
import pymysql

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUERIES = ROOT / "crates/loadgen/src/tpch/queries"
DATABASE = "tpch"


def main():
    options = arguments()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="stemdb-duckdb-", dir=options.data))
    try:
        compare(options, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-mib", type=int, default=1024, help="StemDB's caches; DuckDB takes what it wants")
    parser.add_argument("--data", help="where the data directories are made")
    return parser.parse_args()


def compare(options, directory):
    binary = os.environ.get("STEMDB") or ROOT / "target/release/stemdb"
    with Server(binary, directory, options.memory_mib) as server:
        dsn = f"mysql://root@127.0.0.1:{server.port}/{DATABASE}"
        run(binary, "bench", "prepare", "tpch", "--dsn", dsn, "-o", f"scale={options.scale}")
        rows = directory / "parquet"
        run(binary, "export", "--format", "parquet", "--from", dsn, rows)
        duck = duckdb.connect(str(directory / "duck.db"))
        load(duck, rows)
        stem = pymysql.connect(host="127.0.0.1", port=server.port, user="root", database=DATABASE)
        cursor = stem.cursor()
        for (table,) in duck.execute("SELECT table_name FROM information_schema.tables").fetchall():
            cursor.execute(f"ANALYZE TABLE {table}")
            cursor.fetchall()
        report(measure(cursor, duck, queries(options.scale), options.rounds))


class Server:
    """StemDB on a free port, until the block ends."""

    def __init__(self, binary, directory, memory_mib):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        half = memory_mib * 1024 * 1024 // 2
        settings = directory / "stemdb.toml"
        settings.write_text(f"[storage]\nblock_cache_bytes = {half}\nrow_cache_bytes = {half}\n")
        self.command = [
            binary, "serve", "--config", settings, "--store", f"rocksdb:{directory / 'stemdb'}",
            "--listen", f"127.0.0.1:{self.port}", "--status", "off",
        ]  # fmt: skip
        self.log = open(directory / "stemdb.log", "w")

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        for _ in range(300):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"the server did not start: {pathlib.Path(self.log.name).read_text()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def load(duck, rows):
    for table in sorted(rows.glob("**/*.parquet")):
        name = table.stem.split(".")[1] if table.stem.startswith(f"{DATABASE}.") else table.stem
        name = name.split(".")[0]
        verb = "INSERT INTO" if exists(duck, name) else "CREATE TABLE"
        source = f"SELECT * FROM read_parquet('{table}')"
        duck.execute(f"{verb} {name} {'' if verb == 'INSERT INTO' else 'AS '}{source}")


def exists(duck, name):
    return duck.execute("SELECT 1 FROM information_schema.tables WHERE table_name = ?", [name]).fetchone()


def queries(scale):
    fraction = f"{0.0001 / scale:.10f}"
    return {f"q{int(file.stem)}": file.read_text().replace("{fraction}", fraction) for file in sorted(QUERIES.glob("*.sql"))}


def measure(cursor, duck, queries, rounds):
    """Milliseconds of each query, a list for each of the two."""
    times = {name: ([], []) for name in queries}
    for number in range(rounds + 1):
        for name, sql in queries.items():
            ours, stem_rows = timed(lambda: (cursor.execute(sql), cursor.fetchall())[1])
            theirs, duck_rows = timed(lambda: duck.execute(sql).fetchall())
            if number == 0:
                check(name, stem_rows, duck_rows)
                continue
            times[name][0].append(ours)
            times[name][1].append(theirs)
    return times


def timed(ask):
    start = time.perf_counter()
    rows = ask()
    return (time.perf_counter() - start) * 1000, rows


def check(name, ours, theirs):
    """Rows that agree in what they are ordered by may come in any order, and the two divide with other precision."""
    ours, theirs = (sorted(tuple(map(plain, row)) for row in rows) for rows in (ours, theirs))
    same = len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(close, a, b)) for a, b in zip(ours, theirs)
    )
    if not same:
        sys.exit(f"{name}: the answers differ: {ours[:3]} and {theirs[:3]}")


def plain(value):
    if isinstance(value, (int, float, decimal.Decimal)):
        return f"{float(value):.2f}"
    return str(value)


def close(ours, theirs):
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-4, abs_tol=0.011)
    except ValueError:
        return ours.strip() == theirs.strip()


def report(times):
    print("| query | StemDB ms | DuckDB ms | StemDB to DuckDB |\n|---|---|---|---|")
    ratios, totals = [], [0.0, 0.0]
    for name, pair in times.items():
        ours, theirs = (statistics.median(side) for side in pair)
        ratios.append(ours / theirs)
        totals = [totals[0] + ours, totals[1] + theirs]
        print(f"| {name} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |")
    print(f"| all | {totals[0]:.0f} | {totals[1]:.0f} | {totals[0] / totals[1]:.2f} |")
    print(f"| geometric mean | | | {math.exp(statistics.fmean(map(math.log, ratios))):.2f} |")


if __name__ == "__main__":
    main()
