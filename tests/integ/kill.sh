#!/bin/bash
# Slaves killed in mid-chunk: the job finishes, every unit counts once.
. "${0%/*}/lib.sh"
need_pvm

mkdir "$work/marks"
run run synth --units 60 --cost 10ms --slaves 4 --slots 1 --fault 20:kill-once \
    --fault-dir "$work/marks" --verify --json
job_verified "a unit kills its slave once"
check "a unit kills its slave once: it did" test -e "$work/marks/fault-20"
same "a unit kills its slave once: lost slaves" "$(json lost_slaves)" 1
at_least "a unit kills its slave once: retries" "$(json retries)" 1

# large chunks, so that one is surely in hand
start run synth --units 400 --cost 10ms --slaves 4 --slots 1 \
    --policy send:g=20 --verify --json
check "four slaves are there" wait_until 10 some_slaves 4
sleep 0.4
kill -9 "$(slave_pids | head -n 1)"
await 60
job_verified "a slave killed in mid-chunk"
same "a slave killed in mid-chunk: lost slaves" "$(json lost_slaves)" 1
at_least "a slave killed in mid-chunk: retries" "$(json retries)" 1
same "a slave killed in mid-chunk: duplicates" "$(json duplicates)" 0
check "the loss was told" err_says 'slave .*(lost|killed|exited|ended)'

start run synth --units 200 --cost 20ms --slaves 4 --slots 1 \
    --policy presend:td=auto --in 4KiB --result 4KiB --verify --json
check "four slaves are there" wait_until 10 some_slaves 4
sleep 0.4
# shellcheck disable=SC2046
kill -9 $(slave_pids | head -n 3)
await 60
job_verified "all slaves but one killed"
same "all slaves but one killed: lost slaves" "$(json lost_slaves)" 3

# then there is nobody left to take over: new ones must be started
start run synth --units 200 --cost 20ms --slaves 2 --slots 1 --verify --json
check "two slaves are there" wait_until 10 some_slaves 2
sleep 0.3
# shellcheck disable=SC2046
kill -9 $(slave_pids)
await 30
job_verified "all slaves killed"
same "all slaves killed: lost slaves" "$(json lost_slaves)" 2

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
