# shellcheck shell=bash
# shellcheck disable=SC2034
# lab-lib.sh - what the tests in the lab start with; builds on integ/lib.sh.
. "${0%/*}/../integ/lib.sh"

export NOWFARM_LAB=nf-$$
lab() { "$NF" lab "$@"; }
reason=$(lab check 2>&1) || skip "${reason##*$'\n'}"
test_cleanup() { lab down 2> /dev/null; }
# lab_can FEATURE: as `lab check` says
lab_can() {
    lab check --json > "$work/can" 2> /dev/null
    [ "$("$jsonget" "$work/can" "features.$1")" = true ]
}

# start_in WS ARGS...: as `start`, on a workstation.
start_in() {
    local ws=$1
    shift
    rm -f "$work/stderr"
    mkfifo "$work/stderr"
    : > "$work/err" # as there
    tee "$work/err" < "$work/stderr" | stamp > "$work/stamped" &
    env --default-signal=INT,QUIT "$NF" lab exec "$ws" "$NF" "$@" \
        > "$work/out" 2> "$work/stderr" < /dev/null &
    pid=$!
    start_ms=$(now_ms)
}
# run_in WS [-t SECONDS] ARGS...: as `run`, on a workstation.
run_in() {
    local ws=$1 limit=60 start
    shift
    if [ "$1" = -t ]; then
        limit=$2
        shift 2
    fi
    start=$(now_ms)
    timeout -k 5 $((limit * slow)) "$NF" lab exec "$ws" "$NF" "$@" \
        > "$work/out2" 2> "$work/err2" < /dev/null
    rc2=$?
    took2_ms=$(($(now_ms) - start))
}
# slaves_on WS, pvmd_on WS: process ids
on() {
    local pid exe
    for pid in $(lab pids "$1"); do
        exe=$(readlink "/proc/$pid/exe") || continue
        exe=${exe##*/}
        if [ "${exe#lt-}" = "$2" ] && alive "$pid"; then echo "$pid"; fi
    done
}
slaves_on() { on "$1" nowfarm-slave; }
pvmd_on() { on "$1" pvmd; on "$1" pvmd3; }
has_slave() { [ -n "$(slaves_on "$1")" ]; }
# some units have been computed
units_done() { [ "$(hellos 0 9999999999999)" -ge "$1" ]; }
hosts_file() {
    printf '%s\n' "$@" > "$work/hosts"
}
