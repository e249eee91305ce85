#!/bin/bash
# nowfarmd when things die: slaves, the daemon itself, the virtual machine; and
# a virtual machine that is someone else's.
. "${0%/*}/lib.sh"
slow_test
need_pvm
. "$lib_dir/jobs-lib.sh"

# --- someone else's virtual machine
echo quit | timeout 20 pvm > "$work/console" 2>&1
check "a pvmd was started by hand" wait_until 5 eval '[ -n "$(pvmd_pids)" ]'
vm=$(pvmd_pids)
start_daemon
submit synth --units 200 --cost 20ms --slaves 3 --slots 1 --verify
check "a slave is killed: the job has begun" wait_until 20 is_busy "$job"
kill -9 "$(slave_pids | head -n 1)"
ends_with "a slave is killed" 0
result
job_verified "a slave is killed"
same "a slave is killed: lost slaves" "$(json lost_slaves)" 1
run result --log "$job"
check "a slave is killed: the log is quiet" out_empty
stop_daemon TERM 0
same "another's pvmd stays" "$(pvmd_pids)" "$vm"

# --- one stops in order in mid-job, and goes on
start_daemon
submit synth --units 60 --cost 50ms --slaves 3 --slots 1 --verify
check "stopped in mid-job: the job has begun" wait_until 20 is_busy "$job"
stop_daemon INT 130
check "stopped in mid-job: slaves are gone" wait_until 5 no_slaves
start_daemon
ends_with "stopped in mid-job" 0
result
job_verified "stopped in mid-job"
same "stopped in mid-job: attempts" "$(job_field "$job" attempts)" 2
stop_daemon TERM 0
same "another's pvmd still stays" "$(pvmd_pids)" "$vm"
kill "$vm"
check "it is gone now" wait_until 10 no_pvmd

# --- the daemon is killed
start_daemon
submit --name finished synth --units 20 --slaves 2 --verify
finished=$job
ends_with "daemon killed: a job before" 0
submit --name running synth --units 400 --cost 20ms --slaves 3 --slots 1 \
    --out "$work/elsewhere/r.bin" --verify
running=$job
submit --name queued synth --units 20 --slaves 2 --verify
queued=$job
check "daemon killed: a job has begun" wait_until 20 is_busy "$running"
runner=$(runner_of "$running")
check "daemon killed: its slaves are there" some_slaves 3
kill -9 "$daemon"
killed=$(now_ms)
wait "$daemon" 2> /dev/null
check "daemon killed: slaves are gone" wait_until 10 no_slaves
at_most "daemon killed: that took" $(($(now_ms) - killed)) 10000 ms
check "daemon killed: the runner is gone" wait_until 10 is_gone "$runner"
same "daemon killed: no half output" "$(ls -A "$work/elsewhere")" ""
run status
refused 3 "daemon killed: status"
start_daemon
job=$finished
result
job_verified "daemon killed: the result of before"
job=$running
ends_with "daemon killed: the running job" 0
result
job_verified "daemon killed: the running job"
same "daemon killed: attempts of it" "$(job_field "$job" attempts)" 2
same "daemon killed: its output" "$(stat -c %s "$work/elsewhere/r.bin")" 3200
job=$queued
ends_with "daemon killed: the queued job" 0
same "daemon killed: attempts of that" "$(job_field "$job" attempts)" 1

# --- the virtual machine is killed
# shellcheck disable=SC2046
kill -9 $(pvmd_pids)
check "pvmd killed: it is dead" wait_until 5 no_pvmd
submit synth --units 40 --slaves 2 --verify
ends_with "pvmd killed: the next job" 0
vm=$(pvmd_pids)
check "pvmd killed: there is a new one" test -n "$vm"
submit synth --units 40 --slaves 2 --verify
ends_with "pvmd killed: the one after" 0
same "pvmd killed: the new one is kept" "$(pvmd_pids)" "$vm"

stop_daemon TERM 0
check "no pvmd is left" wait_until 5 no_pvmd
check "no slave is left" no_slaves
check "nowfarmd did not complain" no_complaints
finish
