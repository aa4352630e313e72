"""Runs the test suite of a framework, from its own source package: suite.py sqlalchemy|django.

known/NAME.txt lists the tests that are known to fail, and how many have to pass at least. A test that fails and
is not listed, and a listed one that does not fail, are failures of this check.
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
OUT = Path(os.environ["OUT"])
SERVER = {"host": os.environ["STEMDB_HOST"], "port": int(os.environ["STEMDB_PORT"]), "user": "root"}
WORKERS = "2"

DJANGO_APPLICATIONS = """
    backends constraints schema introspection inspectdb transactions transaction_hooks select_for_update
    get_or_create indexes delete_regress update bulk_create datatypes db_functions
""".split()


def source(name):
    """The directory of a source package."""
    (found,) = (OUT / "sources").glob(f"{name}-*")
    return found


def execute(statements):
    with pymysql.connect(**SERVER) as connection:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()


def drop_databases():
    """Drops what an earlier run left, and this one."""
    names = [row[0] for row in execute(["SHOW DATABASES"])]
    ours = re.compile(r"(test_)?suite_(sqlalchemy|django).*|test_[0-9a-f]{12}(_test_schema.*)?|test_schema(_2)?")
    execute(["SELECT 1"] + [f"DROP DATABASE `{name}`" for name in names if ours.fullmatch(name)])


def run_sqlalchemy():
    """The dialect suite and the tests of MySQL's dialect."""
    names = ["suite_sqlalchemy", "test_schema", "test_schema_2"]
    execute([f"CREATE DATABASE {name} CHARACTER SET utf8mb4" for name in names])
    results = OUT / "sqlalchemy.xml"
    results.unlink(missing_ok=True)
    url = "mysql+pymysql://root@{host}:{port}/suite_sqlalchemy?charset=utf8mb4".format(**SERVER)
    arguments = ["-s", "-B", "-m", "pytest", "-q", "-p", "no:logging", "-p", "no:cacheprovider", "-n", WORKERS]
    arguments += ["test/dialect/test_suite.py", "test/dialect/mysql", "--dburi", url, "--dropfirst"]
    said = call(arguments + [f"--junitxml={results}"], source("sqlalchemy"))
    if not results.exists():
        return None, said
    passed, failed = 0, []
    for case in xml.parse(results).iter("testcase"):
        # The class has the server's version in its name, SuiteTest_mysql+pymysql_8_0_33.
        test = re.sub(r"_mysql\+pymysql_[0-9_]*", "", "{classname}.{name}".format(**case.attrib))
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.append(test)
        elif "skipped" not in kinds:
            passed += 1
    return (passed, failed), said


def run_django():
    """Tests of what Django does with a database: its back end, schema changes, introspection, locks, functions."""
    results = OUT / "django.json"
    results.unlink(missing_ok=True)
    arguments = ["-s", "-B", "runtests.py", "--settings=django_settings", "--noinput", "--parallel", WORKERS]
    said = call(arguments + DJANGO_APPLICATIONS, source("django") / "tests", SUITE_RESULTS=str(results))
    if not results.exists():
        return None, said
    found = json.loads(results.read_text())
    return (found["passed"], found["failed"]), said


def call(arguments, directory, **environment):
    """Runs Python, and returns what it said."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        # SQLAlchemy's suite takes any member of a set of isolation levels.
        env={**os.environ, "PYTHONPATH": str(HERE), "PYTHONHASHSEED": "0", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    (OUT / "said.txt").write_text(done.stdout)
    return done.stdout


def known(name):
    """From known/NAME.txt: the tests that fail on this server, each with the reason, and how many pass."""
    server = "stemdb" if "StemDB" in execute(["SELECT VERSION()"])[0][0] else "mysql"
    reasons, at_least = {}, 0
    for line in (HERE / "known" / f"{name}.txt").read_text().splitlines():
        where, _, rest = line.partition(": ")
        text, _, why = rest.partition(" # ")
        if where == "pass":
            at_least = int(text)
        elif where in (server, "both"):
            reasons[text.strip()] = why.strip()
    return reasons, at_least


def main():
    name = sys.argv[1]
    drop_databases()
    counts, said = {"sqlalchemy": run_sqlalchemy, "django": run_django}[name]()
    if counts is None:
        sys.exit(f"the suite did not end: {said[-2000:]}")
    passed, failed = counts
    reasons, at_least = known(name)
    right = True
    for test in sorted(set(failed) - set(reasons)):
        right = False
        print(f"FAIL {test}: it is not listed in known/{name}.txt; {OUT / 'said.txt'} has its traceback")
    for test in sorted(set(reasons) - set(failed)):
        right = False
        print(f"FAIL {test}: it does not fail any more ({reasons[test]}): take it out of known/{name}.txt")
    if passed < at_least:
        right = False
        print(f"FAIL number of tests: {passed} passed, and {at_least} have to")
    if right:
        print(f"ok {passed} tests, {len(failed)} known failures")
    drop_databases()
    sys.exit(not right)


main()
