#!/bin/bash
# The command line as scripts see it: one line a failure, whatever is in it;
# JSON alone on stdout; descriptors that are closed or full; signals while no
# slave is there to be told.  Threads are enough.
. "${0%/*}/lib.sh"
cd "$work" || exit 99
mkdir results
local=(run synth --transport local --slaves 2)

# --- one line, whatever the arguments hold
for command in frobnicate "run" "status" "wait" "hosts" "add" "chunks"; do
    run "$command" $'two\nlines' $'and\033[2Jmore'
    refused 2 "$command with control characters"
    check "$command with control characters: none is printed" \
        eval '! grep -q "[[:cntrl:]]" "$work/err"'
done
run add ws1 ws2
refused 2 "add of two hosts"
check "add of two hosts: the line names the second" err_says ws2
run add 'ws1;reboot'
refused 2 "add of no host name"
run remove ws1 --all
refused 2 "remove of one host and all"
mkfifo pipe.hosts
run -t 10 run synth --hosts pipe.hosts
refused 2 "a pipe as hosts file"
NOWFARM_SLAVE_PROGRAM=slave run run synth
refused 2 "NOWFARM_SLAVE_PROGRAM that is relative"
check "NOWFARM_SLAVE_PROGRAM that is relative: the line names it" \
    err_says NOWFARM_SLAVE_PROGRAM
run run matmul --help
check "help says how to call it" grep -q '^Usage: nowfarm run matmul ' out

# --- units given up: JSON all the same
run "${local[@]}" --units 20 --fault 3:error --json --quiet \
    --out results/r.bin
same "a unit given up: exit status" "$rc" 1
check "a unit given up: stdout is one JSON object" only_json
same "a unit given up: it is named" "$(json failures.0.unit)" 3
same "a unit given up: it says why" "$(json failures.0.reason)" \
    "fault of unit 3 as asked for"
same "a unit given up: verified" "$(json verified)" null
same "a unit given up: one line on stderr" "$(err_lines)" 1
check "a unit given up: which says what the file lacks" \
    err_says 'results/r.bin was written without'
same "a unit given up: the others are delivered" "$(ls -A results)" "r.bin"
rm -f results/r.bin
run "${local[@]}" --units 20 --fault 3:wrong --verify --json \
    --out results/r.bin
same "a wrong result: exit status" "$rc" 4
same "a wrong result: verified" "$(json verified)" false
same "a wrong result: no file" "$(ls -A results)" ""

for kind in kill exit stop; do
    run "${local[@]}" --units 20 --fault 3:$kind
    refused 2 "a fault of processes, $kind, for threads"
done

# --- stdout that takes nothing
full() { # TEXT ARGS...
    local text=$1
    shift
    timeout 60 "$NF" "$@" > /dev/full 2> err < /dev/null
    same "$text on a full disk: exit status" "$?" 1
    same "$text on a full disk: one line" "$(err_lines)" 1
    check "$text on a full disk: the line says so" err_says 'No space left'
}
full "run --json" "${local[@]}" --json
full "run" "${local[@]}"
full "policies --json" policies --json
full "--help" --help
timeout 60 "$NF" "${local[@]}" --json >&- 2> err < /dev/null
same "stdout closed: exit status" "$?" 1
same "stdout closed: one line" "$(err_lines)" 1
timeout 60 "$NF" "${local[@]}" --chatty --verify --json > out 2>&- < /dev/null
rc=$?
job_verified "stderr closed"
timeout 60 "$NF" "${local[@]}" --chatty --verify --json > out 2> err <&-
rc=$?
job_verified "stdin closed"
timeout 60 "$NF" "${local[@]}" --verify --json --out results/r.bin > out \
    <&- 2>&-
rc=$?
job_verified "stdin and stderr closed"
same "stdin and stderr closed: the file" "$(stat -c %s results/r.bin)" 8000
rm results/r.bin

# --- a file that gets too large: as a full disk, for everyone
(
    ulimit -f 64
    run run matmul --n 200 --transport local --slaves 2 --out results/c.npy
    exit $rc
)
same "a file that does not fit: exit status" "$?" 1
same "a file that does not fit: one line" "$(err_lines)" 1
check "a file that does not fit: the line names it" err_says 'results/c.npy'
same "a file that does not fit: nothing is left of it" "$(ls -A results)" ""

# --- signals while a file is written
writing() { [ -n "$(ls -A results)" ]; }
for signal in INT TERM HUP; do
    start run matmul --n 1500 --transport local --slaves 2 --json \
        --out results/c.mtx
    check "SIG$signal while writing: it writes" wait_until 60 writing
    kill "-$signal" "$pid"
    await 10
    same "SIG$signal while writing: exit status" "$rc" 130
    check "SIG$signal while writing: nothing on stdout" out_empty
    same "SIG$signal while writing: one line" "$(err_lines)" 1
    same "SIG$signal while writing: no file" "$(ls -A results)" ""
done

# twice, when once is not enough: the kernel does not come back
start "${local[@]}" --units 4 --fault 1:hang --json --out results/r.bin
sleep 0.5
kill -INT "$pid"
sleep 0.2
kill -INT "$pid" 2> /dev/null
await 10
same "SIGINT twice: exit status" "$rc" 130
check "SIGINT twice: nothing on stdout" out_empty
same "SIGINT twice: no file" "$(ls -A results)" ""

# --- nohup and background jobs
env --ignore-signal=HUP,INT "$NF" "${local[@]}" --units 40 --cost 50ms --verify \
    --json > out 2> err < /dev/null &
pid=$!
sleep 0.3
kill -HUP "$pid"
kill -INT "$pid"
start_ms=$(now_ms)
await 30
job_verified "signals that were ignored stay so"

# --- progress for a daemon
run "${local[@]}" --progress-fd 77
refused 2 "--progress-fd that is not open"
run "${local[@]}" --progress-fd 1
refused 2 "--progress-fd on stdout"
mkfifo progress
exec 7<> progress
timeout 1 cat /dev/zero >&7 # until it is full
timeout 30 "$NF" "${local[@]}" --units 100 --cost 5ms --progress-fd 7 --json \
    > out 2> err < /dev/null
rc=$?
exec 7>&-
same "progress that nobody reads does not stop the job" "$rc" 0
mkfifo gone
(exec 8< gone; read -r _ <&8) & # reads one line and leaves
reader=$!
"$NF" "${local[@]}" --units 1000 --cost 50ms --progress-fd 9 --json 9> gone \
    > out 2> err < /dev/null &
pid=$!
start_ms=$(now_ms)
await 20
wait "$reader"
same "progress whose reader is gone interrupts the job" "$rc" 130
check "progress whose reader is gone: nothing on stdout" out_empty

# --- a terminal: no line of the progress bar may wrap
if command -v script > /dev/null; then
    for columns in 100 60 20; do
        script -qec "stty cols $columns; exec '$NF' ${local[*]} --units 400 \
            --cost 3ms --json" /dev/null < /dev/null > typescript 2>&1
        longest=$(tr '\r' '\n' < typescript | sed 's/^\x1b\[K//' |
            grep '%' | awk '{ if (length > n) n = length }
                END { print n + 0 }')
        at_least "$columns columns: there is a progress bar" "$longest" 10
        at_most "$columns columns: it does not wrap" "$longest" $((columns - 1))
    done
fi
finish
