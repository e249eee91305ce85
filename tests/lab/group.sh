#!/bin/bash
# Groups over three hosts, of which one is lost in the middle of a call: nobody
# hangs, all say who is lost, and the survivors go on without.
. "${0%/*}/lab-lib.sh"
need_pvm
slow_test
member=$top_builddir/tests/lab/group_member
[ -x "$member" ] || { echo "$member is not built"; exit 99; }
timeout_ms=2000
hosts_file ws0 ws1 ws2

has_pvmd() { [ -n "$(pvmd_on "$1")" ]; }
nothing_on() { # WS...: neither tasks nor a pvmd
    local ws
    for ws in "$@"; do
        [ -z "$(pvmd_on "$ws"; on "$ws" group_member; slaves_on "$ws")" ] ||
            return 1
    done
}
members_on() { on "$1" group_member; }
no_members_on() { [ -z "$(members_on "$1")" ]; }

# --- a program of our own: six members, 0 and 3 on ws0, 1 and 4 on ws1, ...

machine() { # a virtual machine of three hosts
    local ws
    for ws in ws1 ws2; do
        run_in ws0 add $ws
        same "add $ws" "$rc2" 0
    done
}
begin() { # OPERATION BYTES: all are in the middle of calls
    local rank
    rm -rf "$work/tids"
    mkdir "$work/tids"
    for rank in 0 1 2 3 4 5; do
        timeout -k 1 60 "$NF" lab exec ws$((rank % 3)) "$member" "$work/tids" \
            $rank 6 "$1" "$2" $timeout_ms > "$work/said.$rank" \
            2>> "$work/err" < /dev/null &
        pids[rank]=$!
    done
    check "$1: all are at it" wait_until 30 all_call
}
pick_victim() { # on ws2; $lost is its rank
    victim=$(members_on ws2 | head -n 1)
    lost=$(tr '\0' '\n' < "/proc/$victim/cmdline" | sed -n 3p)
}
all_call() { [ "$(cat "$work"/said.? | grep -c '^calls')" = 6 ]; }
word() { awk -v key="$2" -v n="$3" '$1 == key {print $n}' "$work/said.$1"; }

# survived TEXT SINCE_MS LOST MEMBERS RANK...: those ranks say in time that one
# of LOST (a pattern) and nobody else is lost, and form a group of MEMBERS
both='no more than one'
survived() {
    local text=$1 since_ms=$2 lost=$3 members=$4 rank
    shift 4
    for rank in "$@"; do
        wait "${pids[rank]}"
        same "$text, member $rank: exit status" "$?" 0
        at_most "$text, member $rank: its call ended" \
            $(($(word "$rank" failed 3) - since_ms)) \
            $(((timeout_ms + 1000) * slow)) ms
        check "$text, member $rank: says who is lost" \
            eval '[[ "$(word "$rank" failed 4)" =~ ^($lost)$ ]]'
        check "$text, member $rank: also in words" \
            grep -Eq "^failed .* (member ($lost) (is silent|has ended)|$both)" \
            "$work/said.$rank"
        same "$text, member $rank: they go on" "$(word "$rank" shrunk 4)" \
            "$members"
        at_most "$text, member $rank: the smaller group took" \
            "$(word "$rank" shrunk 3)" $(((timeout_ms + 1000) * slow)) ms
        check "$text, member $rank: the smaller group works" \
            grep -q '^works' "$work/said.$rank"
    done
}

lab up 2 100mbit
machine
begin bcast 2000000
killed_ms=$(now_ms)
pick_victim
kill -9 "$victim"
survived "killed" "$killed_ms" "$lost" 5 0 1 3 4 $((7 - lost))

begin allreduce 1000000
stopped_ms=$(now_ms)
pick_victim
kill -STOP "$victim"
survived "stopped" "$stopped_ms" "$lost" 5 0 1 3 4 $((7 - lost))
kill -CONT "$victim"
wait "${pids[lost]}"
same "stopped, and on again: it is left out (NF_ERR_DEAD)" \
    "$(word "$lost" shrunk 2)" -12
check "stopped, and on again: no member is left" no_members_on ws2

begin allreduce 1000000
# shellcheck disable=SC2046
kill -9 $(pvmd_on ws2)
killed_ms=$(now_ms)
both='members (2, 5|5, 2) have ended' # whoever hears of it first says so
survived "pvmd killed" "$killed_ms" '2|5|2,5' 4 0 1 3 4
check "pvmd killed: no member is left there" wait_until 10 no_members_on ws2
run_in ws0 remove --all
check "pvmd killed: nothing is left" wait_until 10 nothing_on ws0 ws1 ws2
lab down

lab up 2 100mbit
machine
begin bcast 2000000
lab cut ws2
cut_ms=$(now_ms)
survived "cable pulled" "$cut_ms" '2|5|2,5' 4 0 1 3 4
survived "cable pulled, there" "$cut_ms" '[0134](,[134])*' 2 2 5
check "cable pulled: no member is left there" wait_until 10 no_members_on ws2
run_in ws0 remove --all
check "cable pulled: nothing is left here" wait_until 15 nothing_on ws0 ws1
lab down

# --- coll-bench: five members, 2 on ws2, which say all they know to rank 0
received() { # BYTES: by ws2
    [ "$(lab exec ws2 sed -n 's/ *eth0: *\([0-9]*\) .*/\1/p' /proc/net/dev)" \
        -ge "$1" ]
}
lab up 2 100mbit
start_in ws0 coll-bench bcast --slaves 5 --hosts "$work/hosts" --sizes 4MiB \
    --repeat 1000 --timeout ${timeout_ms}ms
check "coll-bench: it is at it" wait_until 30 received 40000000
lab cut ws2
cut_ms=$(now_ms)
await 30
same "coll-bench: exit status" "$rc" 1
same "coll-bench: a line" "$(err_lines)" 1
check "coll-bench: the member and its host are named" \
    err_says 'rank 2 on ws2: member 2 is silent'
# it also ends the members, and waits 5 s for the virtual machine to be halted
at_most "coll-bench: left" $(($(now_ms) - cut_ms)) \
    $(((timeout_ms + 10000) * slow)) ms
check "coll-bench: nothing is left here" wait_until 15 nothing_on ws0 ws1
check "coll-bench: no member is left there" wait_until 10 eval '! has_slave ws2'
finish
