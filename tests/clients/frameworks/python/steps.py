"""What the applications of this directory share. Each prints a line for each step, `NAME: RESULT`."""

import os

import pymysql

HOST = os.environ["STEMDB_HOST"]
PORT = int(os.environ["STEMDB_PORT"])


def step(name):
    """Runs a function and prints what it returns."""

    def run(function):
        try:
            result = function()
        except Exception as e:
            result = f"error {type(e).__name__}, {e.args}"
        print(f"{name}: {result!r}".replace("\n", " "), flush=True)
        return function

    return run


def empty_database(name):
    connection = pymysql.connect(host=HOST, port=PORT, user="root")
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
