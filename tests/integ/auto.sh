#!/bin/bash
# The adaptive pacer on real PVM: what it says of the slaves, and replication of
# the tail when a slave stops, hangs or comes back too late.
. "${0%/*}/lib.sh"
slow_test
need_pvm
mkdir "$work/marks"

stopped() { # PID: it is in state T
    grep -q '^State:[[:space:]]*T' "/proc/$1/status" 2> /dev/null
}
stopped_pids() {
    local p
    for p in $(slave_pids); do
        stopped "$p" && echo "$p"
    done
}
some_stopped() { [ "$(count "$(stopped_pids)")" -ge "$1" ]; }

# 1. What is learnt of each slave.
run run synth --units 60 --cost 20ms --slaves 2 --slots 1 --policy auto \
    --verify --json
job_verified "two slaves"
for i in 0 1; do
    check "two slaves: $i has a host" has_field "auto.$i.host"
    same "two slaves: $i is slave" "$(json "auto.$i.slave")" "$i"
    same "two slaves: $i is slot" "$(json "auto.$i.slot")" 0
    at_least "two slaves: $i has a window" "$(json "auto.$i.window")" 2
    # sleeping units take what they say, and a little more
    at_least "two slaves: the interval of $i is a unit's time" \
        "$(json "auto.$i.td_s" | awk '{print int($1 * 1e6)}')" 20000 us
done
run run synth --units 60 --cost 20ms --slaves 2 --slots 1 --policy auto
check "two slaves: the text says it too" grep -q 'implied td' "$work/out"
run run synth --units 60 --slaves 2 --slots 1 --policy send --json
same "another policy learns nothing" "$(json auto)" "[]"

# 2. A slave stops, and would be given up after 20 s.
run -t 30 run synth --units 80 --cost 50ms --slaves 3 --slots 1 \
    --policy auto:replicate=1 --heartbeat-timeout 20s --fault 30:stop-once \
    --fault-dir "$work/marks" --verify --json
job_verified "a slave that stops"
check "a slave that stops: it did" test -e "$work/marks/fault-30"
at_most "a slave that stops: its units were copied" \
    "$(json makespan_s | awk '{print int($1 * 1000)}')" $((8000 * slow)) ms
at_least "a slave that stops: copies" "$(json copies)" 1
same "a slave that stops: lost slaves" "$(json lost_slaves)" 0
check "a slave that stops: it is gone in the end" wait_until 10 no_slaves

# 3. A unit hangs while its slave goes on talking: nobody would ever know.
rm -f "$work/marks"/*
run -t 30 run synth --units 80 --cost 50ms --slaves 3 --slots 1 \
    --policy presend:td=auto,replicate=1 --fault 30:hang-once \
    --fault-dir "$work/marks" --verify --json
job_verified "a unit that hangs"
at_most "a unit that hangs: it was copied" \
    "$(json makespan_s | awk '{print int($1 * 1000)}')" $((8000 * slow)) ms
check "a unit that hangs: its slave is gone in the end" \
    wait_until 10 no_slaves

# 4. Three of four slaves stop.  The last one copies what they have, and when
# the first of their units has been computed again they go on: late answers.
rm -f "$work/marks"/*
start run synth --units 40 --cost 400ms --chatty --slaves 4 --slots 1 \
    --policy auto:replicate=1 --heartbeat-timeout 40s \
    --fault 20:stop-once,21:stop-once,22:stop-once \
    --fault-dir "$work/marks" --verify --json
check "late answers: three slaves have stopped" wait_until 40 some_stopped 3
# Said twice: by the slave that stopped, and by the one that copies.
twice() {
    sed -n 's/.*: unit \(2[012]\) says hello$/\1/p' "$work/err" | sort |
        uniq -d
}
second_copy() { [ "$(count "$(twice)")" -ge 2 ]; }
check "late answers: stopped units are computed again" \
    wait_until 60 second_copy
for p in $(stopped_pids); do
    kill -CONT "$p"
done
await 60
job_verified "late answers"
# Whether one is still in time to be counted is a race with the end of the job;
# that late answers are counted is tested with the farm itself.
echo "# late answers counted: $(json duplicates)"
at_least "late answers: copies" "$(json copies)" 1
same "late answers: nothing was lost" "$(json lost_slaves)" 0
same "late answers: nothing was tried again" "$(json retries)" 0
check "no slave is left" wait_until 10 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
