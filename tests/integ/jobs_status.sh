#!/bin/bash
# Status is answered while farm and processors are saturated.  How fast is
# printed, not asserted (wanted: 50 ms); a daemon that hangs runs into a limit.
. "${0%/*}/lib.sh"
slow_test
need_pvm
. "$lib_dir/jobs-lib.sh"
ask=$top_builddir/tests/integ/jobs_cli
[ -x "$ask" ] || skip "built without CUnit: no jobs_cli"

burners=()
test_cleanup() {
    [ ${#burners[@]} -eq 0 ] || kill -9 "${burners[@]}" 2> /dev/null
}

# measure TEXT: 100 requests on the socket, 20 ms apart, and 20 whole `nowfarm status`
measure() {
    local times=() start i
    timeout $((60 * slow)) "$ask" latency 100 20 > "$work/latency" 2> "$work/err"
    same "$1: 100 requests were answered" "$?" 0
    for ((i = 0; i < 20; i++)); do
        start=$(now_ms)
        timeout $((20 * slow)) "$NF" status > /dev/null 2> "$work/err" || {
            fail "$1: nowfarm status"
            break
        }
        times+=($(($(now_ms) - start)))
    done
    mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
    echo "# $1: $(cat "$work/latency")"
    echo "# $1: the command, ms: median ${times[10]:-?}, most ${times[19]:-?}"
}

start_daemon
measure "idle"
for policy in presend:td=0ms window:w=16; do
    submit synth --units 1000000000 --slaves 4 --slots 1 --policy "$policy"
    check "$policy: the job has begun" wait_until 30 is_busy "$job"
    burners=()
    for _ in 1 2; do
        (exec -a burner bash -c 'while :; do :; done') &
        burners+=($!)
    done
    before=$(job_field "$job" "done")
    measure "$policy, 4 slaves, 2 burners"
    check "$policy: the job went on meanwhile" \
        test "$(job_field "$job" "done")" -gt "$before"
    kill -9 "${burners[@]}"
    wait "${burners[@]}" 2> /dev/null
    burners=()
    run cancel "$job"
    ends_with "$policy: cancelled" 130
    check "$policy: no slave is left" wait_until 5 no_slaves
done
stop_daemon TERM 0
check "no pvmd is left" wait_until 5 no_pvmd
finish
