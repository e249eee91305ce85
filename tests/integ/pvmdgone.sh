#!/bin/bash
# The local pvmd is killed in mid-job: one line, exit status 3 within 10 s, and
# nothing is left, neither a process nor a file that stops the next job.
. "${0%/*}/lib.sh"
need_pvm

start run synth --units 4000 --cost 50ms --slaves 2 --json
check "the job has slaves" wait_until 10 some_slaves 2
sleep 0.5
kill -9 $(pvmd_pids)
await 10
same "exit status" "$rc" 3
at_most "the job ended" "$took_ms" $((13000 * slow)) ms
# libpvm has a line of its own for who is sending just then; no option silences it.
libpvms='^libpvm \[t[0-9a-f]+\]: mxfer\(\) mxinput bad return on pvmd sock$'
same "one line of ours on stderr" "$(grep -Evc "$libpvms" "$work/err")" 1
at_most "lines of libpvm's" "$(grep -Ec "$libpvms" "$work/err")" 1
check "it says what happened" err_says 'PVM'
check "no slave is left" wait_until 10 no_slaves
check "no process of ours is left" wait_until 10 eval '[ -z "$(our_pids nowfarm)" ]'
check "no pvmd file is left" wait_until 5 eval '! ls "$PVM_TMP" | grep -q "^pvmd"'
run run synth --units 20 --slaves 2 --verify --json
job_verified "the next job"
check "its pvmd is gone" wait_until 5 no_pvmd
finish
