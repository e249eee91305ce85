#!/bin/bash
# Monte Carlo integration: the same bits whoever computes, and a slave may die.
. "${0%/*}/lib.sh"
need_pvm
cd "$work" || exit 99

job="run montecarlo --integrand gaussian --dims 3 --samples 400000 --seed 5"
# integrate TEXT ARGS...: verified, and the file has the bits of want.txt
integrate() {
    local text=$1
    shift
    rm -f got.txt
    # shellcheck disable=SC2086
    run $job --out got.txt --verify --json "$@"
    job_verified "$text"
    check "$text: the same bits" cmp -s got.txt want.txt
}

# shellcheck disable=SC2086
run $job --chunk 400000 --transport local --slots 1 --out want.txt --verify \
    --json
job_verified "one unit in one thread"
same "the known value is erf(1)^3" "$(json result.known_value | cut -c 1-9)" \
    0.5984394
check "the report has the bits of the file" grep -q \
    "^estimate $(json result.estimate)\$" want.txt

for slaves in 1 2 4; do
    integrate "pvm, $slaves slaves" --chunk 4000 --slaves $slaves --slots 1
    integrate "local, $slaves slots" --chunk 7001 --transport local \
        --slots $slaves
done
for policy in send:g=7 presend:td=2ms presend-round:td=2ms auto fixed+window:w=3 \
    static cyclic gss fac fac2 wf:speeds=3/1 awf awf-b awf-c awf-d awf-e af \
    rta tss tfss fiss viss fsc:h=0.1,sigma=0.5 mfsc rand:seed=42; do
    integrate "policy $policy" --chunk 4000 --slaves 2 --policy "$policy"
done

for gather in tree reduce; do
    integrate "gather $gather" --chunk 4000 --slaves 3 --gather $gather
done

NOWFARM_LOG=debug start run montecarlo --integrand gaussian --dims 3 \
    --samples 120000000 --seed 5 --chunk 20000 --slaves 4 --slots 1 \
    --out killed.txt --verify --json
check "four slaves have results" wait_until 20 had_leases 4 10
kill -9 "$(slave_pids | head -n 1)"
await 60
job_verified "a slave killed"
same "a slave killed: lost slaves" "$(json lost_slaves)" 1
run run montecarlo --integrand gaussian --dims 3 --samples 120000000 --seed 5 \
    --chunk 1000000 --transport local --out whole.txt --verify --json
job_verified "the same without"
check "a slave killed: the same bits" cmp -s killed.txt whole.txt

NOWFARM_LOG=debug start run montecarlo --integrand gaussian --dims 3 \
    --samples 120000000 --seed 5 --chunk 20000 --slaves 4 --slots 1 \
    --gather reduce --out reduced.txt --verify --json
check "four slaves have results" wait_until 20 had_leases 4 10
kill -9 "$(slave_pids | head -n 1)"
await 60
job_verified "a slave killed before its sums are combined"
same "a slave killed before that: lost slaves" "$(json lost_slaves)" 1
check "a slave killed before that: the same bits" cmp -s reduced.txt whole.txt

run run montecarlo --samples 100000 --transport local --gather reduce --verify
same "what is verified of sums: exit status" "$rc" 0
check "what is verified of sums: people are told" \
    grep -q 'all sums computed again, same bits' "$work/out"
run run montecarlo --samples 100000 --transport local --out pi.json
same "JSON: exit status" "$rc" 0
check "JSON: people are told" grep -q '^estimate  *3\.1' "$work/out"
cp pi.json "$work/out"
check "JSON: the file is JSON" only_json
same "JSON: samples" "$(json samples)" 100000

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
