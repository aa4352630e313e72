"""Checks of a MySQL server through mysqlclient, which is the C client library in Python's clothes."""

import MySQLdb
import MySQLdb.constants.CLIENT as CLIENT

from checks import HOST, PORT, Checks


def connect(**options):
    if "unix_socket" not in options:
        options.setdefault("host", HOST)
        options.setdefault("port", PORT)
    # Debian's client library is MariaDB's: without these it would ask for a TLS certificate it can verify.
    options.setdefault("ssl_mode", "DISABLED")
    options = {name: value for name, value in options.items() if value is not None}
    return MySQLdb.connect(charset="utf8mb4", connect_timeout=10, read_timeout=60, **options)


checks = Checks(MySQLdb, connect, "mysqlclient")


def compression():
    checks.big_packets(compress=True)


def tls():
    checks.login("tls", ssl_mode="REQUIRED")


checks.all(
    [
        ("caching_sha2_password over TLS", tls),
        ("caching_sha2_password by RSA", lambda: checks.login("rsa")),
        ("caching_sha2_password, the fast way", lambda: checks.login("rsa")),
        ("several statements", lambda: checks.several_statements(client_flag=CLIENT.MULTI_STATEMENTS)),
        ("compression", compression),
    ]
)
