#!/bin/bash
# status.sh - how long `nowfarm status` takes while nowfarmd has a job of empty
# units on more slaves than there are processors: the whole command, which the
# shell starts, and the answer over the socket alone (jobs_cli).  Both are to
# stay below 50 ms; the last column says how many commands did not.
#
#   [CALLS=50] [SLAVES=4] [POLICIES='send presend:td=0ms window:w=16'] status.sh
. "${0%/*}/bench-lib.sh"
need_pvm
# shellcheck source=../integ/jobs-lib.sh
. "$lib_dir/jobs-lib.sh"
ask=$top_builddir/tests/integ/jobs_cli
calls=${CALLS:-50} slaves=${SLAVES:-4}

fatal() {
    echo "status.sh: $*" >&2
    cat "$work/err" "$daemon_log" >&2 2> /dev/null
    exit 1
}
# command_ms: the times of `nowfarm status`, one a line; it ends by itself
command_ms() {
    local i start
    for ((i = 0; i < calls; i++)); do
        sleep 0.02
        start=${EPOCHREALTIME/./}
        "$NF" status > "$work/status" 2> "$work/err" || return
        calc "print ($(("${EPOCHREALTIME/./}" - start))) / 1000"
    done
}
# row NAME: busy, if there is a job that must get on meanwhile
row() {
    local before='' socket
    [ -z "${job:-}" ] || before=$(job_field "$job" "done")
    command_ms > "$work/times" || fatal "$1: nowfarm status"
    socket="not built"
    if [ -x "$ask" ]; then
        timeout 60 "$ask" latency "$calls" 20 > "$work/out" 2> "$work/err" ||
            fatal "$1: no answer"
        socket=$(sed 's/[^0-9.]*\([0-9.]*\), 95% \([0-9.]*\), most /\1 \2 /' \
            "$work/out")
    fi
    [ -z "$before" ] || [ "$(job_field "$job" "done")" -gt "$before" ] ||
        fatal "$1: the job did not go on"
    # shellcheck disable=SC2046,SC2086
    printf '%-20s  %10s %8s %8s  %10s %8s %8s  %7s\n' "$1" $(sort -g \
        "$work/times" | awk '{v[NR] = $1} END {
            printf("%.2f %.2f %.2f", v[int(NR / 2) + 1],
                   v[int(NR * 0.95) + 1], v[NR])}') $socket \
        "$(awk '$1 > 50 {n++} END {print n + 0}' "$work/times")"
}

machine | sed "s/,[^,]*repeats.*//"
echo "# $calls calls 20 ms apart, $slaves slaves of one slot, ms"
printf '%-20s  %28s  %28s\n' '' "nowfarm status" "answer over the socket"
printf '%-20s  %10s %8s %8s  %10s %8s %8s  %7s\n' farm median 95% worst \
    median 95% worst "> 50 ms"
start_daemon > /dev/null
answers || fatal "nowfarmd does not answer"
row idle
for policy in ${POLICIES:-send presend:td=0ms window:w=16}; do
    submit synth --units 100000000 --slaves "$slaves" --slots 1 \
        --policy "$policy"
    wait_until 30 is_busy "$job" || fatal "$policy: the job does not begin"
    row "$policy"
    run cancel "$job"
    run wait "$job"
    [ "$rc" = 130 ] || fatal "$policy: cancelled, but wait says $rc"
done
stop_daemon TERM 0 > /dev/null
