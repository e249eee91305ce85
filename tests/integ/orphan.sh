#!/bin/bash
# The master is killed with -9: its slaves are gone within 10 s, also one that
# is stopped, and so is the pvmd that was started for it.
. "${0%/*}/lib.sh"
slow_test
need_pvm

for cost in "--cost 20ms" "--cost 1h" "--cost 1h --spin"; do
    # shellcheck disable=SC2086
    start run synth --units 1000 $cost --slaves 3 --json
    check "$cost: slaves are there" wait_until 10 some_slaves 3
    sleep 0.3
    kill -9 "$pid"
    killed_ms=$(now_ms)
    await 5
    check "$cost: slaves are gone" wait_until 10 no_slaves
    at_most "$cost: that took" $(($(now_ms) - killed_ms)) 10000 ms
    check "$cost: so is the pvmd" wait_until 5 no_pvmd
done

start run synth --units 1000 --cost 20ms --slaves 3 --json
check "slaves are there" wait_until 10 some_slaves 3
kill -STOP "$(slave_pids | head -n 1)"
kill -9 "$pid"
await 5
check "a stopped slave is gone" wait_until 10 no_slaves
check "so is its pvmd" wait_until 5 no_pvmd

# what the dead master left behind does not harm the next one
run run synth --units 100 --slaves 2 --verify --json
job_verified "the next job"
finish
