#!/bin/bash
# `nowfarm probe` between hosts with links of different rates, and on a shared
# medium: what the probe has fitted against the rates that were set.  A busy
# machine can only make links look slower, so what is asked for is the order, and
# that none is faster than it was set; a quarter is left to the first bytes of a
# message, which links let pass at once.
. "${0%/*}/lab-lib.sh"
need_pvm
lab_can rates || skip "$("$jsonget" "$work/can" reasons.rates)"
cd "$work" || exit 99
wire() { "$jsonget" model.json "wires.$1.$2" 2> /dev/null; }
kbit() { # FROM TO: the fitted rate in kbit/s
    local i
    for ((i = 0; ; i++)); do
        [ -n "$(wire $i from)" ] || return
        [ "$(wire $i from) $(wire $i to)" = "$1 $2" ] || continue
        wire $i wire.us_per_byte | awk '$1 > 0 {printf("%.0f\n", 8000 / $1)}'
        return
    done
}
hold() { # HOST's time for 64 KiB after 64 KiB, in us
    local curve="hosts.${1#ws}.hold" i
    # a point that was measured too unevenly is left out: then the line there
    for ((i = 0; i < 7; i++)); do
        [ "$("$jsonget" model.json "$curve.points.$i.0" 2> /dev/null)" != 65536 ] ||
            break
    done
    {
        "$jsonget" model.json "$curve.points.$i.1" 2> /dev/null || {
            "$jsonget" model.json "$curve.us"
            "$jsonget" model.json "$curve.us_per_byte"
        }
    } | awk '{us += NR == 1 ? $1 : 65536 * $1} END {printf("%.0f\n", us)}'
}
no_more() { # FROM TO KBIT
    at_most "$1 > $2 is no more than a link of $3 kbit/s" "$(kbit "$1" "$2")" \
        $(($3 * 5 / 4)) kbit/s
}

lab up 4 100mbit
lab rate ws2 20mbit
hosts_file ws0 ws1 ws2 ws3 ws4
start_in ws0 probe --hosts "$work/hosts" --budget 12s -o "$work/model.json" \
    --validate --json
await 120
same "exit status" "$rc" 0
check "stdout is one JSON object" only_json
check "how long is said before" err_says '^nowfarm: 10 pairs of 5 .* in parallel'
same "all trees were measured" "$(json validation.5.tree)" opt
for link in "ws0 ws1" "ws1 ws0" "ws3 ws1" "ws4 ws0"; do
    # shellcheck disable=SC2086
    no_more $link 100000
done
for link in "ws0 ws2" "ws2 ws0" "ws2 ws3" "ws4 ws2"; do
    # shellcheck disable=SC2086
    no_more $link 20000
    # shellcheck disable=SC2086
    slow=$(kbit $link)
    for fast in "ws0 ws1" "ws1 ws0" "ws3 ws1" "ws4 ws0"; do
        # shellcheck disable=SC2086
        at_least "$fast is told from $link" "$(kbit $fast)" $((2 * slow)) kbit/s
    done
done
for host in ws0 ws1 ws3 ws4; do
    at_least "ws2 is held by its wire, $host not" "$(hold ws2)" \
        $((2 * $(hold $host))) us
done
"$NF" tree crl --network model.json --size 64KiB --json > out
# in segments it may pass them on, at no cost; whole messages would take twice as long
at_most "a plan has nobody wait for ws2" "$(json time_us | cut -d. -f1)" \
    $(($(hold ws2) * 5 / 4)) us
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
check "hub: one by one, and for how long" err_says 'one by one, .* about [0-9]+ s'
same "hub: the model says so" "$(json network.medium)" shared
no_more ws0 ws1 10000
no_more ws1 ws2 10000
no_more ws2 ws0 10000
finish
