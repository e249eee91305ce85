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

# stopped_orphan TEXT: kill the master while one of its slaves is stopped.
stopped_orphan() {
    local victim before
    before=$(slave_pids)
    start run synth --units 100000 --cost 20ms --slaves 3 --json
    check "$1: slaves are there" wait_until 10 \
        some_slaves $(($(count "$before") + 3))
    victim=$(slave_pids | grep -vxF "${before:-none}" | head -n 1)
    kill -STOP "$victim"
    kill -9 "$pid"
    await 5
    check "$1: a stopped slave is gone" wait_until 10 eval "! alive $victim"
}

stopped_orphan "alone"
check "alone: no slave is left" wait_until 10 no_slaves
check "alone: no pvmd is left" wait_until 5 no_pvmd

# Others in the same virtual machine: theirs goes on, and it is they who halt it.
"$NF" run synth --units 500 --cost 20ms --slaves 2 --verify --json \
    > "$work/other" 2> "$work/other.err" &
other=$!
check "beside a job: that has slaves" wait_until 10 some_slaves 2
stopped_orphan "beside a job"
check "beside a job: the other's slaves stay" some_slaves 2
wait "$other"
same "beside a job: the other's exit status" "$?" 0
same "beside a job: it is verified" \
    "$("$jsonget" "$work/other" verified)" true
check "beside a job: no pvmd is left" wait_until 5 no_pvmd

# A console stands for any other program: PVM is left to it.
mkfifo "$work/console"
pvm < "$work/console" > /dev/null 2>&1 &
exec 9> "$work/console"
check "beside a console: PVM runs" wait_until 10 eval '! no_pvmd'
echo "spawn /bin/sleep 3600" >&9
check "beside a console: it has a task" wait_until 5 eval '[ -n "$(our_pids sleep)" ]'
run run synth --units 20 --slaves 2 --verify --json
job_verified "beside a console: a job"
at_most "beside a console: it left at once" "$took_ms" $((2500 * slow)) ms
stopped_orphan "beside a console"
check "beside a console: its task stays" test -n "$(our_pids sleep)"
check "beside a console: PVM stays" eval '! no_pvmd'
echo "halt" >&9
exec 9>&-
check "beside a console: halted" wait_until 10 no_pvmd

# what the dead master left behind does not harm the next one
run run synth --units 100 --slaves 2 --verify --json
job_verified "the next job"
finish
