#!/usr/bin/env bash
# Debian's tools for MySQL, one per call: tools.sh mydumper|mycli|percona|exporter.
# What is checked is listed in tests/clients/README.md.
set -uo pipefail

tool=$1
database=client_$tool
source "$(dirname "$0")/check.sh"
scratch=$(mktemp -d)
exporter=
trap 'rm -rf "$scratch"; [[ -z $exporter ]] || kill "$exporter"' EXIT

sql() {
    mariadb --no-defaults --protocol=tcp -h "$STEMDB_HOST" -P "$STEMDB_PORT" --skip-ssl -u root --skip-column-names \
        --default-character-set=utf8mb4 "$@"
}

rows() {
    sql -D "$database" -e "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', id, price, note, HEX(data), made))) FROM items;
        SELECT id FROM texts WHERE MATCH (title, body) AGAINST ('dinosaur') ORDER BY id; SELECT * FROM cheap ORDER BY id LIMIT 3"
}

sql -e "DROP DATABASE IF EXISTS $database; CREATE DATABASE $database; USE $database;
    CREATE TABLE items (id INT PRIMARY KEY AUTO_INCREMENT, price DECIMAL(10,2), note VARCHAR(40), data BLOB, made DATETIME(3));
    INSERT INTO items (price, note, data, made)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
        SELECT i / 7, CONCAT('it''s \"ü\" ', i), UNHEX(SHA2(i, 256)), '2026-01-01' + INTERVAL i SECOND FROM n;
    CREATE TABLE texts (id INT PRIMARY KEY, title VARCHAR(60), body TEXT, FULLTEXT KEY words (title, body));
    INSERT INTO texts VALUES (1, 'Academy Dinosaur', 'an epic drama'), (2, 'Ace', 'a dinosaur'), (3, 'Zoo', 'nothing');
    CREATE VIEW cheap AS SELECT id, price FROM items WHERE price < 1" || exit 1

run_mydumper() {
    local expected
    expected=$(rows)
    dump() { mydumper -h "$STEMDB_HOST" -P "$STEMDB_PORT" -u root -B "$database" -r 250 -o "$scratch/dump"; }
    check "dump" "" dump
    restore() {
        sql -e "DROP DATABASE $database"
        myloader -h "$STEMDB_HOST" -P "$STEMDB_PORT" -u root -B "$database" -d "$scratch/dump"
    }
    check "load" "" restore
    check "the rows are the same" "$expected" rows
}

run_mycli() {
    my() { HOME=$scratch mycli -h "$STEMDB_HOST" -P "$STEMDB_PORT" -u root -D "$database" --csv -e "$1" </dev/null; }
    check "query" $'"id","note"\n"7","it\'s ""ü"" 7"' my "SELECT id, note FROM items WHERE id = 7"
    check "tables" $'"Tables_in_client_mycli"\n"cheap"\n"items"\n"texts"' my "SHOW TABLES"
}

run_percona() {
    local dsn="h=$STEMDB_HOST,P=$STEMDB_PORT,u=root"
    checksum() {
        pt-table-checksum --recursion-method=none --replicate="$database.checksums" -d "$database" "$dsn" |
            awk -v name="$database.items" '$NF == name { print $2, $3, $4 }'
    }
    check "pt-table-checksum: errors, differences, rows" "0 0 900" checksum
    # It needs triggers. Without them it says so, and leaves everything as it was.
    online() {
        local said columns
        said=$(pt-online-schema-change --alter "ADD COLUMN made DATE" --execute "$dsn,D=$database,t=texts" 2>&1)
        columns=$(sql -e "SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS
            WHERE TABLE_SCHEMA = '$database' AND TABLE_NAME LIKE '%texts%'")
        case $columns:$said in
            id,title,body,made:*Successfully\ altered*) echo "altered, or left as it was" ;;
            id,title,body:*"support 'CREATE TRIGGER'"*"was not altered"*) echo "altered, or left as it was" ;;
            *) echo "$columns: $said" ;;
        esac
    }
    check "pt-online-schema-change" "altered, or left as it was" online
    archive() {
        pt-archiver --source "$dsn,D=$database,t=items" --where 'id <= 100' --purge --limit 30 --txn-size 30
        sql -D "$database" -e "SELECT COUNT(*), MIN(id) FROM items"
    }
    check "pt-archiver" $'800\t101' archive
    keys() { pt-duplicate-key-checker -h "$STEMDB_HOST" -P "$STEMDB_PORT" -u root -d "$database" | grep -c 'Total Duplicate'; }
    check "pt-duplicate-key-checker" "0" keys
}

run_exporter() {
    local address
    address=127.0.0.1:$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    DATA_SOURCE_NAME="root@($STEMDB_HOST:$STEMDB_PORT)/" prometheus-mysqld-exporter --web.listen-address="$address" \
        --collect.info_schema.innodb_metrics --collect.info_schema.processlist --collect.info_schema.tables \
        --collect.perf_schema.eventsstatements --collect.perf_schema.tableiowaits --collect.perf_schema.indexiowaits \
        --collect.auto_increment.columns --collect.binlog_size --collect.engine_innodb_status \
        >"$scratch/log" 2>&1 &
    exporter=$!
    for _ in $(seq 600); do
        exec 3<>"/dev/tcp/${address%:*}/${address#*:}" && break
        sleep 0.1
    done 2>/dev/null
    metrics() { python3 -c "import urllib.request as r; print(r.urlopen('http://$address/metrics', timeout=60).read().decode())"; }
    metrics >"$scratch/metrics"
    failures() { awk '/^mysql_exporter_collector_success/ && $2 != 1' "$scratch/metrics"; }
    check "all collectors succeed" "" failures
    check "the server is up" "mysql_up 1" grep '^mysql_up' "$scratch/metrics"
    many() { (($(grep -c '^mysql_' "$scratch/metrics") > 500)) && echo many; }
    check "metrics" "many" many
}

"run_$tool"
sql -e "DROP DATABASE $database"
exit "$failed"
