#!/bin/bash
# The virtual machine: started if there is none, used if there is one, halted
# only by who started it, and a stale pvmd file does not stop anyone.
. "${0%/*}/lib.sh"
need_pvm

start_vm() { # as a user would, by hand
    echo quit | timeout 20 pvm > "$work/console" 2>&1
    check "a pvmd was started by hand" wait_until 5 eval '[ -n "$(pvmd_pids)" ]'
}
job() {
    run run matmul --n 320 --slaves 3 --verify --json
    job_verified "$1"
}

job "no pvmd"
check "the pvmd that nowfarm started is gone" wait_until 5 no_pvmd

start_vm
vm=$(pvmd_pids)
job "a pvmd runs already"
job "a pvmd runs already, again"
same "the pvmd is the same and was not halted" "$(pvmd_pids)" "$vm"
check "no slave is left" wait_until 5 no_slaves
tasks=$(printf 'ps -a\nquit\n' | timeout 20 pvm 2>&1 | grep -c nowfarm-slave)
same "PVM knows of no slave any more" "$tasks" 0

# two jobs at once share it
"$NF" run synth --units 40 --cost 50ms --slaves 2 --verify --json \
    > "$work/out2" 2> "$work/err2" < /dev/null &
other=$!
job "first of two jobs at once"
wait "$other"
same "second of two jobs at once: exit status" "$?" 0
same "second of two jobs at once: verified" \
    "$("$jsonget" "$work/out2" verified)" true
same "the pvmd is still the same" "$(pvmd_pids)" "$vm"

# kill -9 leaves a file that blocks the next pvmd
kill -9 "$vm"
check "the pvmd is dead" wait_until 5 no_pvmd
check "its file is still there" eval 'ls "$PVM_TMP" | grep -q "^pvmd"'
job "a stale pvmd file"
job "a stale pvmd file, second time"
check "the pvmd that nowfarm started is gone" wait_until 5 no_pvmd

# one starts the virtual machine and is done first; the other goes on
start run synth --units 20 --cost 50ms --slaves 2 --verify --json
check "the first job has slaves" wait_until 10 some_slaves 2
"$NF" run synth --units 80 --cost 50ms --slaves 2 --verify --json \
    > "$work/out2" 2> "$work/err2" < /dev/null &
other=$!
await 30
job_verified "the job that started the virtual machine"
wait "$other"
same "the job that joined it: exit status" "$?" 0
same "the job that joined it: verified" \
    "$("$jsonget" "$work/out2" verified)" true
finish
