#!/bin/bash
# A host that cannot be added delays nobody; hosts come and go during a job.
. "${0%/*}/lab-lib.sh"
need_pvm
slow_test

lab up 3
lab cut ws2 # switched on, but silent
hosts_file ws0 ws1 ws2 ws9
NOWFARM_LOG=info start_in ws0 run synth --units 100 --cost 20ms --chatty \
    --slaves 2 --slots 1 --hosts "$work/hosts" --verify --json
# The others wait 0.3 s for it, from when the last of them is ready, and 1 s in all from
# when the first is; so 3 s after that will do, however long the start took.
check "a slave is there" wait_until 30 err_says ' is there, pid '
check "a silent and an unknown host: the others have begun" \
    wait_until 3 units_done 1
check "... before the silent one has failed" eval '! err_says "ws2 left out"'
await 60
job_verified "a silent and an unknown host"
check "the silent host is named" err_says ws2
check "the unknown host is named" err_says ws9
at_most "the whole job took" "$took_ms" $((20000 * slow)) ms
lab down

lab up 2
hosts_file ws0 ws1
start_in ws0 run synth --units 600 --cost 20ms --chatty --slots 1 \
    --hosts "$work/hosts" --verify --json
check "the job is under way" wait_until 30 units_done 50
run_in ws0 add ws2
same "add ws2: exit status" "$rc2" 0
at_most "add ws2: took" "$took2_ms" $((10000 * slow)) ms
run_in ws0 hosts
check "ws2 is among the hosts" grep -qw ws2 "$work/out2"
timeout -k 5 $((60 * slow)) "$NF" lab exec ws0 env PVM_RSH=/nonexistent/rsh \
    "$NF" add ws2 > "$work/out2" 2> "$work/err2" < /dev/null
same "add ws2 again, untried: exit status" $? 0
run_in ws0 remove ws1
same "remove ws1: exit status" "$rc2" 0
removed_ms=$(now_ms)
run_in ws0 hosts
check "ws1 is not among the hosts any more" eval '! grep -qw ws1 "$work/out2"'
await 90
job_verified "hosts that come and go"
at_least "the job went on at once" \
    "$(hellos "$removed_ms" $((removed_ms + 1000)))" 20 units
check "no slave is left on ws1" wait_until 10 eval '! has_slave ws1'
finish
