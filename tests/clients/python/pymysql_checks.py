"""Checks of a MySQL server through PyMySQL."""

import os
import ssl
import tempfile

import pymysql
import pymysql.constants.CLIENT as CLIENT

from checks import HOST, PORT, Checks


def connect(**options):
    options.setdefault("host", HOST)
    options.setdefault("port", PORT)
    return pymysql.connect(charset="utf8mb4", connect_timeout=10, read_timeout=60, max_allowed_packet=64 << 20, **options)


def tls():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


checks = Checks(pymysql, connect, "pymysql")


def server_side_cursor():
    connection = checks.open(cursorclass=pymysql.cursors.SSCursor)
    cursor = connection.cursor()
    cursor.execute("SELECT id FROM s ORDER BY id")
    if cursor.fetchone() != (1,):
        raise AssertionError("first row")
    cursor.close()
    connection.close()


def file_of_the_client():
    """LOAD DATA LOCAL: the client sends a file; where it has none, the connection goes on."""
    admin = checks.open()
    admin.cursor().execute("SET GLOBAL local_infile = 1")
    admin.close()
    connection = checks.open(local_infile=True)
    cursor = connection.cursor()
    cursor.execute("DROP TABLE IF EXISTS of_file")
    cursor.execute("CREATE TABLE of_file (id INT PRIMARY KEY, s VARCHAR(200))")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "rows.csv")
        with open(path, "w") as file:
            file.writelines(f'{i},"{"x" * 100}"\n' for i in range(20_000))
        load = "LOAD DATA LOCAL INFILE %s INTO TABLE of_file FIELDS TERMINATED BY ',' ENCLOSED BY '\"'"
        if cursor.execute(load, (path,)) != 20_000:
            raise AssertionError("rows loaded")
        try:
            cursor.execute(load, (os.path.join(directory, "nothing"),))
            raise AssertionError("a file that is not there")
        except pymysql.err.OperationalError:
            pass
    connection.commit()
    cursor.execute("SELECT COUNT(*), SUM(LENGTH(s)) FROM of_file")
    if cursor.fetchone() != (20_000, 2_000_000):
        raise AssertionError("rows found")
    cursor.execute("DROP TABLE of_file")
    connection.close()


checks.all(
    [
        ("caching_sha2_password over TLS", lambda: checks.login("tls", ssl=tls())),
        ("caching_sha2_password by RSA", lambda: checks.login("rsa", ssl_disabled=True)),
        ("caching_sha2_password, the fast way", lambda: checks.login("rsa", ssl_disabled=True)),
        ("several statements", lambda: checks.several_statements(client_flag=CLIENT.MULTI_STATEMENTS)),
        ("rows one by one", server_side_cursor),
        ("a file of the client", file_of_the_client),
    ]
)
