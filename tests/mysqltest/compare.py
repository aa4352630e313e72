#!/usr/bin/env python3
"""Runs MySQL's own test files on MySQL and on StemDB, statement by statement, and reports where they differ.

    tests/mysqltest/compare.py --suite MYSQL-TEST --mysql PORT --stemdb PORT --out DIR FILE...

MYSQL-TEST is the folder `mysql-test` of MySQL's sources, which are not part of this repository; FILEs are below it, such as
t/join.test. Both servers are on 127.0.0.1, have an account root without a password, and lose all databases and accounts:
start them for this only, and anew if a file has changed what cannot be changed back (root's password). Each FILE gets
DIR/FILE.diff with the differences, and a line with their numbers by kind:

    LOST             StemDB has ended the connection, or has not answered within 25 s
    ROWS, ORDER      other rows; the same rows in another order than ORDER BY says
    REFUSED          StemDB does not have this (error 1235), and MySQL does
    ERROR_HERE       only StemDB has an error;  NO_ERROR_HERE: only MySQL has one;  CODE, MESSAGE: both, but others
    WARNINGS, TYPES, NAMES, AFFECTED, RESULTS
    CONNECT          only one of both accepts the login, or they refuse it with different errors
    NOT_SENT         a statement of send, which is not run
    OUT_OF_TIME      the file has taken --seconds, and its rest was not run

Where only StemDB fails to change a table, it gets MySQL's table, so that later statements can still be compared. Differences
may all the same follow from earlier ones. Not run: send and reap, programs, plans of EXPLAIN, counters of SHOW STATUS.
Tables of engines that StemDB does not have are InnoDB on both servers.

Needs the package `pymysql` (PyPI).
"""

import argparse
import collections
import os
import re
import time

import pymysql
from pymysql.constants import CLIENT

import script

SIDES = ("mysql", "stemdb")
ANSWER_SECONDS = 25
LOST = (2006, 2013, 2014, 2055)
NOT_SUPPORTED = 1235
JSON = 245
ENGINES = "myisam|heap|memory|merge|mrg_myisam|archive|csv|blackhole|ndb|ndbcluster"
# Files that only check whether a test can run, or that need programs.
LEFT_OUT = re.compile(
    r"(add_|big_|check_|count_sessions|elide_|force_|have_|install|is_|kill_|linux|no_|not_|only_|restart|shutdown|start_"
    r"|uninstall|wait_|windows)"
)
CHANGES_TABLE = re.compile(
    r"""(?isx)\s*(?:create\s+table(?:\s+if\s+not\s+exists)?|alter\s+table
        |(?:insert|replace)(?:\s+(?:ignore|low_priority|delayed|high_priority))*(?:\s+into)?|update|delete\s+from
        |load\s+data.*?into\s+table)\s+((?:`[^`]+`|[\w$]+)(?:\s*\.\s*(?:`[^`]+`|[\w$]+))?)"""
)
NOT_COMPARED = re.compile(
    r"(?i)^\s*show\s+((global|session|local)\s+)?status|last_query_cost|^\s*flush\s+status|optimizer_trace"
)
EXPLAINS = re.compile(
    r"(?is)^[\s(]*(explain|describe|desc)\b.*\b(select|update|delete|insert|replace|with|table|values)\b"
)
SYSTEM_DATABASES = (b"information_schema", b"mysql", b"performance_schema", b"sys")


class Stop(Exception):
    """The file ends here."""


def connect(port, user="root", password="", database="test"):
    return pymysql.connect(
        host="127.0.0.1",
        port=port,
        user=user,
        password=password,
        database=database,
        charset="utf8mb4",
        use_unicode=False,
        conv={},
        autocommit=None,
        client_flag=CLIENT.MULTI_STATEMENTS,
        read_timeout=ANSWER_SECONDS,
        local_infile=True,
    )


class Server:
    """One of both servers, with the named connections and the variables of a file."""

    def __init__(self, port, suite):
        self.port = port
        self.administrator = connect(port, database=None)
        self.variables_at_start = dict(self.ask("SHOW GLOBAL VARIABLES"))
        self.accounts_at_start = set(self.ask("SELECT user, host FROM mysql.user"))
        self.suite = suite
        self.connections = {}
        self.variables = {}

    def ask(self, text):
        """Rows; none if it fails."""
        cursor = self.administrator.cursor()
        try:
            cursor.execute(text)
            return cursor.fetchall()
        except pymysql.MySQLError:
            return ()

    def reset(self):
        """The state that a file begins with."""
        try:
            self.administrator.ping(reconnect=False)
        except pymysql.MySQLError:
            self.administrator = connect(self.port, database=None)
        self.ask("SET foreign_key_checks = 0")
        for (database,) in self.ask("SHOW DATABASES"):
            if database not in SYSTEM_DATABASES:
                self.ask(b"DROP DATABASE `" + database.replace(b"`", b"``") + b"`")
        for account in set(self.ask("SELECT user, host FROM mysql.user")) - self.accounts_at_start:
            user, host = (part.replace(b"'", b"''") for part in account)
            self.ask(b"DROP USER '" + user + b"'@'" + host + b"'")
        for name, value in self.ask("SHOW GLOBAL VARIABLES"):
            before = self.variables_at_start.get(name, b"")
            if value != before and name != b"timestamp":
                is_number = re.fullmatch(rb"-?[0-9.]+", before)
                self.ask(b"SET GLOBAL " + name + b" = " + (before if is_number else b"'" + before + b"'"))
        for setting in ("innodb_lock_wait_timeout = 2", "lock_wait_timeout = 3", "local_infile = 1"):
            self.ask("SET GLOBAL " + setting)
        self.ask("CREATE DATABASE test")
        self.ask("CREATE DATABASE mtr")
        self.connections = {"default": connect(self.port)}
        self.variables = {
            "MYSQL_TEST_DIR": self.suite,
            "MASTER_MYPORT": str(self.port),
            "ENGINE": "InnoDB",
            "engine_type": "InnoDB",
            "engine_table": "InnoDB",
        }

    def close(self):
        for name in list(self.connections):
            self.disconnect(name)

    def disconnect(self, name):
        connection = self.connections.pop(name, None)
        if connection is not None and connection.open:
            connection.close()

    def run(self, name, text):
        """The results of a text on a connection: (fields, rows), (affected, insert id), and last the error, if any."""
        results = []
        try:
            connection = self.connections.get(name)
            if connection is None or not connection.open:
                connection = self.connections[name] = connect(self.port)
            connection._execute_command(3, text.encode("latin-1"))
            while True:
                connection._read_query_result()
                result = connection._result
                if getattr(result, "fields", None):
                    fields = [(of_bytes(f.name), f.type_code, f.charsetnr == 63) for f in result.fields]
                    results.append(Rows(fields, list(result.rows or ())))
                else:
                    results.append(Done(result.affected_rows, result.insert_id))
                if not result.has_next:
                    return results
        except pymysql.MySQLError as error:
            code, message = (*error.args, 0, "")[:2]
        except (AssertionError, IndexError, OSError, ValueError) as error:
            code, message = LOST[0], repr(error)
        if code in LOST and connection is not None:
            connection._force_close()
        return [*results, Error(code, str(message))]

    def rows(self, name, text):
        """Only the rows of the first result."""
        first = self.run(name, text)[0]
        return first.rows if isinstance(first, Rows) else []

    def substituted(self, text):
        """With the values of variables ($name)."""

        def value(match):
            return self.variables.get(match.group(1), os.environ.get(match.group(1), ""))

        return re.sub(r"(?<!\\)\$\{?(\w+)\}?", value, text).replace("\\$", "$")

    def value(self, name, text):
        """The value of an expression of mysqltest."""
        text = text.strip()
        if len(text) > 1 and text[0] == text[-1] == "`":
            rows = self.rows(name, self.substituted(text[1:-1]))
            return "\t".join(of_bytes(cell or b"") for cell in rows[0]) if rows else ""
        query = re.match(r"query_get_value\s*\((.*),\s*([^,]+),\s*([^,]+)\)\s*$", text, re.S)
        if query is None:
            return self.substituted(text)
        statement, column, row = (self.substituted(part.strip().strip('"')) for part in query.groups())
        result = self.run(name, statement)[0]
        if isinstance(result, Rows) and row.isdigit() and int(row) <= len(result.rows):
            names = [field[0] for field in result.fields]
            if column in names:
                return of_bytes(result.rows[int(row) - 1][names.index(column)] or b"")
        return "No such row"


Rows = collections.namedtuple("Rows", "fields rows")
Done = collections.namedtuple("Done", "affected insert_id")
Error = collections.namedtuple("Error", "code message")


def of_bytes(text):
    return text.decode("latin-1") if isinstance(text, bytes) else text


class Run:
    """The run of one file on both servers."""

    def __init__(self, path, servers, seconds):
        self.path = path
        self.servers = servers
        self.suite = servers["mysql"].suite
        self.until = time.monotonic() + seconds
        self.connection = "default"
        self.differences = []
        self.statements = 0
        self.is_sorted = False
        self.is_off = False

    def differ(self, kind, text, mysql="", stemdb=""):
        self.differences.append((kind, text, mysql, stemdb))

    def file(self, path):
        self.all(script.read(path))

    def all(self, tree):
        for node in tree:
            if time.monotonic() > self.until:
                self.differ("OUT_OF_TIME", "")
                raise Stop
            if isinstance(node, script.Command) and node.name.endswith("able_parsing"):
                self.is_off = node.name == "disable_parsing"
            elif self.is_off:
                continue
            elif isinstance(node, script.Statement):
                self.statement(node.text)
            elif isinstance(node, script.Block):
                self.block(node)
            else:
                command = getattr(self, "do_" + node.name, None)
                if command is not None:
                    command(node)

    def block(self, block):
        times = 1 if block.kind == "if" else 3000
        while times and self.holds(block.condition):
            self.all(block.body)
            times -= 1

    def holds(self, condition):
        negated = condition.startswith("!")
        condition = condition[negated:].strip()
        mysql = self.servers["mysql"]
        compared = re.match(r"(\$\w+)\s*(==|!=|<=|>=|<|>)\s*(.*)$", condition, re.S)
        if compared is None:
            value = mysql.value(self.connection, condition).strip()
            return (value not in ("", "0")) != negated
        left, right = (mysql.value(self.connection, compared.group(at)).strip("'\"") for at in (1, 3))
        if re.fullmatch(r"-?\d+", left) and re.fullmatch(r"-?\d+", right):
            left, right = int(left), int(right)
        holds = {
            "==": left == right,
            "!=": left != right,
            "<=": left <= right,
            ">=": left >= right,
            "<": left < right,
            ">": left > right,
        }
        return holds[compared.group(2)] != negated

    # Commands of mysqltest.

    def do_let(self, command):
        match = re.match(r"\$?(\w+)\s*=\s*(.*)$", command.arguments, re.S)
        if match:
            for server in self.servers.values():
                value = server.value(self.connection, match.group(2))
                quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                server.variables[match.group(1)] = value[1:-1] if quoted else value

    def do_eval(self, command):
        self.statement(command.arguments, substitute=True)

    do_query_vertical = do_query_horizontal = do_eval

    def do_query(self, command):
        self.statement(command.arguments)

    def count(self, command, by):
        name = command.arguments.strip("$; ")
        for server in self.servers.values():
            value = server.variables.get(name, "0")
            server.variables[name] = str(int(value) + by) if re.fullmatch(r"-?\d+", value) else value

    def do_inc(self, command):
        self.count(command, 1)

    def do_dec(self, command):
        self.count(command, -1)

    def do_sorted_result(self, _):
        self.is_sorted = True

    def do_source(self, command):
        name = self.servers["mysql"].substituted(command.arguments.strip().rstrip(";"))
        if LEFT_OUT.match(os.path.basename(name)):
            return
        for folder in (self.suite, os.path.dirname(self.path), os.path.join(self.suite, "include")):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                self.file(path)
                return

    def do_connect(self, command):
        arguments = self.servers["mysql"].substituted(command.arguments.strip().strip("()"))
        parts = [part.strip() for part in arguments.split(",")] + [""] * 5
        name, _, user, password, database = parts[:5]
        self.connect(name, command.arguments, user, password, database)

    def do_change_user(self, command):
        parts = self.servers["mysql"].substituted(command.arguments).split(",") + [""] * 3
        user, password, database = (part.strip() for part in parts[:3])
        self.connect(self.connection, command.arguments, user, password, database)

    def do_reset_connection(self, command):
        self.connect(self.connection, command.arguments, "", "", "")

    def connect(self, name, text, user, password, database):
        errors = {}
        for side, server in self.servers.items():
            server.disconnect(name)
            try:
                database_or_none = None if database == "*NO-ONE*" else database or "test"
                server.connections[name] = connect(server.port, user or "root", password, database_or_none)
            except pymysql.MySQLError as error:
                errors[side] = error.args[0]
        if errors.get("mysql") != errors.get("stemdb"):
            self.differ("CONNECT", text, errors.get("mysql"), errors.get("stemdb"))
        if not errors:
            self.connection = name

    def do_connection(self, command):
        name = self.servers["mysql"].substituted(command.arguments.strip().rstrip(";"))
        if name in self.servers["mysql"].connections:
            self.connection = name

    def do_disconnect(self, command):
        for server in self.servers.values():
            server.disconnect(server.substituted(command.arguments.strip().rstrip(";")))

    do_dirty_close = do_disconnect

    def do_send(self, command):
        self.differ("NOT_SENT", command.arguments)

    do_send_eval = do_send

    def do_exit(self, _):
        raise Stop

    do_die = do_skip = do_exit

    # Statements.

    def statement(self, text, substitute=False):
        self.statements += 1
        is_sorted, self.is_sorted = self.is_sorted, False
        text = re.sub(rf"(?i)\b(engine\s*=?\s*)['\"`]?({ENGINES})\b['\"`]?", r"\1InnoDB", text)
        text = re.sub(rf"(?i)(default_(?:tmp_)?storage_engine\s*=\s*)['\"]?({ENGINES})['\"]?", r"\1InnoDB", text)
        texts = {side: self.servers[side].substituted(text) if substitute else text for side in SIDES}
        mysql, stemdb = (self.servers[side].run(self.connection, texts[side]) for side in SIDES)
        shown = texts["stemdb"][:3000]
        failed = [results[-1] if isinstance(results[-1], Error) else None for results in (mysql, stemdb)]
        if any(failed):
            self.compare_errors(texts["mysql"], shown, *failed)
        elif NOT_COMPARED.search(text) or EXPLAINS.match(texts["mysql"]):
            return
        elif len(mysql) != len(stemdb):
            self.differ("RESULTS", shown, len(mysql), len(stemdb))
        else:
            warnings = [server.rows(self.connection, "SHOW WARNINGS") for server in self.servers.values()]
            if warnings[0] != warnings[1]:
                self.differ("WARNINGS", shown, *warnings)
            for of_mysql, of_stemdb in zip(mysql, stemdb):
                self.compare(texts["mysql"], shown, of_mysql, of_stemdb, is_sorted)

    def compare_errors(self, text, shown, mysql, stemdb):
        if stemdb is not None and mysql is None:
            self.copy_table(text)
        if stemdb is None:
            self.differ("NO_ERROR_HERE", shown, mysql)
        elif stemdb.code in LOST and not (mysql and mysql.code in LOST):
            self.differ("LOST", shown, mysql or "ok", stemdb)
        elif stemdb.code == NOT_SUPPORTED and not (mysql and mysql.code == NOT_SUPPORTED):
            self.differ("REFUSED", shown, mysql or "ok", stemdb.message)
        elif mysql is None:
            self.differ("ERROR_HERE", shown, "ok", stemdb)
        elif mysql.code != stemdb.code:
            self.differ("CODE", shown, mysql, stemdb)
        elif mysql.message != stemdb.message:
            self.differ("MESSAGE", shown, mysql, stemdb)

    def compare(self, text, shown, mysql, stemdb, is_sorted):
        if type(mysql) is not type(stemdb):
            self.differ("RESULTS", shown, mysql, stemdb)
            return
        if isinstance(mysql, Done):
            if mysql != stemdb:
                self.differ("AFFECTED", shown, mysql, stemdb)
            return
        names = [[field[0] for field in result.fields] for result in (mysql, stemdb)]
        # The types of what SHOW and the like return are those of MySQL's own tables.
        is_listing = re.match(r"(?i)\s*(show|desc|describe|analyze|check|optimize|repair)\b", text)
        if names[0] != names[1]:
            self.differ("NAMES", shown, *names)
        elif mysql.fields != stemdb.fields and not is_listing:
            pairs = [pair for pair in zip(mysql.fields, stemdb.fields) if pair[0] != pair[1]]
            self.differ("TYPES", shown, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
        if mysql.rows == stemdb.rows:
            return
        if sorted(mysql.rows, key=sort_key) != sorted(stemdb.rows, key=sort_key):
            only = [[row for row in a.rows if row not in b.rows][:6] for a, b in ((mysql, stemdb), (stemdb, mysql))]
            self.differ("ROWS", shown, (len(mysql.rows), only[0]), (len(stemdb.rows), only[1]))
        elif not is_sorted and re.search(r"(?i)order\s+by", text):
            self.differ("ORDER", shown, mysql.rows[:12], stemdb.rows[:12])

    def copy_table(self, text):
        """Gives StemDB the table that a statement has made or changed in MySQL."""
        found = CHANGES_TABLE.match(text)
        if found is None:
            return
        name = found.group(1)
        mysql, stemdb = (self.servers[side] for side in SIDES)
        made = mysql.rows(self.connection, "SHOW CREATE TABLE " + name)
        if not made or not made[0][1].startswith(b"CREATE TABLE"):
            return
        definition = of_bytes(made[0][1])
        definition = re.sub(r",\n  SPATIAL KEY [^\n]*?(?=,?\n)", "", definition)
        definition = re.sub(r"^CREATE TABLE `(?:[^`]|``)+`", lambda _: "CREATE TABLE " + name, definition)
        before = stemdb.rows(self.connection, "SELECT @@sql_mode, @@foreign_key_checks")
        if not before:
            return
        modes = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
        stemdb.run(self.connection, f"SET sql_mode = '{modes}', foreign_key_checks = 0")
        stemdb.run(self.connection, "DROP TABLE IF EXISTS " + name)
        if isinstance(stemdb.run(self.connection, definition)[0], Done):
            self.copy_rows(name)
        sql_mode, checks = (of_bytes(value) for value in before[0])
        stemdb.run(self.connection, f"SET sql_mode = '{sql_mode}', foreign_key_checks = {checks}")

    def copy_rows(self, name):
        mysql, stemdb = (self.servers[side] for side in SIDES)
        columns = mysql.rows(self.connection, "SHOW COLUMNS FROM " + name)
        written = [of_bytes(row[0]) for row in columns if not re.search(rb"(VIRTUAL|STORED) GENERATED", row[5])]
        names = ", ".join("`" + column.replace("`", "``") + "`" for column in written)
        found = mysql.run(self.connection, f"SELECT {names} FROM {name} LIMIT 2000")[0]
        if not isinstance(found, Rows):
            return
        for row in found.rows:
            values = ", ".join(literal(value, field) for value, field in zip(row, found.fields))
            stemdb.run(self.connection, f"INSERT INTO {name} ({names}) VALUES ({values})")


def literal(value, field):
    _, type_code, is_binary = field
    if value is None:
        return "NULL"
    if type_code in (0, 1, 2, 3, 4, 5, 8, 9, 13, 246):
        return of_bytes(value)
    if type_code == JSON:
        is_binary = False
    return f"X'{value.hex()}'" if is_binary else f"CONVERT(X'{value.hex()}' USING utf8mb4)"


def sort_key(row):
    return tuple((value is not None, value or b"") for value in row)


def report(path, run):
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        for kind, text, mysql, stemdb in run.differences:
            file.write(f"=== {kind}\n{text}\n--- MySQL:  {str(mysql)[:1200]}\n--- StemDB: {str(stemdb)[:1200]}\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True, help="the folder mysql-test of MySQL's sources")
    parser.add_argument("--mysql", required=True, type=int, metavar="PORT")
    parser.add_argument("--stemdb", required=True, type=int, metavar="PORT")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--seconds", type=int, default=60, help="for each file (60)")
    parser.add_argument("files", nargs="+", metavar="FILE")
    return parser.parse_args()


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    ports = {"mysql": options.mysql, "stemdb": options.stemdb}
    servers = {side: Server(ports[side], options.suite) for side in SIDES}
    total = collections.Counter()
    for name in options.files:
        try:
            for server in servers.values():
                server.reset()
        except pymysql.MySQLError as error:
            print(f"{name}: not begun, because a file before it has changed the server: {error}", flush=True)
            continue
        run = Run(os.path.join(options.suite, name), servers, options.seconds)
        try:
            run.file(run.path)
        except Stop:
            pass
        for server in servers.values():
            server.close()
        kinds = collections.Counter(difference[0] for difference in run.differences)
        report(os.path.join(options.out, name.replace("/", ".") + ".diff"), run)
        total.update(kinds, statements=run.statements)
        print(f"{name}: {run.statements} statements {numbers(kinds)}", flush=True)
    print(f"all: {numbers(total)}")


def numbers(counter):
    return " ".join(f"{kind}={number}" for kind, number in sorted(counter.items()))


if __name__ == "__main__":
    main()
