#!/bin/bash
# `nowfarm probe` between hosts with links of different rates, and on a shared
# medium: the rates that were set are found.  A fifth is left to what the frames
# of a message cost beside it, and to a busy machine.
. "${0%/*}/lab-lib.sh"
need_pvm
lab_can rates || skip "$("$jsonget" "$work/can" reasons.rates)"
cd "$work" || exit 99
kbit() { # FROM TO: the fitted rate in kbit/s
    local i
    for ((i = 0; ; i++)); do
        [ -n "$(wire $i from)" ] || return
        [ "$(wire $i from) $(wire $i to)" = "$1 $2" ] || continue
        wire $i wire.us_per_byte | awk '$1 > 0 {printf("%.0f\n", 8000 / $1)}'
        return
    done
}
wire() { "$jsonget" model.json "wires.$1.$2" 2> /dev/null; }
hold() { # HOST's time for 64 KiB after 64 KiB, in us
    "$jsonget" model.json "hosts.${1#ws}.hold.points.6.1" | awk '{printf("%.0f\n", $1)}'
}
found() { # FROM TO KBIT
    local got
    got=$(kbit "$1" "$2")
    at_least "$1 > $2 is a link of $3 kbit/s" "$got" $(($3 * 8 / 10)) kbit/s
    at_most "$1 > $2 is no more" "$got" $(($3 * 12 / 10)) kbit/s
}

lab up 3 100mbit
lab rate ws2 20mbit
hosts_file ws0 ws1 ws2 ws3
start_in ws0 probe --hosts "$work/hosts" --budget 12s -o "$work/model.json" \
    --validate --json
await 120
same "exit status" "$rc" 0
check "stdout is one JSON object" only_json
same "all trees were measured" "$(json validation.5.tree)" opt
found ws0 ws1 100000
found ws3 ws1 100000
found ws0 ws2 20000
found ws2 ws0 20000
found ws2 ws3 20000
at_least "ws2 is held by its wire" "$(hold ws2)" $((3 * $(hold ws0))) us
check "nobody is left" wait_until 10 \
    eval '! has_slave ws0 && ! has_slave ws1 && ! has_slave ws2'
lab down

lab_can hub || finish
lab hub 2 10mbit
hosts_file ws0 ws1 ws2
start_in ws0 probe --hosts "$work/hosts" --budget 10s -o "$work/model.json" \
    --medium shared --json
await 120
same "hub: exit status" "$rc" 0
check "hub: one by one" err_says 'one by one'
found ws0 ws1 10000
found ws1 ws2 10000
found ws2 ws0 10000
finish
