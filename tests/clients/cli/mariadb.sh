#!/usr/bin/env bash
# Checks of a MySQL server through Debian's mariadb client, mariadb-admin and mariadb-slap.
# What is checked is listed in tests/clients/README.md.
set -uo pipefail

database=client_mariadb
source "$(dirname "$0")/check.sh"
# MariaDB's client would verify the certificate: a server's own is not known to it.
common=(--no-defaults --default-character-set=utf8mb4)
tcp=("${common[@]}" --protocol=tcp -h "$STEMDB_HOST" -P "$STEMDB_PORT")
plain=(--skip-ssl)
encrypted=(--ssl --skip-ssl-verify-server-cert)

# The root account over TCP without TLS, on the checks' database.
sql() {
    mariadb "${tcp[@]}" "${plain[@]}" -u root -D "$database" --skip-column-names "$@"
}

sql_as() {
    local user=$1
    shift
    mariadb "${tcp[@]}" -u "$user" --password=sesame -D "$database" --skip-column-names "$@"
}

# Without the statement, which the client repeats above an error.
answer_of() {
    sql "$@" 2>&1 | grep -E '^(ERROR|[0-9])'
}

from_file() {
    local input=$1
    shift
    "$@" <"$input"
}

setup="DROP DATABASE IF EXISTS $database; CREATE DATABASE $database;"
for user in mariadb_tls:caching_sha2_password mariadb_rsa:caching_sha2_password mariadb_native:mysql_native_password; do
    setup+="DROP USER IF EXISTS '${user%:*}'@'%'; CREATE USER '${user%:*}'@'%' IDENTIFIED WITH ${user#*:} BY 'sesame';"
    setup+="GRANT ALL ON $database.* TO '${user%:*}'@'%';"
done
check "set up" "" mariadb "${tcp[@]}" "${plain[@]}" -u root -e "$setup"
check "connect over the socket" "$database" \
    mariadb "${common[@]}" --protocol=socket -S "$STEMDB_SOCKET" -u root -D "$database" --skip-column-names -e "SELECT DATABASE()"
check "caching_sha2_password over TLS" "mariadb_tls" \
    sql_as mariadb_tls "${encrypted[@]}" -e "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"
tls_cipher() {
    sql_as mariadb_tls "${encrypted[@]}" -e "SHOW STATUS LIKE 'Ssl_cipher'" | grep -c TLS_
}
check "TLS is used" "1" tls_cipher
check "caching_sha2_password by RSA" "mariadb_rsa" sql_as mariadb_rsa "${plain[@]}" -e "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"
check "caching_sha2_password, the fast way" "1" sql_as mariadb_rsa "${plain[@]}" -e "SELECT 1"
check "mysql_native_password" "mariadb_native" sql_as mariadb_native "${plain[@]}" -e "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"
check "wrong password" "ERROR 1045 (28000): Access denied for user 'mariadb_native'@'localhost' (using password: YES)" \
    mariadb "${tcp[@]}" "${plain[@]}" -u mariadb_native --password=wrong
check "unknown database" "ERROR 1049 (42000): Unknown database 'no_such_database'" \
    mariadb "${tcp[@]}" "${plain[@]}" -u root -D no_such_database

script=$(mktemp)
trap 'rm -f "$script"' EXIT
cat >"$script" <<'SQL'
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50), d DECIMAL(10,2), b VARBINARY(10), dt DATETIME(3)); -- a comment
INSERT INTO t (v, d, b, dt) VALUES ('it''s; "quoted"', 1.5, x'00ff', '2024-02-29 12:34:56.789'), (NULL, -0.05, '', NULL);
BEGIN; INSERT INTO t (v) VALUES ('lost'); ROLLBACK;
DELIMITER //
SELECT COUNT(*) FROM t//
DELIMITER ;
SELECT id, v, d, HEX(b), dt FROM t ORDER BY id;
USE client_mariadb
SHOW TABLES;
SQL
check "a script from a file" "$(printf '%s\n' '2' $'1\tit\'s; "quoted"\t1.50\t00FF\t2024-02-29 12:34:56.789' $'2\tNULL\t-0.05\t\tNULL' 't')" \
    from_file "$script" sql
check "a table drawn" "$(printf '%s\n' '+----+-------+' '| id | d     |' '+----+-------+' '|  1 |  1.50 |' '|  2 | -0.05 |' '+----+-------+')" \
    mariadb "${tcp[@]}" "${plain[@]}" -u root -D "$database" --table -e "SELECT id, d FROM t ORDER BY id"
check "warnings shown" "$(printf '%s\n' 'NULL' 'Warning (Code 1365): Division by 0')" sql --show-warnings -e "SELECT 1 / 0"
check "duplicate key" "ERROR 1062 (23000) at line 1: Duplicate entry '1' for key 't.PRIMARY'" answer_of -e "INSERT INTO t (id) VALUES (1)"
check "unknown table" "ERROR 1146 (42S02) at line 1: Table 'client_mariadb.nope' doesn't exist" answer_of -e "SELECT * FROM nope"
check "unknown column" "ERROR 1054 (42S22) at line 1: Unknown column 'nope' in 'field list'" answer_of -e "SELECT nope FROM t"
go_on() {
    printf 'SELECT * FROM nope;\nSELECT COUNT(*) FROM t;\n' | answer_of --force
}
check "on after an error" "$(printf '%s\n' "ERROR 1146 (42S02) at line 1: Table 'client_mariadb.nope' doesn't exist" '2')" go_on
check "several statements" "$(printf '1\n2')" sql -e "SELECT 1; SELECT 2"
check "compression" "100000" sql --compress -e "SELECT LENGTH(REPEAT('x', 100000))"
check "vertical output" "$(printf '%s\n' '*************************** 1. row ***************************' '1')" sql -e 'SELECT 1 AS a\G'
check "server's state" "mysqld is alive" mariadb-admin "${tcp[@]}" "${plain[@]}" -u root ping

# A dump of a table loads again and gives the same rows: under LOCK TABLES, or in one snapshot.
dump() {
    mariadb-dump "${tcp[@]}" "${plain[@]}" -u root --skip-comments --no-tablespaces "$@" "$database" t >"$script" &&
        grep -q "LOCK TABLES" "$script" && sql -e "DROP TABLE IF EXISTS kept" &&
        sql -e "CREATE TABLE kept LIKE t; INSERT INTO kept SELECT * FROM t" && from_file "$script" sql &&
        sql -e "SELECT COUNT(*) FROM t; SELECT id, v, d, HEX(b), dt FROM t ORDER BY id" >"$script.a" &&
        sql -e "SELECT COUNT(*) FROM kept; SELECT id, v, d, HEX(b), dt FROM kept ORDER BY id" >"$script.b" &&
        cmp "$script.a" "$script.b"
    local status=$?
    rm -f "$script.a" "$script.b"
    return "$status"
}
check "dump and load" "" dump --lock-tables
check "dump of a snapshot and load" "" dump --single-transaction

# 17 MiB in one statement, and back.
{
    printf "CREATE TABLE big (v LONGTEXT); INSERT INTO big VALUES ('"
    head -c 17825792 /dev/zero | tr '\0' 'x'
    printf "');"
} >"$script"
check "big packets in" "" from_file "$script" sql --max-allowed-packet=67108864
big_out() {
    sql --max-allowed-packet=67108864 -e "SELECT v FROM big" | wc -c
}
check "big packets out" "17825793" big_out

for kind in mixed write key read update; do
    slap() {
        mariadb-slap --no-defaults --protocol=tcp -h "$STEMDB_HOST" -P "$STEMDB_PORT" "${plain[@]}" -u root --create-schema=client_slap --auto-generate-sql \
            --auto-generate-sql-load-type="$1" --auto-generate-sql-add-autoincrement --auto-generate-sql-write-number=50 \
            --number-int-cols=2 --number-char-cols=3 --concurrency=4 --iterations=2 --number-of-queries=200 \
            --auto-generate-sql-secondary-indexes=2 2>&1 | grep -c "Average number of seconds"
    }
    check "mariadb-slap, $kind" "1" slap "$kind"
done
exit "$failed"
