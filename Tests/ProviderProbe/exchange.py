#!/usr/bin/env python3
"""The work of exchange.c, with Python's sqlcipher3 (SQLCipher built with OpenSSL): exchange.py write|check FOLDER."""

import os
import sys

import sqlcipher3

ALGORITHMS = ["SHA1", "SHA256", "SHA512"]
ROWS = (
    "WITH n(i) AS (VALUES ({}) UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
    "INSERT INTO t SELECT i, replace(hex(zeroblob(350)), '0', i) FROM n"
)


def combinations():
    for page_size in (1024 << i for i in range(7)):
        for log in (False, True):
            for kdf in ALGORITHMS:
                for hmac in ALGORITHMS:
                    name = f"{page_size}-{hmac}-{kdf}-{'wal' if log else 'journal'}.db"
                    settings = (
                        f"PRAGMA cipher_page_size = {page_size}; PRAGMA cipher_hmac_algorithm = HMAC_{hmac}; "
                        f"PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_{kdf}; PRAGMA kdf_iter = 100"
                    )
                    yield name, settings, log


def open_database(path, key, settings):
    database = sqlcipher3.connect(path, isolation_level=None)
    database.execute(f"PRAGMA key = '{key}'")
    database.executescript(settings)
    return database


def write(path, settings, log):
    """Returns the open connection: the caller ends its process without closing, as a crash would."""
    database = open_database(path, "first key", settings)
    database.execute("CREATE TABLE t(i INTEGER PRIMARY KEY, x)")
    database.execute(ROWS.format(1, 200))
    database.execute("PRAGMA rekey = 'second key'")
    database.execute("VACUUM")
    if log:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.execute(ROWS.format(201, 300))
    else:
        database.execute(ROWS.format(201, 300))
        database.execute("PRAGMA cache_size = 2")
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE t SET x = 'never committed ' || x")
    return database


def check(path, settings):
    database = open_database(path, "second key", settings)
    rows = database.execute("SELECT count(*) FROM t WHERE x = replace(hex(zeroblob(350)), '0', i)").fetchone()[0]
    assert rows == 300, f"{path}: {rows} rows"
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path
    assert database.execute("PRAGMA cipher_integrity_check").fetchall() == [], path
    database.close()


def main():
    command, folder = sys.argv[1:]
    count = 0
    for name, settings, log in combinations():
        path = os.path.join(folder, name)
        count += 1
        if command == "check":
            check(path, settings)
            continue
        child = os.fork()
        if child == 0:
            status = 1
            try:
                left_open = write(path, settings, log)
                status = 0 if left_open else 1
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0, path
    print(f"{count} files {'checked' if command == 'check' else 'written'}")


main()
