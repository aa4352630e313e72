#!/usr/bin/env python3
"""TPC-H's elapsed times on StemDB and on a peer, query by query, one connection each, both warm.

    bench/tpch_elapsed.py [--scale 1] [--seconds 25] [--query 1 ... | --lineitem] DSN PEER

DSN, PEER: mysql://USER[:PASSWORD]@HOST:PORT/DATABASE of servers that hold the tables (`stemdb bench prepare tpch --scale 1
--dsn ...`, then ANALYZE TABLE on both). Each query runs on one server, then on the other: ten times on StemDB and twice on the
peer if it is a short one, else three times, and not again once --seconds have passed. Prints the median of the last three
runs (of fewer than four: the least but the first) in milliseconds, the ratios, the ratio of the totals, and the geometric mean.
With --lineitem it is queries of that table alone instead, ten times on each server.

Needs the package `pymysql` (PyPI).
"""

import argparse
import math
import pathlib
import statistics
import time
import urllib.parse

import pymysql

QUERIES = pathlib.Path(__file__).resolve().parent.parent / "crates/loadgen/src/tpch/queries"
# These end soon, and most of their time here is single reads, which need some runs until the row cache has the rows.
SHORT = (2, 4, 11, 16, 17, 19, 20, 21, 22)
LINEITEM = {
    "count": "SELECT COUNT(*) FROM lineitem",
    "two groups": "SELECT l_returnflag, l_linestatus, COUNT(*), SUM(l_quantity) FROM lineitem GROUP BY l_returnflag, l_linestatus",
    "top 10": "SELECT * FROM lineitem ORDER BY l_extendedprice DESC LIMIT 10",
    "like": "SELECT COUNT(*) FROM lineitem WHERE l_comment LIKE '%special%requests%'",
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the tables: q11 depends on it")
    parser.add_argument("--seconds", type=float, default=25, help="for a query on a server")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--query", type=int, nargs="+", default=range(1, 23))
    chosen.add_argument("--lineitem", action="store_true", help="q1, q6 and other queries of this table alone")
    parser.add_argument("dsn")
    parser.add_argument("peer")
    options = parser.parse_args()
    stemdb, peer = connect(options.dsn), connect(options.peer)
    totals, ratios = [0.0, 0.0], []
    for name, text, runs, peer_runs in queries(options):
        ours = elapsed(stemdb, text, runs, options.seconds)
        theirs = elapsed(peer, text, peer_runs, options.seconds)
        totals = [totals[0] + ours, totals[1] + theirs]
        ratios.append(theirs / ours)
        print(f"{name:10} {ours:9.1f} {theirs:9.1f} {ratios[-1]:7.2f}", flush=True)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(f"{'all':10} {totals[0]:9.1f} {totals[1]:9.1f} {totals[1] / totals[0]:7.2f}\n{'geometric mean':30} {mean:7.2f}")


def queries(options):
    """Name, text, runs on StemDB, runs on the peer."""
    if options.lineitem:
        numbered = {f"q{number}": query(number, options.scale) for number in (1, 6)}
        return [(name, text, 10, 10) for name, text in {**numbered, **LINEITEM}.items()]
    return [
        (f"q{number}", query(number, options.scale), *((10, 2) if number in SHORT else (3, 3)))
        for number in options.query
    ]


def connect(dsn):
    url = urllib.parse.urlsplit(dsn)
    return pymysql.connect(
        host=url.hostname, port=url.port or 3306, user=url.username, password=url.password or "", database=url.path[1:]
    )


def query(number, scale):
    text = (QUERIES / f"{number:02}.sql").read_text().strip().rstrip(";")
    return text.replace("{fraction}", f"{0.0001 / scale:.10f}")


def elapsed(connection, text, runs, seconds):
    """Milliseconds of one run, warm."""
    times = []
    with connection.cursor() as cursor:
        while len(times) < runs and sum(times) < seconds:
            start = time.monotonic()
            cursor.execute(text)
            cursor.fetchall()
            times.append(time.monotonic() - start)
    return 1000 * (statistics.median(times[-3:]) if len(times) > 3 else min(times[1:] or times))


if __name__ == "__main__":
    main()
