#!/bin/bash
# Results that stay with the slaves until the end (--gather tree, reduce): every
# unit counts once, whoever is killed or stopped, before and in mid-gather.
. "${0%/*}/lib.sh"
need_pvm

tree() { run run "$@" --gather tree --verify --json; }

# gathering N: the N-th gather has begun, as the master's log says; from SLAVES
gathering() { log_says "gather $1: from ${2:+$2 }"; }

for transport in pvm local; do
    tree matmul --n 320 --slaves 4 --policy static --transport $transport
    job_verified "tree, $transport"
    same "tree, $transport: bytes" "$(json gather.bytes)" $((320 * 320 * 8))
    same "tree, $transport: how" "$(json gather.how)" tree
    same "tree, $transport: slaves" "$(json gather.slaves)" 4
    same "tree, $transport: one try" "$(json gather.tries)" 1
    run run synth --units 300 --result 3000B --slaves 3 --gather reduce \
        --transport $transport --verify --json
    job_verified "reduce, $transport"
    same "reduce, $transport: bytes" "$(json gather.bytes)" 3000
    tree synth --units 50 --result 0B --slaves 2 --transport $transport
    job_verified "results of no bytes, $transport"
done
run run synth --units 40 --slaves 3 --json
same "a stream is not gathered" "$(json gather)" null

# results of different places in one file: as by a stream
run run synth --units 500 --slaves 3 --out "$work/stream" --json
run run synth --units 500 --slaves 3 --gather tree --out "$work/tree" --json
check "the same file" cmp "$work/stream" "$work/tree"

# ----------------------------------------------------------- before the gather
export NOWFARM_LOG=debug
check "four slaves have results" in_job "had_leases 4 10" run synth --units 300 \
    --cost 10ms --slaves 4 --slots 1 --result 1KiB --gather tree --verify --json
kill -9 "${slaves[0]}"
await 60
job_verified "killed before the gather"
same "killed before the gather: lost slaves" "$(json lost_slaves)" 1
at_least "killed before the gather: done again" "$(json gather.recomputed)" 1

check "four slaves have results" in_job "had_leases 4 10" run synth --units 300 \
    --cost 10ms --slaves 4 --slots 1 --result 1KiB --policy auto:replicate=1 \
    --gather tree --verify --json
kill -9 "${slaves[0]}" "${slaves[1]}"
await 60
job_verified "two of four killed, copies"
same "two of four killed, copies: lost slaves" "$(json lost_slaves)" 2

# a slave that is away for longer than the time-out, and comes back with results
# that do not count any more
check "three slaves have results" in_job "had_leases 3 10" run synth --units 600 \
    --cost 10ms --slaves 3 --slots 1 --result 1KiB --heartbeat-timeout 500ms \
    --gather tree --verify --json
away=${slaves[0]}
kill -STOP "$away"
check "away: lost" wait_until 20 err_says 'lost slave'
kill -CONT "$away"
await 60
job_verified "away and back"
same "away and back: lost slaves" "$(json lost_slaves)" 1
check "away and back: told" err_says 'is back'

# the product of two matrices, whose second one comes by a broadcast; killed as it gets
# its twentieth lease, long before the gather, however busy this machine is
heard() {
    if [[ $1 =~ slave' '([0-9]+)' '.*' is there, pid '([0-9]+) ]]; then
        slaves[BASH_REMATCH[1]]=${BASH_REMATCH[2]}
    elif [[ $1 == *"debug: lease "*" of slave 1 "* ]] && [ $((++leases)) = 20 ]; then
        kill -9 "${slaves[1]}"
    fi
}
slaves=() leases=0
start run matmul --n 2000 --slaves 4 --slots 1 --gather tree --verify --json
await 60
heard() { :; }
job_verified "matmul, killed before the gather"
same "matmul, killed before the gather: lost slaves" "$(json lost_slaves)" 1
at_least "matmul, killed before the gather: done again" \
    "$(json gather.recomputed)" 1
same "matmul, killed before the gather: one try" "$(json gather.tries)" 1

# several threads a slave, each with results of its own
check "three slaves have results" in_job "had_leases 3 20" run synth --units 400 \
    --cost 10ms --slaves 3 --slots 3 --result 1KiB --gather tree --verify --json
kill -9 "${slaves[0]}"
await 60
unset NOWFARM_LOG
job_verified "three slots, killed"
same "three slots, killed: lost slaves" "$(json lost_slaves)" 1
at_least "three slots, killed: done again" "$(json gather.recomputed)" 1

# given up units are not awaited, nor gathered
for gather in tree reduce; do
    run run synth --units 60 --slaves 3 --slots 1 --fault 17:error \
        --gather $gather --out "$work/lacking.$gather" --json
    same "given up, $gather: exit status" "$rc" 1
    same "given up, $gather: which" "$(json failures.0.unit)" 17
    same "given up, $gather: gathers" "$(json gather.tries)" 1
    check "given up, $gather: the file is told of" \
        err_says 'written without them'
done
run run synth --units 60 --slaves 3 --fault 17:error --out "$work/lacking" \
    --json
check "given up: the same file" cmp "$work/lacking" "$work/lacking.tree"

# the algorithms of groups, in so far as they are for so many members
export NOWFARM_COLL=gather.binomial,reduce.rabenseifner,bcast.flat
tree synth --units 50 --slaves 3 --shared 1MiB
job_verified "NOWFARM_COLL asks for what can't be"
# a result of one element: all blocks but one are empty
for wish in reduce.rabenseifner:6 reduce.seg:5; do
    NOWFARM_COLL=${wish%:*} run run synth --units 20 --gather reduce --verify \
        --slaves "${wish#*:}" --json
    job_verified "NOWFARM_COLL=$wish, one element"
    same "NOWFARM_COLL=$wish: tries" "$(json gather.tries)" 1
    same "NOWFARM_COLL=$wish: taken" "$(json gather.algorithm)" "${wish%:*}"
    check "NOWFARM_COLL=$wish: no line" test ! -s "$work/err"
done
NOWFARM_COLL=reduce.rabenseifner run run synth --units 20 --result 256KiB \
    --combine sum --gather reduce --verify --slaves 6 --json
job_verified "NOWFARM_COLL of what can serve"
same "NOWFARM_COLL of what can serve: taken" "$(json gather.algorithm)" \
    reduce.rabenseifner
check "NOWFARM_COLL of what can serve: no line" test ! -s "$work/err"
export NOWFARM_COLL=bcast.flat,gather.typo
tree synth --units 50 --slaves 3
same "NOWFARM_COLL with a typo: exit status" "$rc" 2
same "NOWFARM_COLL with a typo: one line" "$(err_lines)" 1
check "NOWFARM_COLL with a typo: it names it" \
    err_says 'NOWFARM_COLL: no algorithm "gather.typo"'
export NOWFARM_COLL=,
tree synth --units 50 --slaves 3
refused 2 "NOWFARM_COLL with nothing but a comma"
check "NOWFARM_COLL with nothing but a comma: it is told" \
    err_says 'NOWFARM_COLL: ",": a comma'
unset NOWFARM_COLL

# what members may keep: a binomial tree takes a vector of each child
limited() {
    NOWFARM_COLL_MEMORY=$1 run run synth --units 20 --result 4KiB \
        --combine sum --gather reduce --verify --slaves 4 --json
    job_verified "NOWFARM_COLL_MEMORY=$1"
}
limited 1GiB
same "room for it: taken" "$(json gather.algorithm)" reduce.binomial
check "room for it: no line" test ! -s "$work/err"
limited 1B
same "no room for it: that which keeps least" "$(json gather.algorithm)" \
    reduce.chain.fd
check "no room for it: no line" test ! -s "$work/err"
limited plenty
same "no size: no limit" "$(json gather.algorithm)" reduce.binomial
same "no size: one line" "$(err_lines)" 1
check "no size: it is told" err_says 'NOWFARM_COLL_MEMORY: "plenty"'

# --------------------------------------------------------------- in mid-gather
# so many bytes that it takes a while
export NOWFARM_LOG=info
big=(synth --units 64 --result 4MiB --slaves 4 --slots 1 --gather tree \
    --verify --json)
check "a gather from four begins" in_job "gathering 1 4" run "${big[@]}"
kill -9 "${slaves[1]}"
await 60
job_verified "killed in mid-gather"
same "killed in mid-gather: lost slaves" "$(json lost_slaves)" 1
at_least "killed in mid-gather: tries" "$(json gather.tries)" 2
at_least "killed in mid-gather: done again" "$(json gather.recomputed)" 1

check "a gather from four begins" in_job "gathering 1 4" run "${big[@]}" \
    --heartbeat-timeout 1s
stopped=${slaves[2]}
kill -STOP "$stopped"
stop_ms=$(now_ms)
check "stopped in mid-gather: there is another one" \
    wait_until $((10 * slow)) gathering 2
at_most "stopped in mid-gather: noticed" $(($(now_ms) - stop_ms)) \
    $((4000 * slow)) ms
await 60
kill -9 "$stopped" 2> /dev/null
job_verified "stopped in mid-gather"
same "stopped in mid-gather: lost slaves" "$(json lost_slaves)" 1

check "a gather from four begins" in_job "gathering 1 4" run "${big[@]}"
kill -9 "${slaves[0]}" "${slaves[3]}"
await 60
job_verified "two of four killed in mid-gather"
same "two of four killed in mid-gather: lost" "$(json lost_slaves)" 2

check "a gather from four begins" in_job "gathering 1 4" run "${big[@]}"
kill -9 "${slaves[@]}"
await 60
job_verified "all killed in mid-gather"
same "all killed in mid-gather: lost slaves" "$(json lost_slaves)" 4
at_least "all killed in mid-gather: tries" "$(json gather.tries)" 2
at_least "all killed in mid-gather: done again" "$(json gather.recomputed)" 64

check "a gather from four begins" in_job "gathering 1 4" run synth --units 16 \
    --result 16MiB --slaves 4 --slots 1 --gather reduce --verify --json
kill -9 "${slaves[1]}"
await 60
job_verified "reduce, killed in mid-gather"
same "reduce, killed in mid-gather: lost slaves" "$(json lost_slaves)" 1
at_least "reduce, killed in mid-gather: tries" "$(json gather.tries)" 2
at_least "reduce, killed in mid-gather: done again" \
    "$(json gather.recomputed)" 1

# ... and where one stops
check "a gather from four begins" in_job "gathering 1 4" run synth --units 16 \
    --result 16MiB --slaves 4 --slots 1 --gather reduce --verify --json \
    --heartbeat-timeout 1s
stopped=${slaves[2]}
kill -STOP "$stopped"
await 60
kill -9 "$stopped" 2> /dev/null
job_verified "reduce, stopped in mid-gather"
at_least "reduce, stopped in mid-gather: lost slaves" "$(json lost_slaves)" 1
at_least "reduce, stopped in mid-gather: tries" "$(json gather.tries)" 2

check "a gather from four begins" in_job "gathering 1 4" run "${big[@]}" \
    --out "$work/cancelled"
rm -f "$work/cancelled" # of a job that was over before
kill -INT "$pid"
await 20
same "cancelled in mid-gather: exit status" "$rc" 130
check "cancelled in mid-gather: no file" test ! -e "$work/cancelled"
check "cancelled in mid-gather: no slave is left" wait_until 10 no_slaves
unset NOWFARM_LOG

# ------------------------------------------------------------------ shared data
export NOWFARM_LOG=info
shared=(synth --units 400 --cost 10ms --shared 31MiB --slaves 4 --slots 1
    --verify --json)
failed='the broadcast failed|has no shared data yet'
# in_broadcast SIGNAL OPTIONS...: a job of which one slave gets SIGNAL while it gets
# shared data.  Where it had them already, since this script got no processor, the
# job is run once more.
in_broadcast() {
    local signal=$1 victim try
    shift
    for try in {1..12}; do
        check "the slaves get shared data by a broadcast" \
            in_job "log_says 'shared data to 4 slaves by bcast'" \
            run "${shared[@]}" "$@"
        victim=${slaves[2]}
        kill "-$signal" "$victim"
        await 60
        kill -9 "$victim" 2> /dev/null
        err_says "$failed" && return 0
        echo "# try $try: the broadcast was over before $signal"
    done
    return 1
}
check "killed in the broadcast: it failed" in_broadcast KILL
job_verified "killed in the broadcast"

# its master may find it silent before the others do
failed+='|left out: silent since it was started'
check "stopped in the broadcast: it failed" \
    in_broadcast STOP --heartbeat-timeout 1s
job_verified "stopped in the broadcast"

overs() { [ "$(grep -c "group $1 is over" "$work/err")" = "$2" ]; }
check "who has the shared data leaves the group" \
    in_job "overs 1 4" run "${shared[@]}" --units 400 --shared 1MiB
kill -9 "${slaves[0]}"
await 60
job_verified "a new slave gets shared data"
check "a new slave gets shared data: of another one" \
    err_says 'slave 4 .*gets the shared data of slave'
check "a new slave gets shared data: both leave their group" overs 2 2
unset NOWFARM_LOG

# who has the data when the group is given up does not care for its messages
cpu_ms() { # of the processes $*
    local pid stat sum=0
    for pid in "$@"; do
        read -r stat < "/proc/$pid/stat" || return 1
        read -ra stat <<< "${stat##*) }"
        sum=$((sum + (stat[11] + stat[12]) * 1000 / $(getconf CLK_TCK)))
    done
    echo $sum
}
pid_of() { sed -n "s/.*info: slave $1 (.*is there, pid //p" "$work/err"; }
export NOWFARM_COLL=bcast.pipeline.fd:k=64 NOWFARM_LOG=debug
# The one before the last is stopped; slave 3 can't get rid of it all.  Where it had it
# already, since this script got no processor, the job is run once more.
stop_before_last() {
    local try
    for try in {1..12}; do
        check "there is a broadcast" in_job "log_says 'shared data to 6 slaves by'" \
            run synth --units 2000 --cost 10ms --shared 31MiB --slaves 6 --slots 1 \
            --verify --json
        stopped=$(pid_of 4)
        kill -STOP "$stopped"
        wait_until 20 had_leases 3 1
        kill -9 "$stopped"
        wait_until 3 log_says 'has no shared data yet' && return 0
        echo "# try $try: the broadcast was over before"
        await 60
    done
    return 1
}
check "given up while some have all: it failed" stop_before_last
three_are_over() { [ "$(grep -c 'group 1 is over' "$work/err")" -ge 3 ]; }
check "given up while some have all: they leave" wait_until 10 three_are_over
mapfile -t having < <(pid_of 0; pid_of 1; pid_of 2; pid_of 3)
before=$(cpu_ms "${having[@]}")
sleep 1
at_most "given up while some have all: they sleep" \
    $(($(cpu_ms "${having[@]}") - before)) $((400 * slow)) ms
await 60
job_verified "given up while some have all"
same "given up while some have all: one is lost" "$(json lost_slaves)" 1
same "given up while some have all: which" "$(json lost.0.slave)" 4
unset NOWFARM_COLL NOWFARM_LOG

# -------------------------------------------------------------------- at random
RANDOM=$$
echo "# seed $$"
export NOWFARM_LOG=info
all_or_gone() { [ "$(slaves_told | wc -l)" -ge 4 ] || gone; }
# some die before they are ready, or when the job is over: until enough did not
lost=0
for round in {1..30}; do
    wait_until 10 no_slaves
    start run synth --units 240 --cost 10ms --slaves 4 --slots 1 \
        --result 200KiB --gather reduce --verify --json
    wait_until 20 all_or_gone
    mapfile -t slaves < <(slaves_told)
    sleep 0.$((RANDOM % 4))$((RANDOM % 10))
    [ ${#slaves[@]} -eq 0 ] || gone ||
        kill -9 "${slaves[RANDOM % ${#slaves[@]}]}" 2> /dev/null
    await 60
    job_verified "reduce, killed at random, round $round"
    lost=$((lost + $(json lost_slaves)))
    [ "$round" -lt 10 ] || [ $lost -lt 4 ] || break
done
unset NOWFARM_LOG
at_least "reduce, killed at random: lost slaves" $lost 4

# -------------------------------------------------------------------- bad input
run run synth --gather nonsense
refused 2 "no such way"
check "no such way: named" err_says nonsense
run run matmul --n 32 --gather reduce
refused 2 "nothing to combine"
run run synth --gather tree --emulate unit=1ms
refused 2 "an emulated world"

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
