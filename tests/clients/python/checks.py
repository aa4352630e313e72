"""Checks of a MySQL server that hold for any Python DB-API driver.

pymysql_checks.py and mysqlclient_checks.py bring the driver; what is checked is listed in tests/clients/README.md.
"""

import datetime
import decimal
import os
import sys
import threading
import time
import traceback

HOST = os.environ["STEMDB_HOST"]
PORT = int(os.environ["STEMDB_PORT"])
SOCKET = os.environ["STEMDB_SOCKET"]

# Type, value written, value read when it is another.
TYPES = [
    ("TINYINT", -128),
    ("TINYINT UNSIGNED", 255),
    ("SMALLINT", -32768),
    ("MEDIUMINT", 8388607),
    ("INT", -2147483648),
    ("INT UNSIGNED", 4294967295),
    ("BIGINT", -9223372036854775808),
    ("BIGINT UNSIGNED", 18446744073709551615),
    ("BOOL", True, 1),
    ("DECIMAL(65,30)", decimal.Decimal("12345678901234567890123456789012345.123456789012345678901234567890")),
    ("DECIMAL(10,2)", decimal.Decimal("-0.05")),
    ("FLOAT", 1.5),
    ("DOUBLE", -2.25e300),
    ("CHAR(5)", "äöü"),
    ("VARCHAR(100)", "😀 it's \\ \"text\"\n\0 "),
    ("BINARY(4)", b"\x00\xff", b"\x00\xff\x00\x00"),
    ("VARBINARY(10)", b"\x00\xff\n'\\"),
    ("TINYTEXT", "tiny"),
    ("TEXT", "t" * 60000),
    ("MEDIUMTEXT", "m" * 70000),
    ("LONGTEXT", ""),
    ("BLOB", bytes(range(256))),
    ("LONGBLOB", b""),
    ("DATE", datetime.date(2024, 2, 29)),
    ("DATETIME", datetime.datetime(2024, 2, 29, 23, 59, 59)),
    ("DATETIME(6)", datetime.datetime(2024, 2, 29, 23, 59, 59, 123456)),
    ("TIMESTAMP NULL", datetime.datetime(2024, 2, 29, 12, 0, 0)),
    ("TIME", datetime.timedelta(hours=838, minutes=59, seconds=59)),
    # mysqlclient cuts the microseconds of the timedeltas it writes.
    ("TIME(6)", "12:34:56.789012", datetime.timedelta(hours=12, minutes=34, seconds=56, microseconds=789012)),
    ("YEAR", 2155),
    ("ENUM('small', 'large')", "large"),
    ("BIT(10)", 5, b"\x00\x05"),
    ("INT(5) ZEROFILL", 42),
    ("JSON", '{"a": [1, null]}'),
    ("INT", None),
    ("VARCHAR(10)", None),
    ("DATETIME", None),
]

ERRORS = [
    ("INSERT INTO er VALUES (1, 'b')", 1062, "IntegrityError"),
    ("INSERT INTO er VALUES (2, 'long')", 1406, "DataError"),
    ("INSERT INTO er VALUES (2, NULL)", 1048, "IntegrityError"),
    ("SELECT * FROM nowhere", 1146, "ProgrammingError"),
    ("SELECT nope FROM er", 1054, "OperationalError"),
    ("SELEC 1", 1064, "ProgrammingError"),
    ("CREATE TABLE er (id INT)", 1050, "OperationalError"),
]


class Failure(Exception):
    pass


def equal(got, want, what=""):
    if got != want:
        raise Failure(f"{what}: got {got!r:.80}, expected {want!r:.80}")


class Checks:
    """`driver` is the module; `connect(**options)` opens a connection with utf8mb4 and the options given."""

    def __init__(self, driver, connect, name):
        self.driver = driver
        self.connect = connect
        self.database = f"client_{name}"
        self.user = name

    def open(self, **options):
        options.setdefault("user", "root")
        options.setdefault("database", self.database)
        return self.connect(**options)

    def one(self, connection, sql, parameters=None):
        cursor = connection.cursor()
        cursor.execute(sql, parameters)
        row = cursor.fetchone()
        cursor.close()
        return row[0] if row and len(row) == 1 else row

    def run(self, connection, *statements):
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()

    def refused(self, action, number, kind=None):
        try:
            action()
        except self.driver.Error as e:
            equal(e.args[0], number, str(e))
            if kind and type(e).__name__ != kind:
                raise Failure(f"{type(e).__name__} instead of {kind}: {e}")
            return
        raise Failure(f"no error where {number} was expected")

    def set_up(self):
        connection = self.open(database=None)
        self.run(connection, f"DROP DATABASE IF EXISTS {self.database}", f"CREATE DATABASE {self.database}")
        for suffix, plugin in (
            ("tls", "caching_sha2_password"),
            ("rsa", "caching_sha2_password"),
            ("native", "mysql_native_password"),
        ):
            user = f"'{self.user}_{suffix}'@'%'"
            self.run(
                connection,
                f"DROP USER IF EXISTS {user}",
                f"CREATE USER {user} IDENTIFIED WITH {plugin} BY 'sesame'",
                f"GRANT ALL ON {self.database}.* TO {user}",
            )
        connection.close()

    def login(self, suffix, **options):
        user = f"{self.user}_{suffix}"
        connection = self.open(user=user, password="sesame", **options)
        equal(self.one(connection, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), user)
        cipher = self.one(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[1]
        equal(bool(cipher), suffix == "tls", "encrypted")
        connection.close()

    def connect_socket(self):
        connection = self.open(unix_socket=SOCKET)
        equal(self.one(connection, "SELECT DATABASE()"), self.database)
        connection.close()

    def wrong_password(self):
        for user in (f"{self.user}_rsa", f"{self.user}_native", "nobody_here"):
            self.refused(lambda: self.open(user=user, password="wrong"), 1045, "OperationalError")

    def unknown_database(self):
        self.refused(lambda: self.open(database="no_such_database"), 1049, "OperationalError")

    def statements(self):
        connection = self.open(autocommit=True)
        self.run(connection, "DROP TABLE IF EXISTS s", "CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50))")
        cursor = connection.cursor()
        equal(cursor.execute("INSERT INTO s (v) VALUES (%s), (%s)", ("it's \\ 100%", None)), 2, "affected")
        equal(cursor.lastrowid, 1, "insert id")
        cursor.executemany("INSERT INTO s (v) VALUES (%s)", [(f"row {i}",) for i in range(100)])
        equal(cursor.rowcount, 100, "rowcount")
        equal(cursor.execute("UPDATE s SET v = %s WHERE id <= %s", ("same", 2)), 2, "affected")
        equal(cursor.execute("UPDATE s SET v = %s WHERE id <= %s", ("same", 2)), 0, "affected again")
        cursor.execute("SELECT id, v FROM s ORDER BY id")
        rows = cursor.fetchall()
        equal((len(rows), rows[2][1]), (102, "row 0"), "rows")
        equal([d[0] for d in cursor.description], ["id", "v"], "description")
        equal(self.one(connection, "SELECT v FROM s WHERE v LIKE %s", ("row 9_",))[:5], "row 9")
        connection.ping()
        connection.close()

    def types(self):
        connection = self.open(autocommit=True)
        columns = ", ".join(f"c{i} {t[0]}" for i, t in enumerate(TYPES))
        self.run(connection, "DROP TABLE IF EXISTS ty", f"CREATE TABLE ty ({columns})")
        cursor = connection.cursor()
        marks = ", ".join(["%s"] * len(TYPES))
        cursor.execute(f"INSERT INTO ty VALUES ({marks})", [t[1] for t in TYPES])
        for i, t in enumerate(TYPES):
            got = self.one(connection, f"SELECT c{i} FROM ty")
            equal(got, t[-1], t[0])
            # A BIT is compared as a number, which its bytes are not the text of.
            if t[1] is not None and t[0] not in ("JSON", "BIT(10)"):
                equal(self.one(connection, f"SELECT COUNT(*) FROM ty WHERE c{i} = %s", (t[1] if t[0] == "TIME(6)" else t[-1],)), 1, f"{t[0]} compared")
        connection.close()

    def transactions(self):
        connection, other = self.open(), self.open(autocommit=True)
        self.run(other, "DROP TABLE IF EXISTS tr", "CREATE TABLE tr (id INT PRIMARY KEY)")
        self.run(connection, "INSERT INTO tr VALUES (1)")
        equal(self.one(other, "SELECT COUNT(*) FROM tr"), 0, "seen before the commit")
        connection.rollback()
        equal(self.one(connection, "SELECT COUNT(*) FROM tr"), 0, "after the rollback")
        connection.commit()
        self.run(connection, "INSERT INTO tr VALUES (1), (2)")
        connection.commit()
        equal(self.one(other, "SELECT COUNT(*) FROM tr"), 2, "after the commit")
        self.run(connection, "START TRANSACTION READ ONLY")
        self.refused(lambda: self.run(connection, "DELETE FROM tr"), 1792)
        connection.close()
        other.close()

    def errors(self):
        connection = self.open(autocommit=True)
        self.run(
            connection,
            "DROP TABLE IF EXISTS er",
            "CREATE TABLE er (id INT PRIMARY KEY, v VARCHAR(2) NOT NULL)",
            "INSERT INTO er VALUES (1, 'a')",
        )
        for statement, number, kind in ERRORS:
            self.refused(lambda: self.run(connection, statement), number, kind)
        equal(self.one(connection, "SELECT 1"), 1, "after the errors")
        connection.close()

    def several_statements(self, **options):
        connection = self.open(**options)
        cursor = connection.cursor()
        cursor.execute("SELECT 1; SELECT 2, 3; SELECT 'four'")
        results = [cursor.fetchall()]
        while cursor.nextset():
            results.append(cursor.fetchall())
        equal(tuple(results), (((1,),), ((2, 3),), (("four",),)), "results")
        connection.close()

    def big_packets(self, **options):
        connection = self.open(autocommit=True, **options)
        self.run(connection, "DROP TABLE IF EXISTS big", "CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT)")
        cursor = connection.cursor()
        # Around the 16 MiB - 1 that one packet holds, and beyond it.
        for i, size in enumerate((100, 70_000, 2**24 - 60, 2**24 - 1, 17 << 20)):
            value = ("0123456789abcdef" * (size // 16 + 1))[:size]
            cursor.execute("INSERT INTO big VALUES (%s, %s)", (i, value))
            if self.one(connection, "SELECT v FROM big WHERE id = %s", (i,)) != value:
                raise Failure(f"{size} bytes came back as others")
        self.run(connection, "DROP TABLE big")
        connection.close()

    def kill(self):
        connection, victim, holder = self.open(autocommit=True), self.open(autocommit=True), self.open()
        self.run(connection, "DROP TABLE IF EXISTS ki", "CREATE TABLE ki (id INT PRIMARY KEY)", "INSERT INTO ki VALUES (1)")
        victim_id = self.one(victim, "SELECT CONNECTION_ID()")
        self.run(holder, "SELECT * FROM ki WHERE id = 1 FOR UPDATE")
        caught = []

        def wait():
            try:
                self.refused(lambda: self.run(victim, "DELETE FROM ki WHERE id = 1"), 1317)
            except Exception as e:
                caught.append(e)

        thread = threading.Thread(target=wait)
        thread.start()
        for _ in range(100):  # a KILL that comes before the statement is forgotten
            thread.join(0.3)
            if not thread.is_alive():
                break
            self.run(connection, f"KILL QUERY {victim_id}")
        if thread.is_alive():
            raise Failure("KILL QUERY did not stop the statement")
        if caught:
            raise caught[0]
        holder.rollback()
        equal(self.one(victim, "SELECT 1"), 1, "after KILL QUERY")
        self.run(connection, f"KILL {victim_id}")
        time.sleep(0.2)
        try:
            self.run(victim, "SELECT 1")
        except self.driver.Error as e:
            # The error packet that says why may or may not be read before the end of the stream.
            if e.args[0] not in (2006, 2013, 4031, 1317):
                raise
        else:
            raise Failure("the connection survived KILL")
        connection.close()

    def timeouts(self):
        connection, holder = self.open(autocommit=True), self.open()
        self.run(connection, "DROP TABLE IF EXISTS ti", "CREATE TABLE ti (id INT PRIMARY KEY)", "INSERT INTO ti VALUES (1)")
        self.run(holder, "UPDATE ti SET id = 2")
        self.run(connection, "SET innodb_lock_wait_timeout = 1")
        self.refused(lambda: self.run(connection, "UPDATE ti SET id = 3"), 1205)
        holder.rollback()
        for pause in (2.5, 10, 30):  # a busy server may read a statement that comes late before it looks at the clock
            idle = self.open()
            self.run(idle, "SET wait_timeout = 1")
            time.sleep(pause)
            try:
                self.run(idle, "SELECT 1")
            except self.driver.Error:
                return
        raise Failure("wait_timeout did not close the connection")

    def all(self, extra=()):
        checks = [
            ("set up", self.set_up),
            ("connect over the socket", self.connect_socket),
            ("mysql_native_password", lambda: self.login("native")),
            ("wrong password", self.wrong_password),
            ("unknown database", self.unknown_database),
            ("statements", self.statements),
            ("types", self.types),
            ("transactions", self.transactions),
            ("errors", self.errors),
            ("big packets", self.big_packets),
            ("kill", self.kill),
            ("timeouts", self.timeouts),
        ]
        failed = False
        for name, check in checks + list(extra):
            try:
                check()
            except Exception as e:
                failed = True
                reason = " ".join(str(e).split()) or traceback.format_exc(limit=1)
                print(f"FAIL {name}: {type(e).__name__}: {reason}", flush=True)
            else:
                print(f"ok {name}", flush=True)
        sys.exit(1 if failed else 0)
