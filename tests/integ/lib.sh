# shellcheck shell=bash disable=SC2034
# lib.sh - what every end-to-end test starts with: `. "${0%/*}/lib.sh"`.
#
# A test gets an empty directory ($work), a virtual machine of its own in
# $work/pvm (nowfarm starts it), and helpers.  Everything that it started is
# ended by process id when it leaves, however it leaves.  Exit status for
# automake: 0 pass, 1 fail, 77 skip.
#
# Run one by hand:  tests/integ/kill.sh        (with the tree built in build/)
#                   NF_KEEP=1 tests/integ/kill.sh      keeps $work
set -u
export LC_ALL=C

lib_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top_srcdir=${top_srcdir:-$(cd "$lib_dir/../.." && pwd)}
top_builddir=${top_builddir:-$top_srcdir/build}
NF=$top_builddir/apps/nowfarm/nowfarm
NF_SLAVE=$top_builddir/slave/nowfarm-slave
NF_DAEMON=$top_builddir/master/nowfarmd
jsonget=$top_builddir/tests/integ/jsonget
maxrss=$top_builddir/tests/integ/maxrss

name=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/nf-$name.XXXXXX") || exit 99
mkdir "$work/pvm"
# A process is ours if and only if this is in its environment: pvmd hands its
# own environment on to the tasks.
export NF_TEST_MARK=$work
export PVM_TMP=$work/pvm
unset PVM_VMID PVM_DPATH NOWFARM_LOG
if [ -z "${PVM_ROOT:-}" ] && [ -d /usr/lib/pvm3 ]; then
    export PVM_ROOT=/usr/lib/pvm3
fi
if [ "$(id -u)" = 0 ]; then
    export PVM_ALLOW_ROOT=1 # pvmd refuses root without it
fi

sanitized=0 slow=1
if grep -q '^NF_SAN_FLAGS = .*-fsanitize' "$top_builddir/Makefile" \
    2> /dev/null; then
    sanitized=1 slow=4
fi

# --- processes -------------------------------------------------------------

# alive PID: it runs (or is stopped); a zombie is dead.
alive() {
    local stat
    read -r stat 2> /dev/null < "/proc/$1/stat" || return 1
    stat=${stat##*) }
    [ "${stat%% *}" != Z ] && [ "${stat%% *}" != X ]
}

# our_pids [NAME]: the processes of this test whose program is NAME.
our_pids() {
    local file pid exe
    for file in $(grep -lzxF "NF_TEST_MARK=$work" /proc/[0-9]*/environ \
        2> /dev/null); do
        pid=${file//[!0-9]/}
        exe=$(readlink "/proc/$pid/exe" 2> /dev/null) || continue
        exe=${exe##*/}
        exe=${exe#lt-}
        if [ $# -eq 0 ] || [ "${exe%% *}" = "$1" ]; then
            alive "$pid" && echo "$pid"
        fi
    done
}
slave_pids() { our_pids nowfarm-slave; }
pvmd_pids() { our_pids pvmd; our_pids pvmd3; }
count() { wc -w <<< "$*"; }

no_slaves() { [ -z "$(slave_pids)" ]; }
no_pvmd() { [ -z "$(pvmd_pids)" ]; }
some_slaves() { [ "$(count "$(slave_pids)")" -ge "$1" ]; }

cleanup() {
    local status=$? pid
    trap - EXIT INT TERM
    declare -F test_cleanup > /dev/null && test_cleanup
    for pid in $(our_pids nowfarm; our_pids nowfarmd; our_pids); do
        # helpers of this script (tee, subshells) end by themselves
        case $(readlink "/proc/$pid/exe") in
        */bash | */dash | */sh | */timeout) ;;
        *) kill -9 "$pid" 2> /dev/null ;;
        esac
    done
    if [ -n "${NF_KEEP:-}" ]; then
        echo "# kept: $work"
    else
        rm -rf "$work"
    fi
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- results ---------------------------------------------------------------

checks=0 failures=0
ok() {
    checks=$((checks + 1))
    echo "ok $checks - $*"
}
fail() {
    checks=$((checks + 1)) failures=$((failures + 1))
    echo "not ok $checks - $*"
    sed -n '1,12s/^/#   stdout: /p' "$work/out" 2> /dev/null
    sed -n '1,20s/^/#   stderr: /p' "$work/err" 2> /dev/null
}
# check TEXT COMMAND...: TEXT holds if COMMAND succeeds.
check() {
    local text=$1
    shift
    if "$@"; then ok "$text"; else fail "$text"; fi
}
# same TEXT GOT WANT
same() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        fail "$1: got '$2', want '$3'"
    fi
}
# at_most TEXT GOT LIMIT [UNIT] (integers)
at_most() {
    if [ -n "$2" ] && [ "$2" -le "$3" ]; then
        ok "$1 ($2 ${4:-})"
    else
        fail "$1: got ${2:-nothing}, want at most $3 ${4:-}"
    fi
}
at_least() {
    if [ -n "$2" ] && [ "$2" -ge "$3" ]; then
        ok "$1 ($2 ${4:-})"
    else
        fail "$1: got ${2:-nothing}, want at least $3 ${4:-}"
    fi
}
skip() {
    echo "skipped: $*"
    exit 77
}
finish() {
    echo "# $name: $((checks - failures)) of $checks checks passed"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}

# --- time ------------------------------------------------------------------

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
# wait_until SECONDS COMMAND...: poll until COMMAND succeeds; 1 if it does not.
wait_until() {
    local end=$(($(now_ms) + $1 * 1000))
    shift
    until "$@"; do
        [ "$(now_ms)" -lt "$end" ] || return 1
        sleep 0.03
    done
}
# heard LINE: for tests to define: called for every line that a job in the background
# says, at once and without a fork, in a shell that has the test's variables as they
# were at its start.  For signals that have to come while something goes on.
heard() { :; }
# stamp: copy lines, each with the time in ms before it.
stamp() {
    local line
    while IFS= read -r line; do
        heard "$line"
        printf '%s %s\n' $((${EPOCHREALTIME/./} / 1000)) "$line"
    done
}

# --- running nowfarm -------------------------------------------------------

# run [-t SECONDS] ARGS...: `nowfarm ARGS`, output in $work/out and $work/err,
# exit status in $rc, time in $took_ms.  Too long is status 124.
run() {
    local limit=60 start
    if [ "$1" = -t ]; then
        limit=$2
        shift 2
    fi
    start=${EPOCHREALTIME/./} # not now_ms, as a subshell takes milliseconds
    timeout -k 5 $((limit * slow)) "$NF" "$@" \
        > "$work/out" 2> "$work/err" < /dev/null
    rc=$?
    took_ms=$(((${EPOCHREALTIME/./} - start) / 1000))
}
# run_shared ARGS...: the same, with NOWFARM_LOG=info, of a job whose slaves are to get
# shared data together.  On a busy machine one may be there a second before the others,
# and then gets it alone: there are three tries.
run_shared() {
    local try
    for try in 1 2 3; do
        run "$@"
        if err_says 'shared data to [0-9]+ slaves by'; then return; fi
        echo "# try $try: slaves came one by one"
    done
}

# start ARGS...: the same in the background; $pid is nowfarm's.  Standard error
# goes to $work/err, and with time stamps to $work/stamped.  Signals behave as
# on a terminal (a script's background jobs ignore SIGINT).
start() {
    rm -f "$work/stderr"
    mkfifo "$work/stderr"
    : > "$work/err" # of the run before: nobody is to find its lines in it
    tee "$work/err" < "$work/stderr" | stamp > "$work/stamped" &
    env --default-signal=INT,QUIT,HUP "$NF" "$@" \
        > "$work/out" 2> "$work/stderr" < /dev/null &
    pid=$!
    start_ms=$(now_ms)
}

# await SECONDS: wait for $pid; exit status in $rc, 124 if it had to be killed.
gone() { ! alive "$pid"; }
await() {
    if wait_until $(($1 * slow)) gone; then
        wait "$pid"
        rc=$?
    else
        kill -9 "$pid"
        wait "$pid" 2> /dev/null
        rc=124
    fi
    took_ms=$(($(now_ms) - start_ms))
    sleep 0.1 # the last lines of stderr
}

# --- looking at what came out ----------------------------------------------

json() { "$jsonget" "$work/out" "$1" 2> /dev/null; }
only_json() { "$jsonget" "$work/out" > /dev/null; }
has_field() { "$jsonget" "$work/out" "$1" > /dev/null 2>&1; }
err_lines() { wc -l < "$work/err"; }
# err_says PATTERN: a line of it is like this.  Of few lines without a fork.
err_says() {
    local lines line
    mapfile -t -n 20 lines < "$work/err"
    if [ ${#lines[@]} -eq 20 ]; then
        grep -Eq -- "$1" "$work/err"
        return
    fi
    for line in "${lines[@]}"; do
        [[ $line =~ $1 ]] && return
    done
    return 1
}
out_empty() { [ ! -s "$work/out" ]; }

# job_verified TEXT: the last job ended well, alone on stdout, all units right.
job_verified() {
    same "$1: exit status" "$rc" 0
    check "$1: stdout is one JSON object and nothing else" only_json
    same "$1: verified" "$(json verified)" true
}

# refused STATUS TEXT: the last command was turned down as it should be.
refused() {
    local text
    IFS= read -r -d '' text < "$work/err"
    text=${text//[!$'\n']/}
    same "$2: exit status" "$rc" "$1"
    same "$2: one line on stderr" ${#text} 1
    check "$2: nothing on stdout" out_empty
}

# had_leases SLAVES N: so many slaves have had N leases each, or more; wants a log
# of level debug.  No slot has more than a few in hand, so with N above that they
# have computed some.
had_leases() {
    [ "$(sed -n 's/.*debug: lease .* of slave \([0-9]*\) .*/\1/p' "$work/err" |
        sort | uniq -c | awk -v n="$2" '$1 >= n' | wc -l)" -ge "$1" ]
}

# log_says PATTERN: of the job that was started
log_says() { grep -q -- "$1" "$work/err"; }

# slaves_told: the process ids of the slaves that the master has heard of; wants a
# log of level info.  Much faster than slave_pids, which looks at all processes.
slaves_told() { sed -n 's/.*info: slave .* is there, pid \([0-9]*\)$/\1/p' "$work/err"; }

# in_job CONDITION ARGS...: start a job, and wait until CONDITION holds in it; slaves[]
# are the process ids of its slaves then.  Where the job is over before that it is
# run once more: its master waits 0.3 s for the next slave, and on a busy
# machine one may come so late that there is nothing left for it to do.
in_job() {
    local condition=$1 try
    shift
    for try in 1 2 3 4 5; do
        wait_until 10 no_slaves # they would be taken for ours
        start "$@"
        wait_until 40 eval "gone || { $condition; }"
        if ! gone; then
            mapfile -t slaves < <(slaves_told)
            eval "$condition"
            return
        fi
        await 1
        [ "$rc" = 0 ] || return 1
        echo "# try $try: the job was over before this: $condition"
    done
    return 1
}

# table FILE HOSTS RULE...: a table of coll-bench with these rules
table() {
    local file=$1 hosts=$2
    shift 2
    {
        printf '%s\n' "nowfarm-collectives 1" \
            "library $("$NF" --version | awk '{print $NF}')" "hosts $hosts" \
            "route direct" "encoding raw" "delta 1.1" "occupancy_us 12" \
            "piece 0 80 0.01" "combine double sum 0.001"
        [ $# = 0 ] || printf 'rule %s\n' "$@"
    } > "$file"
    # the last 8 bytes of gzip are the CRC-32 and the length, little-endian
    printf 'end %08x\n' "0x$(gzip -c "$file" | tail -c 8 | od -An -tx1 -N4 |
        awk '{print $4 $3 $2 $1}')" >> "$file"
}

# hellos FROM_MS TO_MS: how many lines of --chatty units arrived in that time.
hellos() {
    awk -v a="$1" -v b="$2" \
        '/says hello$/ && $1 >= a && $1 < b {n++} END {print n + 0}' \
        "$work/stamped"
}

# first_hello_after MS, last_hello_after MS: how long after MS the first, or last,
# unit was begun
first_hello_after() {
    awk -v a="$1" '/says hello$/ {print $1 - a; exit}' "$work/stamped"
}
last_hello_after() {
    awk -v a="$1" '/says hello$/ {t = $1} END {print t - a}' "$work/stamped"
}

need_pvm() {
    grep -q '^#define HAVE_PVM3 1' "$top_builddir/config.h" ||
        skip "built without PVM"
}
# slow_test: leaves this test out of ./check.sh --quick
slow_test() {
    [ -z "${NF_QUICK:-}" ] || skip "slow, and --quick was asked for"
}
for program in "$NF" "$NF_SLAVE" "$jsonget" "$maxrss"; do
    [ -x "$program" ] || { echo "$program is not built"; exit 99; }
done
