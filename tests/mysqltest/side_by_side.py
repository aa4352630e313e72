"""Runs random cases on MySQL and on StemDB and prints those that differ. What alter_table.py and writes.py have in common.

Both servers are at 127.0.0.1 and have a user `root` without a password. Needs PyMySQL.
"""

import argparse
import random

import pymysql

# What StemDB refuses by name is not compared.
NOT_SUPPORTED = 1235
# Types that have neither a literal as default nor a whole key.
LARGE = ("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "TINYBLOB", "BLOB", "LONGBLOB", "JSON")


def is_large(kind):
    return kind.split("(")[0].split()[0] in LARGE


def answer(cursor, statement):
    """The rows, the number of rows and the id; or the error."""
    try:
        count = cursor.execute(statement)
        return "ok", cursor.fetchall(), count, cursor.lastrowid
    except pymysql.err.MySQLError as error:
        return ("error", *error.args)
    except (UnicodeDecodeError, ValueError) as error:
        return ("client", str(error))


def connect(port, database, settings):
    cursor = pymysql.connect(host="127.0.0.1", port=port, user="root", charset="utf8mb4", autocommit=True).cursor()
    for statement in [f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}", f"USE {database}", f"SET {settings}"]:
        cursor.execute(statement)
    return cursor


def compare(description, database, settings, make_case):
    """`make_case(rng, number)` returns the statements that make a case, and a function that runs it on a cursor and returns
    pairs of a statement and its answer."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--mysql", type=int, required=True, metavar="PORT")
    parser.add_argument("--stemdb", type=int, required=True, metavar="PORT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    mysql, stemdb = connect(args.mysql, database, settings), connect(args.stemdb, database, settings)
    rng = random.Random(args.seed)
    different = 0
    for number in range(args.count):
        statements, run = make_case(rng, number)
        wanted, found = run(mysql), run(stemdb)
        if wanted == found or any(one[:2] == ("error", NOT_SUPPORTED) for _, one in found):
            continue
        different += 1
        print(f"# case {number}")
        for at, (statement, one) in enumerate(wanted):
            other = found[at][1] if at < len(found) else None
            if statement in statements or one != other:
                print(f"{statement};")
            if one != other:
                print(f"  M {one}\n  S {other}")
    print(f"{args.count} cases, {different} differ")
