# Shared by script/server and script/test: the virtual environment .venv with the pinned requirements.

say() { echo "$*" >&2; }
fail() { say "$*"; exit 1; }

# The interpreter to build on; never one of a virtual environment, which may be the one about to be replaced.
find_python() {
    for python in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11) or print(sys._base_executable))' 2>/dev/null && return
    done
    fail "NetaClaw Memory needs Python 3.11 or later: install it (Debian: apt-get install python3), or name it in PYTHON."
}

# Installs Debian packages where nobody has to be asked for a password.
install_packages() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" = 0 ]; then sudo=""; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; else return 1; fi
    say "Installing with apt-get: $* …"
    $sudo apt-get -qq update >/dev/null 2>&1 || true
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
        -o DPkg::Lock::Timeout=60 "$@" </dev/null >/dev/null 2>&1
}

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

make_environment() {
    python=$(find_python)
    has_venv "$python" || install_packages python3-venv || true
    has_venv "$python" || fail "$python lacks its venv module: install it (Debian: apt-get install python3-venv) and start again."
    say "Making .venv with $("$python" --version) …"
    rm -rf .venv
    "$python" -m venv .venv
}

pip_install() { .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input "$@"; }

install_requirements() {
    say "Installing $1 …"
    grep -viE '^(mysqlclient|-r )' "$1" >.venv/requirements.txt
    pip_install -c requirements.txt -r .venv/requirements.txt || fail "$1 is not installed, for the reason above; start again when it is mended."
}

# mysqlclient is the one requirement without a wheel: it is compiled against the client library of MySQL or MariaDB.
install_mysqlclient() {
    pinned=$(grep -i '^mysqlclient==' requirements.txt)
    log=.venv/mysqlclient.log
    pip_install "$pinned" >$log 2>&1 && return
    install_packages gcc pkg-config python3-dev default-libmysqlclient-dev && pip_install "$pinned" >$log 2>&1 && return
    say "No MySQL or MariaDB for now: $pinned did not compile ($log says why). SQLite needs nothing more. To add MySQL:"
    say "  apt-get install gcc pkg-config python3-dev default-libmysqlclient-dev    (as root; or what your system calls them)"
    say "  .venv/bin/python -m pip install $pinned"
    return 1
}

# The environment is good for this place, this Python and these requirements; scripts in .venv/bin hold absolute paths.
stamp() { echo "$(pwd -P) $(.venv/bin/python -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null) $(cat "$@" | cksum)"; }
is_stamped() { [ "$(cat ".venv/$1.stamp" 2>/dev/null)" = "$(stamp requirements.txt "$1")" ]; }

# set_up_environment REQUIREMENTS …: makes what is missing. A stamp is written last, so whatever was interrupted is redone.
set_up_environment() {
    if ! is_stamped requirements.txt; then
        make_environment
        install_requirements requirements.txt
        install_mysqlclient || true
        stamp requirements.txt requirements.txt >.venv/requirements.txt.stamp
    fi
    for file in "$@"; do
        is_stamped "$file" && continue
        install_requirements "$file"
        stamp requirements.txt "$file" >".venv/$file.stamp"
    done
    case "${NETACLAW_DATABASE_URL:-}${NETACLAW_TEST_MYSQL_URL:-}${NETACLAW_TEST_MARIADB_URL:-}" in
        *mysql*) .venv/bin/python -c 'import MySQLdb' 2>/dev/null || install_mysqlclient || exit 1 ;;
    esac
}
