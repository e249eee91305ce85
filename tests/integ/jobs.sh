#!/bin/bash
# A day in the life of nowfarmd, with the real runner on a real virtual machine.
. "${0%/*}/lib.sh"
need_pvm
. "$lib_dir/jobs-lib.sh"
. "$lib_dir/matrix.sh"

start_daemon
check "the daemon has started a virtual machine" test -n "$(pvmd_pids)"
vm=$(pvmd_pids)

# --- a job of files, given from another directory
cd "$work/elsewhere" || exit 99
# A = 1 2      B = 1 0 2 1     A B = 7 2 2 3
#     3 4          3 1 0 1           15 4 6 7
#     5 6                            23 6 10 11
printf '%s\n' '%%MatrixMarket matrix array real general' '3 2' \
    1 3 5 2 4 6 > a.mtx
npy_f64 False '2, 4' 1 0 2 1 3 1 0 1 > b.npy
submit --name product matmul --a a.mtx --b b.npy --out c.mtx --slaves 2 \
    --policy send:g=2 --verify
cd "$work" || exit 99
ends_with "files" 0
check "files: the output is where the submitter was, and right" \
    mtx_is elsewhere/c.mtx 3 4 7 15 23 2 4 6 2 6 10 3 7 11
same "files: nothing else was written" "$(find elsewhere -type f | wc -l)" 3
result
job_verified "files: result"
same "files: application of the result" "$(json app)" matmul
same "files: policy of the result" "$(json policy)" send:g=2
same "files: units of the result" "$(json units)" 4
same "files: messages of the result" "$(json messages)" 4
same "files: state" "$(job_field "$job" state)" "done"
same "files: status has the units" "$(job_field "$job" units)" 4
same "files: status has what was done" "$(job_field "$job" "done")" 4
run result --log "$job"
check "files: nothing in the log" out_empty
same "files: the virtual machine stays" "$(pvmd_pids)" "$vm"
check "files: its slaves do not" wait_until 5 no_slaves
first=$job

# --- exit statuses
submit synth --units 40 --slaves 2 --fault 3:error
ends_with "a unit given up" 1
result
same "a unit given up: the report is there all the same" "$rc" 0
check "a unit given up: and is JSON" only_json
same "a unit given up: it is counted" "$(json failed_units)" 1
same "a unit given up: it is named" "$(json failures.0.unit)" 3
same "a unit given up: state" "$(job_field "$job" state)" failed
check "a unit given up: the note says which" \
    grep -q 'unit 3' <<< "$(job_field "$job" note)"
submit matmul --a nosuch.mtx --b nosuch.mtx
ends_with "no input file" 2
same "no input file: state" "$(job_field "$job" state)" failed
same "no input file: status has the exit status" \
    "$(job_field "$job" exit_status)" 2
check "no input file: the note names it" \
    grep -q 'nosuch.mtx' <<< "$(job_field "$job" note)"
run status "$job"
check "no input file: status names it" grep -q 'nosuch.mtx' "$work/out"
run result --log "$job"
check "no input file: the log names it" grep -q 'nosuch.mtx' "$work/out"
same "no input file: the log is one line" "$(wc -l < "$work/out")" 1
run result "$job"
refused 1 "no input file: result"
submit synth --units 40 --slaves 2 --fault 3:wrong --verify
ends_with "a wrong result" 4
result
same "a wrong result: verified" "$(json verified)" false

# --- cancel
rm elsewhere/*
cd elsewhere || exit 99
submit synth --units 1000 --cost 50ms --slaves 3 --out r.bin
cd "$work" || exit 99
check "cancel: the job has begun" wait_until 20 is_busy "$job"
submit --name behind synth --units 10
behind=$job job=$((job - 1))
run cancel "$behind"
same "cancel: of a queued job" "$rc" 0
run wait "$behind"
same "cancel: wait for the queued job" "$rc" 130
same "cancel: one line of the queued job" "$(err_lines)" 1
check "cancel: it says that it was cancelled" \
    err_says "job $behind cancelled: nowfarm cancel ended it"
check "cancel: the queued job never began" never_started "$behind"
runner=$(runner_of "$job")
sent=$(now_ms)
run cancel "$job"
same "cancel: exit status" "$rc" 0
check "cancel: slaves are gone" wait_until 5 no_slaves
at_most "cancel: that took" $(($(now_ms) - sent)) $((5000 * slow)) ms
ends_with "cancel" 130
check "cancel: wait says so" err_says "job $job cancelled: nowfarm cancel"
same "cancel: state" "$(job_field "$job" state)" cancelled
check "cancel: its runner is gone" is_gone "$runner"
same "cancel: no half output" "$(ls -A elsewhere)" ""
run cancel "$job"
refused 1 "cancel: twice"
same "cancel: the virtual machine stays" "$(pvmd_pids)" "$vm"
same "cancel: it has no tasks left" "$(printf 'ps -a\nquit\n' |
    timeout 20 pvm 2>&1 | grep -c nowfarm-slave)" 0

# --- priorities
submit --name gate synth --units 1000 --cost 50ms --slaves 1
gate=$job
check "priorities: the first job has begun" wait_until 20 is_busy "$gate"
submit --name low --priority -5 synth --units 4
submit --name middle synth --units 4
submit --name high --priority 5 synth --units 4
run cancel "$gate"
for job in $((gate + 1)) $((gate + 2)) $((gate + 3)); do
    ends_with "priorities: job $job" 0
done
same "priorities: the order of starting" "$(sed -n \
    's/.*(\(low\|middle\|high\)): started.*/\1/p' "$daemon_log" |
    tr '\n' ' ')" "high middle low "

# --- two at a time
configure 'max_running = 2'
kill -HUP "$daemon"
submit synth --units 1000 --cost 20ms --slaves 2 --slots 1 --verify
one=$job
submit synth --units 1000 --cost 20ms --slaves 2 --slots 1 --verify
two=$job
check "max_running = 2: the first has begun" wait_until 20 is_busy "$one"
check "max_running = 2: so has the second" wait_until 20 is_busy "$two"
check "max_running = 2: both still run" eval \
    'is_state "$one" running && is_state "$two" running'
check "max_running = 2: all slaves are there" some_slaves 4
same "max_running = 2: in one virtual machine" "$(pvmd_pids)" "$vm"

# --- and a job of someone else beside them
run run synth --units 40 --cost 5ms --slaves 2 --verify --json
job_verified "a nowfarm run beside them"
same "a nowfarm run beside them: the virtual machine stays" "$(pvmd_pids)" \
    "$vm"
for job in $one $two; do
    ends_with "max_running = 2: job $job" 0
    result
    job_verified "max_running = 2: job $job"
    same "max_running = 2: job $job lost no slave" "$(json lost_slaves)" 0
done

# --- what is not taken
jobs_listed() { "$NF" status | wc -l; }
listed=$(jobs_listed)
bad() { # TEXT PATTERN ARGS...
    local text=$1 pattern=$2
    shift 2
    run submit "$@"
    refused 2 "$text"
    check "$text: the line says what" err_says "$pattern"
}
bad "no application" application
bad "unknown application" nosuch nosuch --n 8
bad "unknown policy" bogus matmul --n 8 --policy bogus
bad "unknown parameter" bogus matmul --n 8 --policy presend:bogus=1
bad "unknown option" frobnicate matmul --n 8 --frobnicate
bad "bad number" abc matmul --n abc
bad "negative number" '-5' matmul --n -5
bad "no unit on a time" 5 synth --cost 5
bad "two lines in a word" 'no application' $'two\nlines'
bad "bad priority" priority --priority 5000 matmul --n 8
same "nothing of that was queued" "$(jobs_listed)" "$listed"

# --- a second daemon, and one without PVM
try_daemon
refused 2 "a second daemon"
check "a second daemon: the line says who runs" err_says "pid $daemon"
check "a second daemon: the first still answers" answers
PVM_TMP=$work/nosuchdir XDG_STATE_HOME=$work/state2 try_daemon \
    --socket "$work/run/other.sock"
refused 3 "a daemon without PVM"
check "a daemon without PVM: the line says why" err_says 'nosuchdir|PVM'
check "a daemon without PVM: no socket" test ! -e "$work/run/other.sock"
same "the virtual machine is still the same" "$(pvmd_pids)" "$vm"

# --- the end
job=$first
result
job_verified "the first result is still there"
stop_daemon TERM 0
check "it halts the virtual machine that it started" wait_until 5 no_pvmd
check "no slave is left" no_slaves
check "nowfarmd did not complain" no_complaints
finish
