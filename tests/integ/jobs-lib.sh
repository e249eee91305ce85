# shellcheck shell=bash disable=SC2034,SC2154
# jobs-lib.sh - a nowfarmd for end-to-end tests, with the real runner on a real
# virtual machine: `. "$lib_dir/jobs-lib.sh"` after lib.sh.

mkdir -m 700 "$work/run"
mkdir "$work/elsewhere"
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_STATE_HOME=$work/state
export NOWFARM_SOCKET=$work/run/nowfarmd.sock
unset XDG_RUNTIME_DIR NOWFARM_SLAVE_PROGRAM
daemon='' daemon_log=$work/daemon.log

answers() { timeout 10 "$NF" status > /dev/null 2>&1; }

# configure LINE...: the settings of the next daemon, or of the next SIGHUP
configure() { printf '%s\n' "$@" > "$work/nowfarm.conf"; }
: > "$work/nowfarm.conf"

start_daemon() {
    # a script's background processes would ignore SIGINT
    env --default-signal=INT,QUIT "$NF_DAEMON" --config "$work/nowfarm.conf" \
        2>> "$daemon_log" < /dev/null &
    daemon=$!
    check "nowfarmd answers" wait_until 20 answers
}

# stop_daemon SIGNAL STATUS
stop_daemon() {
    local pid=$daemon
    kill "-$1" "$daemon"
    wait_until $((20 * slow)) gone || kill -9 "$daemon"
    wait "$daemon"
    same "SIG$1: exit status of nowfarmd" "$?" "$2"
    check "SIG$1: its socket is gone" test ! -e "$NOWFARM_SOCKET"
    daemon=
}

# try_daemon ARGS...: a daemon that should not start; as run()
try_daemon() {
    timeout -k 5 $((60 * slow)) "$NF_DAEMON" --config "$work/nowfarm.conf" \
        "$@" > "$work/out" 2> "$work/err" < /dev/null
    rc=$?
}

# submit ARGS...: number in $job
submit() {
    run submit "$@"
    job=$(cat "$work/out")
    if [ "$rc" != 0 ] || ! [[ $job =~ ^[1-9][0-9]*$ ]]; then
        fail "submit $*"
    fi
}

# job_field JOB FIELD: what status says about it
job_field() {
    timeout 10 "$NF" status --json "$1" > "$work/status" 2> /dev/null &&
        "$jsonget" "$work/status" "$2" 2> /dev/null
}
is_state() { [ "$(job_field "$1" state)" = "$2" ]; }
is_busy() { [ "$(job_field "$1" "done")" -ge 1 ] 2> /dev/null; }
never_started() { [ "$(job_field "$1" attempts)" = 0 ]; }

# ends_with TEXT STATUS: wait for $job
ends_with() {
    run wait "$job"
    same "$1: exit status of wait" "$rc" "$2"
}
# result: the report of $job to $work/out, for json()
result() { run result "$job"; }
runner_of() {
    sed -n "s/.*job $1 (.*): started, pid \([0-9]*\),.*/\1/p" "$daemon_log" |
        tail -n 1
}
is_gone() { ! alive "$1"; }
# no_complaints: neither sanitizers nor the daemon itself complained
no_complaints() {
    ! grep -E 'runtime error|Sanitizer|error: ' "$daemon_log"
}
