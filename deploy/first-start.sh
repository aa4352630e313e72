#!/usr/bin/env bash
# Sets the passwords of a new store. A new store has one account, root@localhost, without a password; while it has none, a
# server listens on loopback only. This script starts a server there, sets root's password, creates the application's
# account, and stops the server. A second run changes nothing.
#
# STEMDB_STORE               rocksdb:DIR or tikv://PD:2379,...
# STEMDB_CONFIG              a configuration file, if the store needs one (TLS to the cluster); its addresses are not used
# STEMDB_ROOT_PASSWORD_FILE  file with the password for root@localhost
# STEMDB_APP_USER            an account for an application, from any host; none if empty
# STEMDB_APP_PASSWORD_FILE   file with its password
# STEMDB_APP_DATABASE        its database
# STEMDB_PATIENCE            seconds to wait for a cluster that is starting (300)
set -euo pipefail

store=${STEMDB_STORE:?}
root_password=$(<"${STEMDB_ROOT_PASSWORD_FILE:?}")
[[ -n $root_password ]] || { echo "$STEMDB_ROOT_PASSWORD_FILE is empty" >&2; exit 1; }
client=$(command -v mariadb || command -v mysql) || { echo "no mariadb or mysql client" >&2; exit 1; }

directory=$(mktemp -d)
socket=$directory/socket
server=
stop() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
}
trap 'stop; rm -rf "$directory"' EXIT

# Passwords go in a file, not on a command line that others can read.
root_without() {
    "$client" --no-defaults --socket="$socket" --user=root "$@"
}
option_text() {
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}
(umask 077 && printf '[client]\nuser=root\npassword=%s\n' "$(option_text "$root_password")" >"$directory/root.cnf")
root_with() {
    "$client" --defaults-file="$directory/root.cnf" --socket="$socket" "$@"
}

start() {
    : >"$directory/ready"
    stemdb serve ${STEMDB_CONFIG:+--config "$STEMDB_CONFIG"} --store "$store" \
        --listen 127.0.0.1:0 --socket "$socket" --status off >"$directory/ready" &
    server=$!
    while kill -0 "$server" 2>/dev/null; do
        grep --quiet 'ready for connections' "$directory/ready" && return 0
        sleep 0.2
    done
    server=
    return 1
}
deadline=$((SECONDS + ${STEMDB_PATIENCE:-300}))
until start; do
    if ((SECONDS >= deadline)); then
        echo "the store did not open: $store" >&2
        exit 1
    fi
    sleep 3
done

sql_text() {
    local text=${1//\\/\\\\}
    printf "'%s'" "${text//\'/\'\'}"
}
if root_with --execute='DO 0' 2>/dev/null; then
    echo "root@localhost has its password already"
elif root_without --execute='DO 0' 2>/dev/null; then
    root_without <<<"ALTER USER 'root'@'localhost' IDENTIFIED BY $(sql_text "$root_password")"
    echo "root@localhost was given its password"
else
    echo "root@localhost has another password than $STEMDB_ROOT_PASSWORD_FILE says" >&2
    exit 1
fi

if [[ -n ${STEMDB_APP_USER:-} ]]; then
    user="$(sql_text "$STEMDB_APP_USER")@'%'"
    database="\`${STEMDB_APP_DATABASE:?}\`"
    password=$(<"${STEMDB_APP_PASSWORD_FILE:?}")
    [[ -n $password ]] || { echo "$STEMDB_APP_PASSWORD_FILE is empty" >&2; exit 1; }
    root_with <<SQL
CREATE DATABASE IF NOT EXISTS $database;
CREATE USER IF NOT EXISTS $user IDENTIFIED BY $(sql_text "$password");
GRANT ALL ON $database.* TO $user;
SQL
    echo "$STEMDB_APP_USER may use $STEMDB_APP_DATABASE"
fi
