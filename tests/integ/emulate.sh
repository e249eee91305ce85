#!/bin/bash
# nowfarm run --emulate: on PVM and on threads, with the application's results;
# times are no shorter than they must be, and the report says that they are
# slept.  How much longer they are is for tests/bench/emulate.sh.
. "${0%/*}/lib.sh"
need_pvm

# about TEXT GOT WANT: the same but for the last digits
about() {
    check "$1 ($2)" awk "BEGIN {d = $2 - $3; exit !(d * d < 1e-18)}"
}
# at_least_s TEXT GOT LEAST
at_least_s() {
    check "$1 ($2 s)" awk "BEGIN {exit !($2 >= $3)}"
}

world=unit=10ms,send=0.5ms,wire=1ms
for transport in local pvm; do
    run run matmul --n 40 --transport $transport --slaves 4 --policy send \
        --emulate $world --verify --json
    job_verified "$transport, send"
    same "$transport, send: slots" "$(json slots)" 4
    # ten rounds of a unit, two messages, and the master before and after
    at_least_s "$transport, send: each unit pays its way" \
        "$(json makespan_s)" 0.130
    same "$transport, send: what was asked for" "$(json emulate.spec)" $world
    about "$transport, send: the lower bound" "$(json lower_bound_s)" 0.1

    run run matmul --n 40 --transport $transport --slaves 4 \
        --policy presend-round:td=2ms \
        --emulate unit=5ms,wire=0+1ms,blocking=yes --verify --json
    job_verified "$transport, rounds"
    at_least_s "$transport, rounds: every message is on the one wire" \
        "$(json makespan_s)" 0.080

    run run synth --units 60 --transport $transport --slaves 3 --policy gss \
        --emulate unit=4ms,net=links,speeds=1/1/0.5 --verify --json
    job_verified "$transport, gss"
    about "$transport, gss: the lower bound" "$(json lower_bound_s)" 0.096
    at_least_s "$transport, gss: not faster than that" \
        "$(json makespan_s)" 0.096
done

run run synth --units 40 --transport pvm --slaves 2 --fault 7:kill-once \
    --fault-dir "$work" --emulate unit=5ms,send=0.1ms,wire=0.5ms,blocking=yes \
    --policy presend:td=0ms --verify --json --quiet
job_verified "a slave dies"
same "a slave dies: lost slaves" "$(json lost_slaves)" 1

# longer than the heartbeat time-out: units, and the way of a result
run run synth --units 4 --transport pvm --slaves 2 --heartbeat-timeout 400ms \
    --emulate unit=700ms,wire=600ms --verify --json --quiet
job_verified "slow units and wires"
same "slow units and wires: nobody is lost" "$(json lost_slaves)" 0

# a long sleep does not outlive its job
start run synth --units 4 --transport local --slaves 2 \
    --emulate unit=10min --quiet
sleep 0.5
kill -INT "$pid"
await 10
same "interrupted: exit status" "$rc" 130
at_most "interrupted: soon" "$took_ms" $((4000 * slow)) ms

run run synth --units 12 --transport local --slaves 2 --emulate unit=2ms
same "the report for people: exit status" "$rc" 0
check "the report for people: says that times are slept" \
    grep -q '^EMULATED: times are slept, not worked.  unit 2 ms;' "$work/out"

run run synth --units 12 --transport local --slaves 2 --emulate unit=2ms \
    --trace "$work/world.trace" --quiet
check "the trace says it" \
    eval 'head -n 1 "$work/world.trace" | grep -q "\"emulate\":\"unit=2ms\""'
run replay "$work/world.trace" --policies send --runs 2
check "replay says it" grep -q '^EMULATED .*: unit=2ms$' "$work/out"
run replay "$work/world.trace" --policies send --runs 2 --json
same "replay says it in JSON" "$(json emulate.spec)" unit=2ms
run gantt "$work/world.trace" -o "$work/world.svg"
check "the picture says it" grep -q 'times EMULATED' "$work/world.svg"

run run synth --units 5 --transport local --json --trace "$work/real.trace"
same "without --emulate: null" "$(json emulate)" null
check "without --emulate: not in the trace" \
    eval '! grep -q emulate "$work/real.trace"'
run replay "$work/real.trace" --policies send --runs 2 --json
same "without --emulate: replay says null" "$(json emulate)" null

for bad in '' unit unit=33 unit=0ms unit=-1ms send=1ms unit=1ms,colour=red \
    unit=1ms,wire=1 unit=1ms,speeds=0 unit=1ms,speeds=1/-1 \
    unit=1ms,speeds=1/1/1 unit=1ms,net=hub unit=1ms,blocking=maybe \
    unit=1ms,unit=2ms; do
    run run synth --units 5 --transport local --slaves 2 --emulate "$bad"
    refused 2 "--emulate '$bad'"
    check "--emulate '$bad': names the place" err_says '^nowfarm: .*emulate: '
done
finish
