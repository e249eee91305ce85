#!/bin/bash
# Slaves killed in mid-chunk: the job finishes, every unit counts once, what the
# dead had is handed out again within 5 s, and nobody else waits.
. "${0%/*}/lib.sh"
need_pvm

# taken_over TEXT UNITS: what the dead had, and that the others began UNITS in the
# second after $kill_ms
taken_over() {
    at_least "$1: retries" "$(json retries)" 1
    [ "$sanitized" = 0 ] || return
    # none is begun later, so what was lost was handed out by then too
    at_most "$1: the lost units went out again within 5 s" \
        "$(last_hello_after "$kill_ms")" 5000 ms
    at_least "$1: the others go on at once" \
        "$(hellos "$kill_ms" $((kill_ms + 1000)))" "$2" units
}

mkdir "$work/marks"
run run synth --units 60 --cost 10ms --slaves 4 --slots 1 --fault 20:kill-once \
    --fault-dir "$work/marks" --verify --json
job_verified "a unit kills its slave once"
check "a unit kills its slave once: it did" test -e "$work/marks/fault-20"
same "a unit kills its slave once: lost slaves" "$(json lost_slaves)" 1
at_least "a unit kills its slave once: retries" "$(json retries)" 1

# large chunks, so that one is surely in hand
start run synth --units 400 --cost 10ms --chatty --slaves 4 --slots 1 \
    --policy send:g=20 --verify --json
check "four slaves are there" wait_until 10 some_slaves 4
check "they are at work" wait_until 10 eval \
    '[ "$(hellos 0 9999999999999)" -ge 80 ]'
victim=$(slave_pids | head -n 1)
kill_ms=$(now_ms)
kill -9 "$victim"
await 60
job_verified "a slave killed in mid-chunk"
taken_over "a slave killed in mid-chunk" 100
same "a slave killed in mid-chunk: lost slaves" "$(json lost_slaves)" 1
same "a slave killed in mid-chunk: duplicates" "$(json duplicates)" 0
check "the loss was told" err_says 'slave .*(lost|killed|exited|ended)'

start run synth --units 200 --cost 20ms --chatty --slaves 4 --slots 1 \
    --policy presend:td=auto --in 4KiB --result 4KiB --verify --json
check "four slaves are there" wait_until 10 some_slaves 4
check "they are at work" wait_until 10 eval \
    '[ "$(hellos 0 9999999999999)" -ge 60 ]'
victims=$(slave_pids | head -n 3)
kill_ms=$(now_ms)
# shellcheck disable=SC2086
kill -9 $victims
await 60
job_verified "all slaves but one killed"
taken_over "all slaves but one killed" 30
same "all slaves but one killed: lost slaves" "$(json lost_slaves)" 3

# then there is nobody left to take over: new ones must be started
NOWFARM_LOG=debug start run synth --units 200 --cost 20ms --slaves 2 --slots 1 \
    --verify --json
check "two slaves are at work" wait_until 10 had_leases 2 6
# shellcheck disable=SC2046
kill -9 $(slave_pids)
await 30
job_verified "all slaves killed"
same "all slaves killed: lost slaves" "$(json lost_slaves)" 2

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
