"""The product's settings, with the servers that NETACLAW_TEST_…_URL name as named databases."""

import os

from netaclaw.environment import mysql_database
from netaclaw.settings import *  # noqa: F403
from netaclaw.settings import DATA_DIR, DATABASES

RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid():x}")[:8]  # two runs at once don't share a database
SERVERS = {"mysql": "NETACLAW_TEST_MYSQL_URL", "mariadb": "NETACLAW_TEST_MARIADB_URL"}
(DATA_DIR / "static").mkdir(parents=True, exist_ok=True)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, as in use: SQLite's shared memory databases know no patience between threads.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / f"test-{RUN}.sqlite3")}
for name, variable in SERVERS.items():
    if os.environ.get(variable):
        DATABASES[name] = mysql_database(f"{os.environ[variable].rstrip('/')}/netaclaw_{RUN}", variable)
        DATABASES[f"{name}-replica-1"] = DATABASES[name] | {"TEST": {"MIRROR": name}}
