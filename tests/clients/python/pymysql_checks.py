"""Checks of a MySQL server through PyMySQL."""

import ssl

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


checks.all(
    [
        ("caching_sha2_password over TLS", lambda: checks.login("tls", ssl=tls())),
        ("caching_sha2_password by RSA", lambda: checks.login("rsa", ssl_disabled=True)),
        ("caching_sha2_password, the fast way", lambda: checks.login("rsa", ssl_disabled=True)),
        ("several statements", lambda: checks.several_statements(client_flag=CLIENT.MULTI_STATEMENTS)),
        ("rows one by one", server_side_cursor),
    ]
)
