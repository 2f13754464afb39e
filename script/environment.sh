# Shared by script/server and script/test: makes a virtual environment with the pinned requirements, once.

say() { echo "$*" >&2; }

find_python() {
    for python in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$python" ] && command -v "$python" >/dev/null 2>&1 || continue
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$python"; return; }
    done
    say "NetaClaw Memory needs Python 3.11 or later: install it (Debian: apt-get install python3), or name it in PYTHON."
    exit 1
}

# Installs Debian packages where we may; says nothing and fails where we may not.
system_packages() {
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" = 0 ]; then root=""; elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then root="sudo -n"; else return 1; fi
    $root apt-get -qq update >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive $root apt-get -qq install -y --no-install-recommends "$@" >/dev/null 2>&1
}

make_environment() {
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null || system_packages python3-venv || {
        say "Python's venv module is missing: install it (Debian: apt-get install python3-venv) and start again."
        exit 1
    }
    say "Making $1 with $("$python" --version) …"
    rm -rf "$1"
    "$python" -m venv "$1"
}

# Everything but mysqlclient comes as wheels; mysqlclient is compiled against the MySQL or MariaDB client library.
install_mysqlclient() {
    pinned=$(grep -i '^mysqlclient==' requirements.txt)
    "$1/bin/pip" install --quiet --disable-pip-version-check "$pinned" >/dev/null 2>&1 && return
    system_packages gcc pkg-config python3-dev default-libmysqlclient-dev &&
        "$1/bin/pip" install --quiet --disable-pip-version-check "$pinned" >/dev/null 2>&1 && return
    say "Without MySQL: $pinned did not compile. SQLite works as it is; to add MySQL, install a C compiler and the client"
    say "headers (Debian: apt-get install gcc pkg-config python3-dev default-libmysqlclient-dev) and start again."
    return 1
}

# set_up_environment DIRECTORY REQUIREMENTS: installs once, and anew when the requirements change.
set_up_environment() {
    stamp=$(cat requirements.txt "$2" | cksum)
    [ -x "$1/bin/python" ] && "$1/bin/python" -c '' 2>/dev/null || make_environment "$1"
    if [ "$(cat "$1/requirements.stamp" 2>/dev/null)" != "$stamp" ]; then
        say "Installing $2 …"
        plain=$(mktemp)
        cat requirements.txt "$2" | grep -viE '^(mysqlclient|-r )' | sort -u >"$plain"
        "$1/bin/pip" install --quiet --disable-pip-version-check -r "$plain"
        rm -f "$plain"
        echo "$stamp" >"$1/requirements.stamp"
    fi
    if ! "$1/bin/python" -c 'import MySQLdb' 2>/dev/null; then
        case "${NETACLAW_DATABASE_URL:-}${NETACLAW_TEST_MYSQL_URL:-}${NETACLAW_TEST_MARIADB_URL:-}" in
            *mysql*) install_mysqlclient "$1" || exit 1 ;;
            *) [ -e "$1/without-mysql" ] || install_mysqlclient "$1" || : >"$1/without-mysql" ;;
        esac
    fi
}

# gunicorn's heartbeat file belongs in memory where there is some.
worker_directory() { if [ -d /dev/shm ] && [ -w /dev/shm ]; then echo /dev/shm; else echo "${TMPDIR:-/tmp}"; fi; }
