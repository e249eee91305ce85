#!/bin/bash
# Data that take longer over the network than the time-out: nobody is lost, and
# nothing is done twice, as long as they move.
. "${0%/*}/lab-lib.sh"
need_pvm
lab_can rates || skip "$("$jsonget" "$work/can" reasons.rates)"

lab up 2 100mbit
hosts_file ws1 ws2

# 64 MiB into the master's link, 5.4 s, with a time-out of 1 s
start_in ws0 run synth --units 16 --result 4MiB --slaves 2 --slots 1 \
    --hosts "$work/hosts" --gather tree --heartbeat-timeout 1s --verify --json
await 60
job_verified "64 MiB gathered"
same "64 MiB gathered: how" "$(json gather.how)" tree
same "64 MiB gathered: one try" "$(json gather.tries)" 1
same "64 MiB gathered: nobody is lost" "$(json lost_slaves)" 0

export NOWFARM_LOG=info
# 40 MiB out of it, by a broadcast between the hosts: 3.4 s at least
start_in ws0 run synth --units 16 --shared 40MiB --slaves 2 --slots 1 \
    --hosts "$work/hosts" --heartbeat-timeout 1s --verify --json
await 60
job_verified "40 MiB of shared data"
same "40 MiB of shared data: nobody is lost" "$(json lost_slaves)" 0
check "40 MiB of shared data: there is a broadcast" \
    err_says "shared data to 2 slaves by"
check "40 MiB of shared data: it did not fail" eval '! err_says "broadcast failed"'
finish
