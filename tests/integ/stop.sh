#!/bin/bash
# A slave that stops (SIGSTOP) while the master has 64 MiB for it: nobody else
# waits, its units go out again within 5 s, and what it says later is dropped.
. "${0%/*}/lib.sh"
slow_test
need_pvm
mkdir "$work/marks"

stopped() { # PID: it is in state T
    grep -q '^State:[[:space:]]*T' "/proc/$1/status" 2> /dev/null
}
find_stopped() {
    for victim in $(slave_pids); do
        stopped "$victim" && return
    done
    return 1
}

# 1. The slave that gets unit 2 stops; window 2 means that the master has
# another 64 MiB for it by then.
start run synth --units 12 --in 64MiB --cost 100ms --chatty --slaves 3 \
    --slots 1 --policy window:w=2 --fault 2:stop-once \
    --fault-dir "$work/marks" --verify --json
check "a slave has stopped" wait_until 30 find_stopped
stop_ms=$(now_ms)
await 120
job_verified "64 MiB for a stopped slave"
at_least "64 MiB for a stopped slave: the others got units meanwhile" \
    "$(hellos "$stop_ms" $((stop_ms + 3500)))" 3 units
if [ "$sanitized" = 0 ]; then
    at_most "64 MiB for a stopped slave: its units went out again within 5 s" \
        "$(last_hello_after "$stop_ms")" 5000 ms
fi
same "64 MiB for a stopped slave: lost slaves" "$(json lost_slaves)" 1
at_least "64 MiB for a stopped slave: retries" "$(json retries)" 1
check "the stopped slave is gone in the end" wait_until 10 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd

# 2. The same with small units: how long do the lost units wait?
rm -f "$work/marks"/*
start run synth --units 300 --cost 20ms --chatty --slaves 3 --slots 1 \
    --policy presend:td=auto --fault 60:stop-once \
    --fault-dir "$work/marks" --verify --json
check "a slave has stopped" wait_until 30 find_stopped
stop_ms=$(now_ms)
await 60
job_verified "a stopped slave"
at_least "a stopped slave: the others go on at once" \
    "$(hellos "$stop_ms" $((stop_ms + 1000)))" 40 units
if [ "$sanitized" = 0 ]; then
    # the others are done after 2.4 s; then only the lost units are left
    at_most "a stopped slave: its units went out again within 5 s" \
        "$(last_hello_after "$stop_ms")" 5000 ms
fi
at_least "a stopped slave: retries" "$(json retries)" 1

# 3. It is continued while the job still runs: the late answer is a duplicate.
rm -f "$work/marks"/*
start run synth --units 900 --cost 20ms --slaves 3 --slots 1 --policy send \
    --fault 60:stop-once --fault-dir "$work/marks" --verify --json
check "a slave has stopped" wait_until 30 find_stopped
sleep 6.5 # lost after 4 s, and its unit has been computed again
kill -CONT "$victim"
await 60
job_verified "a slave that comes back"
at_least "a slave that comes back: duplicates" "$(json duplicates)" 1
at_least "a slave that comes back: retries" "$(json retries)" 1
check "no slave is left" wait_until 10 no_slaves
finish
