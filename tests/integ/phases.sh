#!/bin/bash
# Jobs of several phases: what slaves exchange between two of them, and what happens
# when slaves are killed or stopped before, in and after the exchange.
. "${0%/*}/lib.sh"
need_pvm

transpose() { run run transpose "$@" --verify --json; }
begin() {
    wait_until 10 no_slaves
    start run transpose "$@" --verify --json
}
# exchanging N: the n-th exchange has begun, as the master's log says
exchanging() { grep -q "exchange $1: phase 0, among" "$work/err"; }

# any shape, any number of slaves, bands that are empty too
for transport in pvm local; do
    transpose --rows 301 --cols 207 --slaves 3 --transport $transport
    job_verified "301 x 207, $transport"
    same "301 x 207, $transport: phases" "$(json exchange.phases)" 2
    same "301 x 207, $transport: one exchange" "$(json exchange.tries)" 1
    [ $transport = local ] ||
        same "301 x 207, $transport: by" "$(json exchange.algorithm)" alltoall.burst
    transpose --rows 5 --cols 1 --bands 9 --slaves 2 --transport $transport
    job_verified "5 x 1 in 9 bands, $transport"
    transpose --rows 100 --cols 100 --slaves 1 --transport $transport
    job_verified "one slave, $transport"
    same "one slave, $transport: nothing moves" "$(json exchange.bytes)" 0
done
transpose --rows 64 --cols 80 --slaves 4 --slots 2 --policy gss
job_verified "four slaves of two slots, gss"

# files there and back
run run transpose --rows 130 --cols 77 --seed 5 --slaves 3 --out "$work/b.npy"
same "to a file: exit status" "$rc" 0
run run transpose --a "$work/b.npy" --slaves 2 --out "$work/a.mtx"
run run transpose --a "$work/a.mtx" --slaves 2 --out "$work/c.npy"
modelled='^time by model .*: compute .*, exchange .*; measured .*: compute .*, exchange '
check "transpose: the time by the model" grep -q "$modelled" "$work/out"
check "twice is the same" cmp "$work/b.npy" "$work/c.npy"

# sorting: files with few different numbers, -0 among them, and shapes that leave
# blocks empty
sorting() { run run sort "$@" --verify --json; }
for transport in pvm local; do
    for way in sample bitonic; do
        sorting --count 10007 --units 8 --way $way --slaves 3 --transport $transport
        job_verified "sort by $way, $transport"
        sorting --count 3 --units 16 --way $way --slaves 2 --transport $transport
        job_verified "sort three by $way, $transport"
    done
    same "sort: phases, $transport" "$(json exchange.phases)" 11
done
run run sort --count 10007 --slaves 2
check "sort: the time by the model" grep -q "$modelled" "$work/out"
limited='^on slaves .*, limited by .*: compute .* %, exchange .* %, wait .* %; with scatter and gather (.*) by .* % of all$'
check "sort: what limits it" grep -q "$limited" "$work/out"
# the parts are all there is, up to their nine digits
whole() {
    awk "BEGIN { m = $(json makespan_s); s = $(json limits.on_slaves_s)
        d = m - s - $(json limits.data_s)
        w = s - $(json limits.compute_s) - $(json limits.exchange_s) - $(json limits.wait_s)
        print (s > 0 && d * d < 1e-14 && w * w < 1e-14) }"
}
for transport in pvm local; do
    sorting --count 200000 --slaves 2 --transport $transport
    same "sort, $transport: what it takes on slaves and in all" "$(whole)" 1
done
# ten exchanges of little, none of which waits for a time-out
sorting --count 1000 --units 16 --way bitonic --slaves 2 --slots 1
job_verified "sort little by ten exchanges"
moving_ms=$(json exchange.moving_s | awk '{ printf "%d", $1 * 1000 }')
at_most "sort little: in the all-to-all" "$moving_ms" $((2500 * slow)) ms
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n40 50"
    for (i = 0; i < 2000; i++) print i % 7 == 0 ? "-0.0" : (i * 13) % 5 - 2 }' \
    > "$work/few.mtx"
for way in sample bitonic; do
    sorting --file "$work/few.mtx" --way $way --slaves 3 --out "$work/$way.mtx"
    job_verified "sort a matrix by $way"
done
check "sort: both ways give the same" cmp "$work/sample.mtx" "$work/bitonic.mtx"
same "sort: one column" "$(sed -n 2p "$work/sample.mtx")" "2000 1"
check "sort: in order" diff <(sed 1,2d "$work/sample.mtx") \
    <(sed 1,2d "$work/sample.mtx" | sort -g -s)

# traces: units are numbered phase after phase
transpose --slaves 2 --bands 6 --trace "$work/trace"
job_verified "a trace"
run gantt "$work/trace" -o "$work/gantt.svg"
same "a trace: drawn" "$rc" 0
check "a trace: the exchange" grep -q exchange "$work/gantt.svg"
run replay "$work/trace"
refused 2 "a trace of several phases is replayed"

# a unit that fails in a later phase: the last attempt is the other slave's, and the
# trace says which unit of all it was
failing() {
    timeout 60 "$top_builddir/tests/integ/phases_fail" "$@" > "$work/out" \
        2> "$work/err" < /dev/null
    rc=$?
}
in_trace() { grep "\"ev\":\"$1\"" "$work/trace" | grep -c '"unit":11[,}]'; }
failing "$work/trace" "$work/marker"
same "a unit fails once: exit status" "$rc" 0
same "a unit fails once: tried again" "$(cat "$work/out")" \
    "8 done, 1 retries, 2 exchanges"
same "a unit fails once: in the trace" "$(in_trace failed)" 1
run gantt "$work/trace" -o "$work/gantt.svg"
same "a unit fails once: drawn" "$rc" 0
failing "$work/trace"
same "a unit fails always: exit status" "$rc" 1
check "a unit fails always: it is named, with its phase" \
    err_says 'unit 3 of phase 1 given up after 3 attempts: as it was told to'
check "a unit fails always: in the report" grep -qx "unit 3, phase 1" "$work/out"
check "a unit fails always: tried elsewhere" grep -q "2 exchanges" "$work/out"
same "a unit fails always: in the trace" "$(in_trace failed)" 3
same "a unit fails always: given up in the trace" "$(in_trace given_up)" 1
run gantt "$work/trace" -o "$work/gantt.svg"
same "a unit fails always: drawn" "$rc" 0

# ------------------------------------------------------------ in mid-exchange
# so many bytes that it takes a while
export NOWFARM_LOG=info
deed= # what is done to slaves as the first exchange begins
heard() {
    if [[ $1 =~ ' is there, pid '([0-9]+) ]]; then
        slaves+=("${BASH_REMATCH[1]}")
    elif [[ $1 == *"exchange 1: phase 0, among"* ]]; then
        eval "$deed"
    fi
}
# begin_and DEED ARGS...: a job to which that is done
begin_and() {
    deed=$1 slaves=()
    shift
    begin "$@"
}
big=(--rows 4000 --cols 5000 --bands 40 --slaves 4 --slots 1)
# A kill may come when all has been exchanged: then another one.  The master names who
# is lost; survivors do if they see it before the master calls the exchange off, which
# is left to chance here (test_group_kills has it).
again() { exchanging 2 || ! kill -0 "$pid" 2> /dev/null; }
counted=0
for delay in 0.1 0.05 0 0 0.02 0; do
    begin_and "[ $delay = 0 ] || sleep $delay"'; kill -9 "${slaves[1]}"' "${big[@]}"
    check "the exchange begins" wait_until 30 exchanging 1
    kill_ms=$(now_ms)
    check "killed in the exchange: it goes on" wait_until $((20 * slow)) again
    took_ms=$(($(now_ms) - kill_ms))
    await 60
    job_verified "killed in the exchange"
    err_says 'exchange 1 is off: slave [0-9]+ \(.*\) is lost' || continue
    counted=$((counted + 1))
    at_most "killed in the exchange: in so much" $took_ms $((5000 * slow)) ms
    same "killed in the exchange: lost slaves" "$(json lost_slaves)" 1
    at_least "killed in the exchange: exchanges" "$(json exchange.tries)" 2
    at_least "killed in the exchange: done again" "$(json exchange.recomputed)" 1
done
at_least "killed in the exchange: so often" $counted 1

begin_and 'kill -STOP "${slaves[2]}"' "${big[@]}" --heartbeat-timeout 1s
check "the exchange begins" wait_until 30 exchanging 1
stop_ms=$(now_ms)
check "stopped in the exchange: there is another one" \
    wait_until $((20 * slow)) exchanging 2
at_most "stopped in the exchange: noticed" $(($(now_ms) - stop_ms)) \
    $((5000 * slow)) ms
await 60
# shellcheck disable=SC2046
kill -9 $(slave_pids) 2> /dev/null # the stopped one, if it is there still
job_verified "stopped in the exchange"
at_least "stopped in the exchange: lost slaves" "$(json lost_slaves)" 1

begin_and 'kill -9 "${slaves[@]}"' "${big[@]}"
await 60
job_verified "all killed in the exchange"
same "all killed in the exchange: lost slaves" "$(json lost_slaves)" 4
at_least "all killed in the exchange: done again" "$(json exchange.recomputed)" 40

begin_and : "${big[@]}" --out "$work/cancelled.npy"
check "the exchange begins" wait_until 30 exchanging 1
kill -INT "$pid"
await 20
same "cancelled in the exchange: exit status" "$rc" 130
check "cancelled in the exchange: no file" test ! -e "$work/cancelled.npy"
check "cancelled in the exchange: no slave is left" wait_until 10 no_slaves
unset NOWFARM_LOG
heard() { :; }

# -------------------------------------------------------------------- at random
RANDOM=$$
echo "# seed $$"
four_or_gone() { some_slaves 4 || gone; } # a job may end before they are seen
# A kill may come when the job is over: until enough have met one, sooner and sooner.
lost=0
for round in {1..30}; do
    begin --rows 4000 --cols 4000 --slaves 4 --slots 1
    wait_until 10 four_or_gone
    mapfile -t slaves < <(slave_pids)
    [ "$round" -gt 8 ] || sleep 0.$((RANDOM % 5))
    sleep 0.0$((RANDOM % 10))
    [ ${#slaves[@]} -eq 0 ] || kill -9 "${slaves[RANDOM % ${#slaves[@]}]}" 2> /dev/null
    await 60
    job_verified "killed at random, round $round"
    lost=$((lost + $(json lost_slaves)))
    [ "$round" -lt 8 ] || [ $lost -lt 2 ] || break
done
at_least "killed at random: lost slaves" $lost 2

# many exchanges, one slave lost in one of them
lost=0
for round in {1..20}; do
    wait_until 10 no_slaves
    start run sort --count 2000000 --units 16 --way bitonic --slaves 4 --slots 1 \
        --verify --json
    wait_until 10 four_or_gone
    mapfile -t slaves < <(slave_pids)
    [ "$round" -gt 4 ] || sleep 0.$((RANDOM % 7))
    sleep 0.0$((RANDOM % 10))
    [ ${#slaves[@]} -eq 0 ] || kill -9 "${slaves[RANDOM % ${#slaves[@]}]}" 2> /dev/null
    await 60
    job_verified "sort, killed at random, round $round"
    lost=$((lost + $(json lost_slaves)))
    [ "$round" -lt 4 ] || [ $lost -lt 1 ] || break
done
at_least "sort, killed at random: lost slaves" $lost 1

# -------------------------------------------------------------------- bad input
run run sort --gather tree
refused 2 "sort: a gather"
run run sort --file "$work/missing.npy"
refused 2 "sort: no such file"
run run sort --way bitonic --units 12
refused 2 "sort: no power of two"
run run transpose --gather tree
refused 2 "a gather"
run run transpose --emulate unit=1ms
refused 2 "an emulated world"
run run transpose --a "$work/missing.npy"
refused 2 "no such file"
run run transpose --a "$work/b.npy" --rows 3
refused 2 "a file and a size"
run run transpose --rows 0
refused 2 "no rows"
run run transpose --bands 5000
refused 2 "too many bands"
printf '%%%%MatrixMarket matrix array real general\n2 2\n1\nnan\n3\n4\n' \
    > "$work/nan.mtx"
run run transpose --a "$work/nan.mtx"
refused 2 "an entry that is no number"
run run transpose --rows 20 --cols 20 --slaves 1 --out "$work/no/where.npy"
refused 2 "no such directory"
run run transpose --rows 2000000000 --cols 2000000000
refused 2 "too large"

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
