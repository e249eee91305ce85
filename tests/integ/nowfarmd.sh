#!/bin/bash
# nowfarmd as a whole, with fake_runner in the place of `nowfarm run`.
# Every check is a line; the first that fails ends the script with status 1.
set -u

top_builddir=${top_builddir:-$PWD}
daemon=$top_builddir/master/nowfarmd
client=$top_builddir/tests/integ/jobs_cli
runner=$top_builddir/tests/integ/fake_runner
dir=$(mktemp -d "${TMPDIR:-/tmp}/nowfarmd-test.XXXXXX") || exit 99
socket=$dir/run/nowfarmd.sock
daemon_pid=
burners=()
mkdir "$dir/run" "$dir/work"
chmod 700 "$dir/run"
export HOME=$dir XDG_CONFIG_HOME=$dir/config XDG_STATE_HOME=$dir/state
export NOWFARM_SOCKET=$socket
unset NOWFARM_LOG XDG_RUNTIME_DIR

clean_up()
{
    local status=$?
    [ -z "$daemon_pid" ] || kill -KILL "$daemon_pid" 2>/dev/null
    [ ${#burners[@]} -eq 0 ] || kill -KILL "${burners[@]}" 2>/dev/null
    wait 2>/dev/null
    [ "$status" -eq 0 ] || { echo "--- log of the daemon"; cat "$dir/log"; }
    rm -rf "$dir"
}
trap clean_up EXIT

die()
{
    echo "FAILED: $*"
    exit 1
}

ok()
{
    echo "ok: $*"
}

# run STATUS COMMAND...: its output is in $out and $err
run()
{
    local want=$1 got
    shift
    out=$(timeout 60 "$@" 2>"$dir/err")
    got=$?
    err=$(cat "$dir/err")
    [ "$got" -eq "$want" ] ||
        die "$* exited with $got, not $want: $out $err"
}

# one_line TEXT PART: TEXT is one line that contains PART
one_line()
{
    [ "$(printf '%s\n' "$1" | wc -l)" -eq 1 ] || die "not one line: $1"
    case $1 in *"$2"*) ;; *) die "\"$1\" does not contain \"$2\"" ;; esac
}

contains()
{
    case $1 in *"$2"*) ;; *) die "\"$1\" does not contain \"$2\"" ;; esac
}

# eventually COMMAND...: true within 20 s
eventually()
{
    for _ in $(seq 400); do
        "$@" && return 0
        sleep 0.05
    done
    die "never came true: $*"
}

configure()
{
    cat >"$dir/nowfarm.conf"
}

start_daemon()
{
    "$daemon" --config "$dir/nowfarm.conf" --runner "$runner" \
        2>>"$dir/log" &
    daemon_pid=$!
    eventually "$client" status >/dev/null 2>&1
}

# stop_daemon SIGNAL STATUS
stop_daemon()
{
    local got
    kill -"$1" "$daemon_pid"
    wait "$daemon_pid"
    got=$?
    daemon_pid=
    [ "$got" -eq "$2" ] || die "SIG$1: the daemon exited with $got, not $2"
}

# state_of N: the state of job N
state_of()
{
    "$client" status --json "$1" 2>/dev/null |
        sed 's/.*"state": *"\([a-z]*\)".*/\1/'
}

is_state()
{
    [ "$(state_of "$1")" = "$2" ]
}

submit()
{
    run 0 "$client" submit "$@"
    job=$out
}

# the runner of job N, as the daemon's log has it
pid_of()
{
    sed -n "s/.*job $1 (.*): started, pid \([0-9]*\),.*/\1/p" "$dir/log" |
        tail -n 1
}

gone()
{
    ! kill -0 "$1" 2>/dev/null
}

: >"$dir/log"
configure <<END
max_running = 1
keep_jobs = 50
keep_vm = no
END

# --- without a daemon
for command in "submit fake" "status" "wait 1" "result 1" "cancel 1"; do
    # shellcheck disable=SC2086
    run 3 "$client" $command
    one_line "$err" "start one: nowfarmd"
done
ok "without a daemon every client exits with 3 and says how to start one"

# --- starts that fail
run 2 "$daemon" --nonsense
one_line "$err" "--nonsense"
run 2 "$daemon" --config /no/such.conf
one_line "$err" "/no/such.conf"
run 2 "$daemon" --config "$dir/nowfarm.conf" --runner /no/such
one_line "$err" "/no/such"
run 2 "$daemon" --config "$dir/nowfarm.conf" --runner "$runner" \
    --socket relative.sock
one_line "$err" "absolute"
mkdir -p "$dir/state/nowfarm"
echo "this is not a database, and long enough to look like one" \
    >"$dir/state/nowfarm/jobs.db"
run 2 "$daemon" --config "$dir/nowfarm.conf" --runner "$runner"
one_line "$err" "not a database"
[ ! -e "$socket" ] || die "a failed start left its socket behind"
rm -r "$dir/state"
run 0 "$daemon" --version
run 0 "$daemon" --help
ok "a start that fails says why in one line"

# --- permissions, and a second daemon
start_daemon
[ "$(stat -c %a "$socket")" = 600 ] || die "mode of the socket"
[ "$(stat -c %a "$dir/state/nowfarm/jobs.db")" = 600 ] || die "mode of jobs.db"
run 2 "$daemon" --config "$dir/nowfarm.conf" --runner "$runner"
one_line "$err" "already runs (pid $daemon_pid)"
run 2 "$daemon" --config "$dir/nowfarm.conf" --runner "$runner" \
    --socket "$dir/run/other.sock"
one_line "$err" "in use by another process"
ok "socket and database are the user's alone, and of one daemon only"

# --- a job
cd "$dir/work" || exit 99
(umask 037 && "$client" submit --name "a job" fake where env NOWFARM_X \
    env NOWFARM_JOB env NOWFARM_SOCKET say "to the log" >"$dir/number") || die submit
job=$(cat "$dir/number")
run 0 "$client" wait "$job"
run 0 "$client" result "$job"
contains "$out" "cwd $dir/work"
contains "$out" "umask 037"
contains "$out" "NOWFARM_JOB=$job"
contains "$out" "NOWFARM_SOCKET=$socket"
contains "$out" '"verified":true'
fds=$(printf '%s\n' "$out" | grep '^fd' | tr '\n' ' ')
[ "$fds" = "fd 0 fd 1 fd 2 fd 3 " ] || die "the runner inherited $fds"
run 0 "$client" result "$job" --log
[ "$out" = "to the log" ] || die "log: $out"
run 0 "$client" status "$job"
contains "$out" "a job"
contains "$out" "done"
NOWFARM_X=travels run 0 "$client" submit fake env NOWFARM_X
job=$out
run 0 "$client" wait "$job"
run 0 "$client" result "$job"
contains "$out" "NOWFARM_X=travels"
run 0 "$client" submit --json fake
contains "$out" '"job":'
ok "a job runs in its submitter's directory, umask and environment"

# --- bad usage
run 2 "$client" submit
one_line "$err" "want an application"
run 2 "$client" submit nosuch
one_line "$err" "nosuch"
run 2 "$client" submit --priority 1001 fake
one_line "$err" "-1000 to 1000"
run 2 "$client" submit --priority high fake
run 2 "$client" submit --name "" fake
run 2 "$client" submit --frobnicate fake
run 2 "$client" status 0
run 2 "$client" status x
run 2 "$client" status 1 2
run 2 "$client" wait
run 2 "$client" wait 1 --timeout 5
one_line "$err" "--timeout 5: want a time"
for command in status wait result cancel; do
    run 2 "$client" $command 4711
    one_line "$err" "no job 4711"
done
ok "bad usage exits with 2 and one line"

# --- exit statuses
for status in 1 2 3 4; do
    submit fake say "reason $status" exit $status
    run $status "$client" wait "$job"
    one_line "$err" "job $job failed: reason $status"
    is_state "$job" failed || die "exit $status is $(state_of "$job")"
    run 0 "$client" status "$job"
    contains "$out" "reason $status"
    run 1 "$client" result "$job"
    one_line "$err" "left no report"
done
submit fake exit 77
run 1 "$client" wait "$job"
submit fake exit 130
run 130 "$client" wait "$job"
is_state "$job" interrupted || die "exit 130 is $(state_of "$job")"
submit fake crash
run 1 "$client" wait --json "$job"
contains "$out" "killed by signal 6"
submit fake leak print kept
run 0 "$client" wait "$job"
run 0 "$client" result "$job"
contains "$out" kept
ok "wait exits with the job's status, whatever its processes do"

# --- progress, results before the end
submit fake progress 200 50 say begun until "$dir/go"
eventually is_state "$job" running
shows_progress()
{
    "$client" status "$job" | grep -q "50/200  25%"
}
eventually shows_progress
run 0 "$client" status
contains "$out" "25/s"
run 1 "$client" result "$job"
one_line "$err" "not finished yet"
run 0 "$client" result "$job" --log
contains "$out" begun
run 124 "$client" wait "$job" --timeout 100ms
one_line "$err" "has not ended in 100ms"
touch "$dir/go"
run 0 "$client" wait "$job"
run 1 "$client" cancel "$job"
one_line "$err" "finished already"
ok "a running job shows its progress and log"

# --- priorities
submit fake until "$dir/gate"
first=$job
submit --name low --priority -5 fake
submit --name old fake
submit --name young fake
submit --name high --priority 7 fake
order=$("$client" status | awk '$3 == "queued" { printf "%s ", $2 }')
[ "$order" = "high old young low " ] || die "status shows the order $order"
touch "$dir/gate"
run 0 "$client" wait "$first"
for name in 1 2 3 4; do
    run 0 "$client" wait $((first + name))
done
order=$(sed -n 's/.*(\(low\|old\|young\|high\)): started.*/\1/p' "$dir/log" |
    tr '\n' ' ')
[ "$order" = "high old young low " ] || die "started in the order $order"
ok "higher priorities go first, then older jobs"

# --- cancel
submit fake hang
running=$job
submit fake
queued=$job
eventually is_state "$running" running
run 0 "$client" cancel "$queued"
is_state "$queued" cancelled || die "a cancelled queued job is not cancelled"
run 130 "$client" wait "$queued"
run 0 "$client" cancel "$running"
run 130 "$client" wait "$running"
is_state "$running" cancelled || die "a cancelled running job is not cancelled"
submit fake hang
eventually is_state "$job" running
pid=$(pid_of "$job")
kill -STOP "$pid"
run 0 "$client" cancel "$job"
run 130 "$client" wait "$job"
submit fake deaf say ready hang
is_ready()
{
    "$client" result --log "$job" 2>/dev/null | grep -q ready
}
eventually is_ready
pid=$(pid_of "$job")
run 0 "$client" cancel "$job"
run 0 "$client" status "$job"
contains "$out" cancelling
run 130 "$client" wait "$job"
gone "$pid" || die "a deaf runner survived its cancel"
ok "queued, running, stopped and deaf jobs can be cancelled"

# --- status while everything is busy: answers need nobody's help
submit fake hang
eventually is_state "$job" running
pid=$(pid_of "$job")
kill -STOP "$pid"
"$client" half-line &
burners+=($!)
run 0 "$client" status "$job"
contains "$out" running
kill -CONT "$pid"
run 0 "$client" cancel "$job"
run 130 "$client" wait "$job"
submit fake flood
eventually is_state "$job" running
for _ in 1 2; do
    (while :; do :; done) &
    burners+=($!)
done
run 0 "$client" latency 100
echo "$out (wanted: 50)"
kill -KILL "${burners[@]}"
wait "${burners[@]}" 2>/dev/null
burners=()
run 0 "$client" cancel "$job"
run 130 "$client" wait "$job"
run 0 "$client" result "$job" --log
[ "$(printf '%s' "$out" | wc -c)" -le 262144 ] || die "the log was not bounded"
contains "$err" "bytes more were not kept"
ok "status is answered beside a stopped runner, half a line and a flood"

# --- kill -9
submit fake print before
finished=$job
run 0 "$client" wait "$finished"
submit fake until "$dir/again" env NOWFARM_JOB
running=$job
submit --priority 3 fake
queued=$job
eventually is_state "$running" running
pid=$(pid_of "$running")
"$client" wait "$running" 2>"$dir/waiter" &
waiter=$!
sleep 0.2
kill -KILL "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
daemon_pid=
wait "$waiter"
[ $? -eq 3 ] || die "wait did not exit with 3 when its daemon was killed"
eventually gone "$pid"
[ -S "$socket" ] || die "expected a stale socket"
touch "$dir/again"
start_daemon
run 0 "$client" result "$finished"
contains "$out" before
run 0 "$client" wait "$running"
run 0 "$client" wait "$queued"
run 0 "$client" status --json "$running"
contains "$out" '"attempts":2'
run 0 "$client" status --json "$queued"
contains "$out" '"attempts":1'
ok "after kill -9 finished results are there and the others run again"

# --- a runner that did not notice
submit fake say ready numb "$dir/never"
eventually is_ready
pid=$(pid_of "$job")
kill -KILL "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
gone "$pid" && die "expected a runner left behind"
start_daemon
eventually gone "$pid"
touch "$dir/never"
run 0 "$client" wait "$job"
ok "a runner left behind is killed before its job runs again"

# --- stopping in order
submit fake until "$dir/later"
eventually is_state "$job" running
pid=$(pid_of "$job")
stop_daemon TERM 0
gone "$pid" || die "a runner survived its daemon"
[ ! -e "$socket" ] || die "the socket survived its daemon"
touch "$dir/later"
start_daemon
run 0 "$client" wait "$job"
run 0 "$client" status --json "$job"
contains "$out" '"attempts":2'
submit fake deaf say ready until "$dir/heard"
eventually is_ready
kill -TERM "$daemon_pid"
refused()
{
    "$client" submit fake >/dev/null 2>"$dir/err"
    [ $? -eq 3 ] && grep -q stopping "$dir/err"
}
eventually refused
stop_daemon TERM 0 # the second one: at once
touch "$dir/heard"
start_daemon
run 0 "$client" wait "$job"
stop_daemon INT 130
ok "SIGTERM ends with 0, SIGINT with 130, interrupted jobs are queued again"

# --- reloading, keeping
start_daemon
submit fake until "$dir/one"
submit fake until "$dir/two"
two=$job
is_state "$two" queued || die "two jobs run at max_running = 1"
configure <<END
max_running = 0
END
kill -HUP "$daemon_pid"
eventually grep -q "not reloaded: .*:1: max_running" "$dir/log"
configure <<END
max_running = 2
keep_jobs = 3
keep_vm = no
END
kill -HUP "$daemon_pid"
eventually is_state "$two" running
touch "$dir/one" "$dir/two"
run 0 "$client" wait "$two"
eventually is_state $((two - 1)) "done"
left=$("$client" status | awk '$3 == "done"' | wc -l)
[ "$left" -le 3 ] || die "$left finished jobs are kept, not 3"
run 2 "$client" status 1
# a network for jobs that bring none
model=$(cd "${top_srcdir:-.}" && pwd)/tests/fuzz/seeds/fuzz_network/two.json
configure <<END
max_running = 3
keep_jobs = 3
keep_vm = no
network = "$model"
END
kill -HUP "$daemon_pid"
has_network()
{
    run 0 "$client" submit fake env NOWFARM_NETWORK
    job=$out
    run 0 "$client" wait "$job"
    run 0 "$client" result "$job"
    case $out in *"NOWFARM_NETWORK=$1"*) ;; *) return 1 ;; esac
}
eventually has_network "$model"
(export NOWFARM_NETWORK=/mine.json && has_network /mine.json) ||
    die "the environment does not go before the network of the file"
echo "network = \"$dir/none.json\"" | configure
kill -HUP "$daemon_pid"
eventually grep -q "not reloaded: .*:1: network: .*none.json: No such file" "$dir/log"
configure <<END
max_running = 2
keep_jobs = 3
keep_vm = no
END
stop_daemon TERM 0
start_daemon
submit fake
[ "$job" -gt "$two" ] || die "the number $job was used again"
run 0 "$client" wait "$job"
stop_daemon TERM 0
ok "SIGHUP reloads, and old jobs are forgotten"
if grep -E "runtime error|Sanitizer|error: " "$dir/log" |
    grep -v "not reloaded"; then
    die "the daemon complained"
fi
echo "all passed"
