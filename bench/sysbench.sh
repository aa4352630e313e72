#!/usr/bin/env bash
# Runs real sysbench on tables that `stemdb bench prepare` has made, and writes a result file like that of `stemdb bench run`.
#
#   bench/sysbench.sh WORKLOAD DSN PID LABEL JSON THREADS SECONDS WARM-UP TABLES TABLE-SIZE TEXT
#
# PID: the server's process, or empty. TEXT: not empty for the text protocol. bench/compare.sh calls this script. Percentiles
# come from sysbench's histogram, whose steps are some per cent wide. All statements go over TCP.
set -euo pipefail

workload=$1 dsn=$2 pid=$3 label=$4 json=$5 threads=$6 seconds=$7 warm_up=$8 tables=$9 table_size=${10} text=${11}

script=${workload#sysbench-}
script=oltp_${script//-/_}
[[ $dsn =~ ^mysql://([^:@/]*)(:([^@]*))?@([^:/]+)(:([0-9]+))?/([^?]+)$ ]] || {
    echo "sysbench.sh: the DSN must be mysql://user:password@host:port/database" >&2
    exit 1
}
user=${BASH_REMATCH[1]} password=${BASH_REMATCH[3]} host=${BASH_REMATCH[4]} port=${BASH_REMATCH[6]:-3306}
database=${BASH_REMATCH[7]}
arguments=(--db-driver=mysql --mysql-host="$host" --mysql-port="$port" --mysql-user="$user"
    --mysql-password="$password" --mysql-db="$database" --tables="$tables" --table-size="$table_size")
protocol=prepared
if [ -n "$text" ]; then
    arguments+=(--db-ps-mode=disable)
    protocol=text
fi

# User and system time of the server, in hundredths of a second, and its resident memory in KiB.
cost() {
    [ -n "$pid" ] && [ -r "/proc/$pid/stat" ] || {
        echo "0 0 0"
        return
    }
    local stat resident
    stat=$(<"/proc/$pid/stat")
    stat=${stat##*) }
    resident=$(awk '/^VmRSS:/ { print $2 }' "/proc/$pid/status")
    # shellcheck disable=SC2086
    set -- $stat
    echo "${12} ${13} $resident"
}

rungs=''
for count in ${threads//,/ }; do
    if [ "${warm_up%.*}" -gt 0 ]; then
        sysbench "$script" "${arguments[@]}" --threads="$count" --time="$warm_up" run >/dev/null
    fi
    before=$(cost)
    output=$(sysbench "$script" "${arguments[@]}" --threads="$count" --time="$seconds" --percentile=99 \
        --report-interval=1 --histogram=on run)
    after=$(cost)
    printf '%s\n' "$output"
    rung=$(printf '%s\n' "$output" | awk -v threads="$count" -v before="$before" -v after="$after" \
        -v with_cost="${pid:+1}" -f bench/sysbench.awk)
    rungs="${rungs:+$rungs,}$rung"
done

version=$(sysbench --version)
cat >"$json" <<JSON
{
  "format": 1,
  "workload": "$workload",
  "label": "$label",
  "started_at": $(date +%s),
  "server": { "version": "$label, driven by $version", "comment": "", "pid": ${pid:-null} },
  "client": { "version": "$version", "processors": $(nproc) },
  "settings": {
    "dsn": "mysql://$user@$host:$port/$database", "protocol": "$protocol", "loop": "closed", "rate": null,
    "seconds": $seconds, "warm_up_seconds": $warm_up, "seed": 0,
    "options": {
      "distribution": "special", "range-size": "100", "skip-trx": "off", "table-size": "$table_size", "tables": "$tables"
    }
  },
  "rungs": [$rungs],
  "failure": null
}
JSON
