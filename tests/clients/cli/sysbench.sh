#!/usr/bin/env bash
# Every OLTP script that comes with Debian's sysbench, at a small size, with and without prepared statements.
set -uo pipefail

scripts=/usr/share/sysbench
database=client_sysbench
seconds=${STEMDB_SYSBENCH_SECONDS:-2}
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

mysql_root() {
    mariadb --no-defaults --protocol=tcp -h "$STEMDB_HOST" -P "$STEMDB_PORT" --skip-ssl -u root "$@"
}

# sb SCRIPT COMMAND OPTIONS...
sb() {
    local script=$1 command=$2
    shift 2
    timeout 600 sysbench "$scripts/$script.lua" --db-driver=mysql --mysql-host="$STEMDB_HOST" \
        --mysql-port="$STEMDB_PORT" --mysql-user=root --mysql-db="$database" --mysql-ssl=off \
        --tables=2 --table-size=1000 --threads=4 --time="$seconds" "$@" "$command" >"$log" 2>&1
}

report() {
    local name=$1 status=$2 why
    if [[ $status -eq 0 ]] && ! grep -q FATAL "$log"; then
        echo "ok $name"
    else
        failed=1
        why=$(grep -E 'FATAL|ALERT|error' "$log" | head -3)
        echo "FAIL $name: ${why//$'\n'/ | }"
    fi
}

mysql_root -e "DROP DATABASE IF EXISTS $database; CREATE DATABASE $database" || exit 1

sb oltp_read_write prepare
report "prepare" $?
for script in oltp_point_select oltp_read_only oltp_read_write oltp_write_only oltp_insert oltp_delete \
    oltp_update_index oltp_update_non_index select_random_points select_random_ranges; do
    for mode in auto disable; do
        sb "$script" run --db-ps-mode="$mode"
        status=$?
        # Queries must have been answered, not only attempted.
        [[ $status -eq 0 ]] && { grep -qE 'transactions: +[1-9]' "$log" || status=1; }
        report "$script, prepared statements: $mode" "$status"
    done
done
sb oltp_read_write cleanup
report "cleanup" $?

# Without the sequence of ids that AUTO_INCREMENT gives, without a secondary index, and with a table per thread.
sb oltp_read_write prepare --auto-inc=off --create-secondary=off && sb oltp_read_write run --auto-inc=off && sb oltp_read_write cleanup
report "without AUTO_INCREMENT" $?
sb bulk_insert prepare && sb bulk_insert run && sb bulk_insert cleanup
report "bulk_insert" $?
mysql_root -e "DROP DATABASE $database"
exit "$failed"
