"""Temporary databases on a real MySQL or MariaDB server."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

import MySQLdb


@contextmanager
def temporary_database(server: str) -> Iterator[str]:
    """The URL of a new database on `server` (mysql://user:password@host:port), dropped afterwards."""
    parts = urlsplit(server)
    name = f"netaclaw_{secrets.token_hex(6)}"
    connection = MySQLdb.connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )
    try:
        connection.query(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        yield f"{server.rstrip('/')}/{name}"
    finally:
        connection.query(f"DROP DATABASE IF EXISTS {name}")
        connection.close()
