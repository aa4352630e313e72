# Converts sysbench's output to one rung of a result file; see bench/sysbench.sh.
#
# Variables: threads; before and after (user and system ticks, resident KiB); with_cost, set if these were measured.

function us(ms) { return sprintf("%.3f", ms * 1000) }

# The value below which a share of the operations lies, from the histogram.
function quantile(share,    i, seen) {
    for (i = 1; i <= bars; i++) {
        seen += count[i]
        if (seen >= share * counted) return value[i]
    }
    return bars ? value[bars] : 0
}

function latency(mean, max) {
    return sprintf("{\"mean_us\":%s,\"p50_us\":%s,\"p90_us\":%s,\"p95_us\":%s,\"p99_us\":%s,\"p999_us\":%s,\"max_us\":%s}",
        us(mean), us(quantile(0.5)), us(quantile(0.9)), us(quantile(0.95)), us(quantile(0.99)), us(quantile(0.999)), us(max))
}

# 0.104 |*****                                    12345
$1 ~ /^[0-9.]+$/ && /\|/ && NF >= 2 { bars++; value[bars] = $1; count[bars] = $NF; counted += $NF }

# [ 1s ] thds: 8 tps: 97674.90 qps: ... lat (ms,99%): 0.14 err/s: 0.00 reconn/s: 0.00
/^\[ [0-9]+s \] thds:/ {
    match($0, /tps: [0-9.]+/); tps = substr($0, RSTART + 5, RLENGTH - 5)
    match($0, /%\): [0-9.]+/); p99 = substr($0, RSTART + 4, RLENGTH - 4)
    match($0, /err\/s: [0-9.]+/); failed = substr($0, RSTART + 7, RLENGTH - 7)
    series = series (series ? "," : "") sprintf("{\"start_seconds\":%d,\"seconds\":1.0,\"operations\":%d,\"errors\":%d,\"latency\":{\"mean_us\":0,\"p50_us\":0,\"p90_us\":0,\"p95_us\":0,\"p99_us\":%s,\"p999_us\":0,\"max_us\":0},\"server_cpu\":null,\"server_resident_bytes\":null}",
        second++, tps, failed, us(p99))
}

/^ +transactions:/ { operations = $2 }
/^ +queries:/ { statements = $2 }
/^ +ignored errors:/ { errors = $3 }
/^ +total time:/ { elapsed = $3 + 0 }
/^ +avg:/ { mean = $2 }
/^ +max:/ { max = $2 }

END {
    if (!operations || !elapsed) { print "sysbench.awk: no figures in sysbench's output" > "/dev/stderr"; exit 1 }
    split(before, b, " "); split(after, a, " ")
    user = (a[1] - b[1]) / 100; system_ = (a[2] - b[2]) / 100
    all = sprintf("\"count\":%d,\"errors\":%d,\"per_second\":%.3f,\"latency\":%s", operations, errors, operations / elapsed, latency(mean, max))
    cost = "null"
    if (with_cost)
        cost = sprintf("{\"user_seconds\":%.2f,\"system_seconds\":%.2f,\"cpu_us_per_operation\":%.3f,\"cpu_us_per_statement\":%.3f,\"resident_bytes_start\":%d,\"resident_bytes_end\":%d,\"resident_bytes_max\":%d}",
            user, system_, (user + system_) * 1e6 / operations, (user + system_) * 1e6 / statements, b[3] * 1024, a[3] * 1024, a[3] * 1024)
    printf "{\"threads\":%d,\"elapsed_seconds\":%.3f,\"throughput\":%.3f,\"statements_per_second\":%.3f,", threads, elapsed, operations / elapsed, statements / elapsed
    printf "\"all\":{\"name\":\"all\",%s},\"operations\":[{\"name\":\"event\",%s}],\"errors\":[],\"missed\":0,", all, all
    printf "\"server\":%s,\"client\":null,\"figures\":[],\"series\":[%s],\"failure\":null}\n", cost, series
}
