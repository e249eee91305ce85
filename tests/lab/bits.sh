#!/bin/bash
# The same bits on three hosts as in one process: sums that are combined on the
# way, and a scan; also when the cable of a host is pulled in the middle.
. "${0%/*}/lab-lib.sh"
need_pvm
slow_test
cd "$work" || exit 99
hosts_file ws0 ws1 ws2
farm=(--slaves 3 --slots 1 --hosts "$work/hosts" --verify --json)
leases_on() { # WS N: it has had so many
    [ "$(grep -c "lease .* of slave [0-9]* ($1)" "$work/err")" -ge "$2" ]
}
sent() { # WS BYTES
    [ "$(lab exec "$1" sed -n 's/ *eth0://p' /proc/net/dev |
        awk '{print $9}')" -ge "$2" ]
}
gathering() { grep -q 'gather 1: from 3 slaves' "$work/err"; }

# --- montecarlo, long enough for a cable to be pulled in it on a busy machine
points=(run montecarlo --integrand gaussian --dims 3 --samples 96000000
    --seed 7 --chunk 400000)
run "${points[@]}" --transport local --out want.txt --verify --json
job_verified "montecarlo in one process"
lab up 2 100mbit
start_in ws0 "${points[@]}" --gather reduce --out got.txt "${farm[@]}"
await 60
job_verified "montecarlo on three hosts"
same "montecarlo on three hosts: gave sums" "$(json gather.slaves)" 3
check "montecarlo on three hosts: the same bits" cmp -s got.txt want.txt

rm got.txt
export NOWFARM_LOG=debug
start_in ws0 "${points[@]}" --gather reduce --out got.txt "${farm[@]}"
# the third one comes when the first is done: then its sum is there
check "montecarlo: ws2 has had units" wait_until 30 leases_on ws2 4
lab cut ws2
cut_ms=$(now_ms)
await 60
job_verified "montecarlo, cable pulled"
check "montecarlo, cable pulled: the same bits" cmp -s got.txt want.txt
same "montecarlo, cable pulled: lost slaves" "$(json lost_slaves)" 1
at_least "montecarlo, cable pulled: done again" "$(json gather.recomputed)" 1
same "montecarlo, cable pulled: gave sums" "$(json gather.slaves)" 2
at_most "montecarlo, cable pulled: left" $(($(now_ms) - cut_ms)) \
    $((25000 * slow)) ms
check "montecarlo, cable pulled: no slave is left there" \
    wait_until 15 eval '! has_slave ws2'
lab down

# the cable goes while sums are being combined: 24 MiB take 2 s on a wire
lab up 2 100mbit
NOWFARM_LOG=info start_in ws0 run synth --units 12 --result 24MiB \
    --gather reduce --out got.sums "${farm[@]}"
check "the gather begins" wait_until 30 gathering
lab cut ws2
await 60
job_verified "cable pulled in mid-gather"
same "cable pulled in mid-gather: lost slaves" "$(json lost_slaves)" 1
at_least "cable pulled in mid-gather: tries" "$(json gather.tries)" 2
check "cable pulled in mid-gather: no slave is left there" \
    wait_until 15 eval '! has_slave ws2'
unset NOWFARM_LOG
run run synth --units 12 --result 24MiB --gather reduce --transport local \
    --out want.sums --json
check "cable pulled in mid-gather: the same bits" cmp -s got.sums want.sums
lab down

# --- prefix, of numbers whose sums depend on the order unless they are exact
awk 'BEGIN {
    srand(3)
    for (i = 0; i < 700000; i++)
        printf("%.17g\n", (rand() - 0.5) * 10 ^ int(20 * rand()))
}' > numbers.txt
scan=(prefix numbers.txt --every 3)
run "${scan[@]}" --transport local --slaves 1 --out want.rows --json
same "prefix in one thread: exit status" "$rc" 0
lab up 2 100mbit
for slaves in 2 3 5; do
    rm -f got.rows
    start_in ws0 "${scan[@]}" --slaves $slaves --hosts "$work/hosts" --verify \
        --json --out got.rows
    await 60
    job_verified "prefix, $slaves members"
    check "prefix, $slaves members: the same rows" cmp -s got.rows want.rows
done
rm -f got.rows
lab down
lab up 2 100mbit
start_in ws0 prefix numbers.txt --every 1 --slaves 3 --hosts "$work/hosts" \
    --timeout 2s --out got.rows
check "prefix: rows come from ws2" wait_until 30 sent ws2 1000000
lab cut ws2
cut_ms=$(now_ms)
await 30
same "prefix, cable pulled: exit status" "$rc" 1
check "prefix, cable pulled: the member and its host are named" \
    err_says 'rank 2 on ws2 is lost: member 2 is silent'
at_most "prefix, cable pulled: left" $(($(now_ms) - cut_ms)) \
    $((12000 * slow)) ms
check "prefix, cable pulled: no file" test ! -e got.rows
check "prefix, cable pulled: no member is left" wait_until 10 \
    eval '! has_slave ws0 && ! has_slave ws1 && ! has_slave ws2'
finish
