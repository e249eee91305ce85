#!/bin/bash
# The command line of the lab: what it shows, what it refuses, what commands in
# it see.
. "${0%/*}/lab-lib.sh"

# --- without a lab ---
run lab status
refused 3 "status without a lab"
check "... says how to get one" err_says 'nowfarm lab up'
run lab exec ws0 true
refused 3 "exec without a lab"
run lab cut ws0
refused 3 "cut without a lab"
run lab list
check "a lab that is not up is not listed" eval '! grep -qx "$NOWFARM_LAB" "$work/out"'
run lab down
same "down without a lab: exit status" "$rc" 0

wrong() { # TEXT ARGS...
    local text=$1
    shift
    run lab "$@"
    refused 2 "$text"
}
wrong "no verb"
wrong "an unknown verb" boot
wrong "no number of hosts" up
wrong "no hosts" up 0
wrong "too many hosts" up 201
wrong "a number with a tail" up 3x
wrong "a rate without its unit" up 2 100
wrong "a rate in bytes" up 2 10MB
wrong "a rate of nothing" up 2 0mbit
wrong "a negative rate" up 2 -5mbit
wrong "a hub without a rate" hub 2
wrong "a latency without its unit" --latency 5 up 2
wrong "an unknown option" --fast up 2
wrong "too much" up 2 10mbit 3
wrong "a name with a slash" --name a/b up 2
wrong "a name with dots" --name .. down
wrong "a name that is too long" --name aaaaaaaaaaaaaaaaaaaaaaaaa up 2
wrong "exec of nothing" exec ws0

# --- with one ---
run lab up 2 100mbit
same "up: exit status" "$rc" 0
check "up prints nothing" eval '[ ! -s "$work/out" ] && [ ! -s "$work/err" ]'
wrong "up twice" up 2
check "... says what to do" err_says 'nowfarm lab down'
for host in ws3 ws ws01 ws-1 switch lab ../ws0 ''; do
    wrong "no host '$host'" exec "$host" true
done
check "... says which there are" err_says 'ws0 to ws2'
wrong "a quota of nothing" cpu ws1 0
wrong "a quota that is none" cpu ws1 much
run lab list
check "the lab is listed" grep -qx "$NOWFARM_LAB" "$work/out"

run lab exec ws1 sh -c 'hostname; ip -o -4 addr show eth0 || ip addr'
same "exec: exit status" "$rc" 0
same "the host knows its name" "$(head -n 1 "$work/out")" ws1
check "the host has its address" grep -q '10\.77\.0\.11/24' "$work/out"
run lab exec ws1 getent hosts ws2
check "hosts know each other by name" grep -q '^10\.77\.0\.12 ' "$work/out"
run lab exec ws1 sh -c 'cat /proc/net/dev'
same "a host sees lo and eth0 only" "$(grep -c : "$work/out")" 2
run lab exec ws1 pwd
same "commands start where we are" "$(cat "$work/out")" "$PWD"
run lab exec ws1 id -u
same "commands run as us" "$(cat "$work/out")" "$(id -u)"
run lab exec ws1 printf '<%s>' 'a b' "c'd" --json -n
same "arguments arrive as they are" "$(cat "$work/out")" "<a b><c'd><--json><-n>"
same "standard input arrives" "$(echo hello | lab exec ws1 cat)" hello

run lab exec ws1 sh -c 'exit 7'
same "the exit status is the command's" "$rc" 7
run lab exec ws1 sh -c 'kill -TERM $$'
same "... also of one that a signal ended" "$rc" 143
run lab exec ws1 no-such-program
same "... and of one that there is not" "$rc" 127

# signals reach the command, and kill -9 leaves nothing behind
"$NF" lab exec ws1 sh -c 'trap "echo got it; exit 5" TERM
    echo ready; while :; do sleep 0.05; done' > "$work/out" &
pid=$!
check "a command runs" wait_until 20 grep -q ready "$work/out"
kill -TERM $pid
wait $pid
same "a signal reaches the command" "$?" 5
same "... once" "$(grep -c 'got it' "$work/out")" 1
"$NF" lab exec ws1 sleep 1000 &
pid=$!
check "its process is listed" wait_until 20 eval '[ -n "$(lab pids ws1)" ]'
kill -9 $pid
wait $pid 2> /dev/null
check "kill -9 ends it, too" wait_until 20 eval '[ -z "$(lab pids ws1)" ]'

# rsh, as PVM calls it
rsh() { lab exec ws0 sh -c '"$PVM_RSH" "$@"' rsh "$@"; }
same "rsh goes to another host" "$(rsh ws2 -n hostname)" ws2
same "rsh takes -l before" "$(rsh -l me ws2 hostname)" ws2
same "rsh has a shell there" "$(rsh ws2 'echo a;' hostname | tr '\n' ' ')" \
    "a ws2 "
same "rsh starts at home" "$(rsh ws2 pwd)" "$HOME"
rsh ws2 exit 9
same "rsh has the exit status of the command" "$?" 9
rsh ws7 true 2> /dev/null
same "rsh to nobody fails" "$?" 2
same "each host has a PVM_TMP" "$(for i in 0 1 2; do
    lab exec ws$i sh -c 'test -w "$PVM_TMP" && echo "$PVM_TMP"'
done | sort -u | wc -l)" 3

# status, changes, hosts
run lab hosts
same "hosts: the workstations" "$(grep -v '#' "$work/out" | tr '\n' ' ')" \
    "ws1 ws2 "
run lab hosts --all
same "hosts --all: ws0, too" "$(grep -v '#' "$work/out" | tr '\n' ' ')" \
    "ws0 ws1 ws2 "
lab cut ws1
lab rate ws2 5mbit
run lab status --json
check "status: one JSON object" only_json
same "status: lab" "$(json lab)" "$NOWFARM_LAB"
same "status: kind" "$(json kind)" switch
same "status: rate" "$(json hosts.1.rate_bps)" 100000000
same "status: a rate that was changed" "$(json hosts.2.rate_bps)" 5000000
same "status: a cable that was pulled" "$(json hosts.1.cut)" true
same "status: one that was not" "$(json hosts.0.cut)" false
lab mend ws1
# whatever this machine's is
if lab_can cubic; then
    check "TCP goes by CUBIC, after a cut, too" \
        eval 'lab exec ws1 ip route show dev eth0 | grep -qw "congctl cubic"'
fi
lab rate ws2 none
run lab status --json
same "status: mended" "$(json hosts.1.cut)" false
same "status: no rate" "$(json hosts.2.rate_bps)" null
run lab status
same "status for people: a line each" "$(grep -c '^ws' "$work/out")" 3
run lab rate ws2 5
refused 2 "a rate without unit"

# from inside, only commands
run lab exec ws0 "$NF" lab down
same "no down from inside: exit status" "$rc" 2
run lab exec ws0 "$NF" lab exec ws1 hostname
same "exec from inside" "$(cat "$work/out")" ws1

# several labs, a /tmp for each host
other=$NOWFARM_LAB-2
test_cleanup() { lab down 2> /dev/null; lab --name "$other" down 2> /dev/null; }
run lab up 1 --private-tmp --name "$other"
same "a second lab: exit status" "$rc" 0
echo of "$$" > "$work/mine"
same "its hosts are others" "$(lab -n "$other" exec ws1 sh -c \
    'ls /proc/net/dev > /dev/null && cat /proc/sys/kernel/hostname')" ws1
lab -n "$other" exec ws0 sh -c 'echo private > /tmp/nf-own-file'
same "hosts with a /tmp of their own share nothing" \
    "$(lab -n "$other" exec ws1 ls /tmp/nf-own-file 2>&1 | grep -c 'No such')" 1
check "... nor with us" test ! -e /tmp/nf-own-file
check "... but keep it" lab -n "$other" exec ws0 test -e /tmp/nf-own-file
case $NF in
/tmp/*) ;; # which a /tmp of their own hides
*)  same "rsh works there" "$(lab -n "$other" exec ws0 sh -c \
        '"$PVM_RSH" ws1 hostname')" ws1
    ;;
esac
run lab down
same "down: exit status" "$rc" 0
check "the other lab stays" lab -n "$other" exec ws0 true
run lab down --name "$other"
same "down of the other: exit status" "$rc" 0
finish
