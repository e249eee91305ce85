#!/bin/bash
# Three hosts; the network cable of one is pulled in mid-job.  The job ends,
# every unit counts once, nobody else waits, and what the lost host had goes
# out again within 5 s, although PVM itself needs minutes to notice.
. "${0%/*}/lab-lib.sh"
need_pvm

lab up 2 100mbit
hosts_file ws0 ws1 ws2
start_in ws0 run synth --units 300 --cost 20ms --chatty --slaves 3 --slots 1 \
    --hosts "$work/hosts" --policy presend:td=auto --verify --json
check "the job is under way" wait_until 30 units_done 60
check "there is a slave on ws2" has_slave ws2
lab cut ws2
cut_ms=$(now_ms)
await 60
job_verified "cable pulled"
same "cable pulled: lost slaves" "$(json lost_slaves)" 1
at_least "cable pulled: retries" "$(json retries)" 1
at_least "cable pulled: the others go on at once" \
    "$(hellos "$cut_ms" $((cut_ms + 1000)))" 40 units
# the others have done all they had after about 2.5 s
at_most "cable pulled: the lost units went out again within 5 s" \
    "$(last_hello_after "$cut_ms")" $((slow == 1 ? 5000 : 7000)) ms
at_most "cable pulled: nowfarm left soon" $(($(now_ms) - cut_ms)) \
    $((15000 * slow)) ms

# The slave there has lost its master and must not stay.
check "cable pulled: the slave on ws2 ends by itself" \
    wait_until 15 eval '! has_slave ws2'
lab down

# Plugged in again while the job runs: what arrives late is dropped.
lab up 2 100mbit
start_in ws0 run synth --units 1200 --cost 20ms --slaves 3 --slots 1 \
    --hosts "$work/hosts" --policy presend:td=auto --verify --json
check "slaves are on ws1 and ws2" wait_until 30 \
    eval 'has_slave ws1 && has_slave ws2'
sleep 1
lab cut ws2
sleep 6.5
lab mend ws2
await 90
job_verified "cable pulled and plugged in again"
same "cable pulled and plugged in again: lost slaves" "$(json lost_slaves)" 1
at_least "cable pulled and plugged in again: retries" "$(json retries)" 1
finish
