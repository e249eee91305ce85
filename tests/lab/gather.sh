#!/bin/bash
# Groups over three hosts: results that stay with slaves, sums that are combined
# on the way, a scan; and a member on another host is killed.
. "${0%/*}/lab-lib.sh"
need_pvm

lab up 2 100mbit
hosts_file ws0 ws1 ws2
printf '%s\n' ws0 ws1 > "$work/two"
cd "$work" || exit 99
# says PATTERN: the master's log
says() { grep -q "$1" "$work/err"; }
# victim_on WS: its one slave, looked for before it is to be killed: a busy machine
# takes longer for that than a job may last from then on
victim_on() {
    check "there is a slave on $1" wait_until 30 has_slave "$1"
    victim=$(slaves_on "$1")
}
farm=(--slaves 3 --slots 1 --hosts "$work/hosts" --verify --json)

start_in ws0 run synth --units 150 --cost 20ms --result 20KiB --shared 1MiB \
    --chatty --gather tree "${farm[@]}"
victim_on ws1
check "the job is under way" wait_until 30 units_done 60
kill -9 "$victim"
await 60
job_verified "tree, killed before the gather"
same "tree, killed before the gather: lost slaves" "$(json lost_slaves)" 1
at_least "tree, killed before the gather: done again" \
    "$(json gather.recomputed)" 1
at_least "tree, killed before the gather: hosts that gave results" \
    "$(json gather.slaves)" 2

# 4 MiB take a third of a second on a wire
export NOWFARM_LOG=info
start_in ws0 run synth --units 12 --cost 400ms --result 4MiB --gather reduce \
    "${farm[@]}"
victim_on ws2
check "the gather begins" wait_until 30 says 'gather 1: from 3 slaves'
kill -9 "$victim"
await 60
job_verified "reduce, killed in mid-gather"
same "reduce, killed in mid-gather: lost slaves" "$(json lost_slaves)" 1
at_least "reduce, killed in mid-gather: tries" "$(json gather.tries)" 2
at_least "reduce, killed in mid-gather: done again" \
    "$(json gather.recomputed)" 1

# What is large goes between slaves by the route that the table is of, and only where
# there is none a line says so; for what is small no route is opened.
table "$work/lan" 00000000 "reduce commutative 4 max reduce.chain.fd 3"
export NOWFARM_LOG=warn
large=(synth --units 12 --result 1MiB --gather reduce --table "$work/lan"
    "${farm[@]}")
run lab exec ws0 "$NF" run "${large[@]}"
job_verified "large reduce by a table"
same "large reduce by a table: its algorithm" "$(json gather.algorithm)" \
    reduce.chain.fd
check "large reduce by a table: no line of routes" eval '! err_says "not the best"'
run lab exec ws0 env NOWFARM_ROUTE=daemon "$NF" run "${large[@]}"
job_verified "large reduce by the pvmds"
check "large reduce by the pvmds: another route than the table's" \
    err_says 'lan: tuned for messages by the direct route: not the best here'
run lab exec ws0 env NOWFARM_ROUTE=daemon "$NF" run "${large[@]}" --result 3000B
job_verified "small reduce by the pvmds"
check "small reduce by the pvmds: no line of routes" \
    eval '! err_says "not the best"'
export NOWFARM_LOG=info

# A slave that comes late gets the shared data of one on its host: the wire, on
# which 16 MiB take 1.3 s, has nothing to do.
received() { # what eth0 of host $1 has had, in bytes
    lab exec "$1" sed -n 's/ *eth0: *\([0-9]*\) .*/\1/p' /proc/net/dev
}
pair=(synth --units 600 --cost 20ms --shared 16MiB --chatty --slaves 4 --slots 1)
start_in ws0 run "${pair[@]}" --hosts "$work/two" --verify --json
at_work() { # WS N: so many of its slaves have begun units
    [ "$(grep -o "^slave [0-9]* ($1): unit" "$work/err" | sort -u | wc -l)" -ge "$2" ]
}
# those of ws0 may have done many while ws1 still gets its data
check "late: all are at work" wait_until 30 at_work ws1 2
before=$(received ws1)
# shellcheck disable=SC2046
kill -9 $(slaves_on ws1 | head -n 1)
check "late: a new one gets the data of another slave" \
    wait_until 20 says 'slave 4 .*ws1.* gets the shared data of slave .*ws1'
await 60
job_verified "late"
at_most "late: ws1 received" $(($(received ws1) - before)) 4000000 bytes
unset NOWFARM_LOG

# the same bits, whoever computes, and whoever dies
points=(run montecarlo --samples 200000000 --seed 5 --chunk 250000)
leases_on() { # WS N: it has had so many
    [ "$(grep -c "lease .* of slave [0-9]* ($1)" "$work/err")" -ge "$2" ]
}
run "${points[@]}" --transport local --out want.txt --verify --json
job_verified "montecarlo in one process"
NOWFARM_LOG=debug start_in ws0 "${points[@]}" --gather reduce --out got.txt "${farm[@]}"
victim_on ws2
check "montecarlo: ws2 has had units" wait_until 30 leases_on ws2 12
kill -9 "$victim"
await 60
job_verified "montecarlo, killed"
same "montecarlo, killed: lost slaves" "$(json lost_slaves)" 1
check "montecarlo, killed: the same bits" cmp -s got.txt want.txt

seq 1 400000 > numbers.txt
scan=(prefix numbers.txt --every 7)
run "${scan[@]}" --transport local --slaves 1 --out want.rows --json
start_in ws0 "${scan[@]}" --slaves 3 --hosts "$work/hosts" --verify --json \
    --out got.rows
await 60
job_verified "prefix"
same "prefix: members" "$(json slaves)" 3
check "prefix: the same rows" cmp -s got.rows want.rows

rm got.rows
seq 1 4000000 > numbers.txt
start_in ws0 "${scan[@]}" --slaves 3 --hosts "$work/hosts" --out got.rows
check "there is a member on ws2" wait_until 30 has_slave ws2
sleep 0.2
# shellcheck disable=SC2046
kill -9 $(slaves_on ws2)
await 30
same "prefix, killed: exit status" "$rc" 1
check "prefix, killed: the host is named" err_says 'rank 2 on ws2'
check "prefix, killed: no file" test ! -e got.rows
check "no slave is left" wait_until 10 \
    eval '! has_slave ws0 && ! has_slave ws1 && ! has_slave ws2'
finish
