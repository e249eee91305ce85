#!/bin/bash
# The model of `nowfarm coll-bench` where one host has a slow link: it is that of
# the worst link, though most pairs of members have good ones; and where all are
# alike it is not measured twice.  A machine that stands still now and then makes links
# look slower: of up to four models the first that is near counts.
. "${0%/*}/lab-lib.sh"
need_pvm
lab_can rates || skip "$("$jsonget" "$work/can" reasons.rates)"
hosts_file ws0 ws1 ws2 ws3

# The last piece's cost of a byte, as kbit/s.
kbit() {
    local i=0 byte_us
    while [ -n "$(json model.pieces.$i.byte_us 2> /dev/null)" ]; do
        byte_us=$(json model.pieces.$i.byte_us)
        i=$((i + 1))
    done
    awk -v us="$byte_us" 'BEGIN {printf("%.0f\n", 8000 / us)}'
}
# measure TEXT LOW HIGH: the model's rate is between these, in kbit/s
measure() {
    local text=$1 rate i
    for i in 1 2 3 4; do
        start_in ws0 coll-bench bcast --hosts "$work/hosts" --slaves 4 \
            --sizes 64KiB --repeat 3 --json
        await 90
        same "$text: exit status" "$rc" 0
        same "$text: the model is measured" "$(json model.source)" measured
        rate=$(kbit)
        [ "$rate" -lt "$2" ] || [ "$rate" -gt "$3" ] || break
    done
    at_least "$text: the model's rate" "$rate" "$2" kbit/s
    at_most "$text: the model's rate" "$rate" "$3" kbit/s
}

lab up 3 100mbit
measure "all alike" 80000 120000
lab rate ws2 10mbit
measure "a slow host" 8000 12000
lab rate ws2 100mbit
lab rate ws3 10mbit
lab rate ws0 10mbit
measure "this host and another are slow" 8000 12000
finish
