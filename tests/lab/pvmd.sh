#!/bin/bash
# Three hosts; the pvmd of one is killed in mid-job.
. "${0%/*}/lab-lib.sh"
need_pvm
slow_test

lab up 2 100mbit
hosts_file ws0 ws1 ws2
start_in ws0 run synth --units 300 --cost 20ms --chatty --slaves 3 --slots 1 \
    --hosts "$work/hosts" --policy presend:td=auto --verify --json
check "the job is under way" wait_until 30 units_done 60
victim=$(pvmd_on ws2)
check "there is a pvmd on ws2" test -n "$victim"
# shellcheck disable=SC2086
kill -9 $victim
killed_ms=$(now_ms)
await 60
job_verified "pvmd killed"
at_least "pvmd killed: the others go on at once" \
    "$(hellos "$killed_ms" $((killed_ms + 1000)))" 40 units
at_most "pvmd killed: the lost units went out again within 5 s" \
    "$(last_hello_after "$killed_ms")" $((slow == 1 ? 5000 : 7000)) ms
at_most "pvmd killed: nowfarm left soon" $(($(now_ms) - killed_ms)) \
    $((15000 * slow)) ms
check "pvmd killed: no slave is left on ws2" \
    wait_until 15 eval '! has_slave ws2'
check "pvmd killed: no slave is left on ws1" \
    wait_until 15 eval '! has_slave ws1'
finish
