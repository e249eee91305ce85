#!/bin/bash
# The operators of --gather reduce: sum, min, max and histograms of numbers, also
# when slaves are killed while units are computed and in mid-gather.  --verify
# compares with a serial computation, and counts the units.
. "${0%/*}/lib.sh"
need_pvm

for operator in sum min max histogram; do
    numbers=(synth --combine "$operator" --slaves 4 --slots 1 --verify --json)
    for gather in stream tree reduce; do
        run run "${numbers[@]}" --units 300 --result 3000B --gather $gather \
            --out "$work/$operator.$gather"
        job_verified "$operator, $gather"
        same "$operator, $gather: size of the file" \
            "$(stat -c %s "$work/$operator.$gather")" 3000
    done
    check "$operator: the same combined here and on the way" \
        cmp "$work/$operator.stream" "$work/$operator.reduce"
    run run "${numbers[@]}" --units 300 --result 3000B --gather reduce \
        --transport local --out "$work/$operator.local"
    job_verified "$operator, threads"
    check "$operator: the same of threads" \
        cmp "$work/$operator.stream" "$work/$operator.local"

    export NOWFARM_LOG=debug
    check "$operator: four slaves have results" in_job "had_leases 4 10" \
        run "${numbers[@]}" --units 300 --cost 10ms --result 1000B \
        --gather reduce --out "$work/$operator.killed"
    kill -9 "${slaves[0]}"
    await 60
    job_verified "$operator, killed before the gather"
    same "$operator, killed before the gather: lost slaves" \
        "$(json lost_slaves)" 1
    same "$operator, killed before the gather: failed units" \
        "$(json failed_units)" 0
    at_least "$operator, killed before the gather: done again" \
        "$(json gather.recomputed)" 1

    # so many numbers that it takes a while
    export NOWFARM_LOG=info
    check "$operator: a gather from four begins" \
        in_job "log_says 'gather 1: from 4 slaves'" \
        run "${numbers[@]}" --units 16 --result 16MiB --gather reduce
    kill -9 "${slaves[1]}"
    await 60
    job_verified "$operator, killed in mid-gather"
    same "$operator, killed in mid-gather: lost slaves" "$(json lost_slaves)" 1
    same "$operator, killed in mid-gather: failed units" "$(json failed_units)" 0
    at_least "$operator, killed in mid-gather: tries" "$(json gather.tries)" 2
    unset NOWFARM_LOG
done

# 64 values a unit are counted
check "histogram: every value is counted once" test "$(od -An -v -t d8 \
    "$work/histogram.reduce" | awk '{ for (i = 1; i <= NF; i++) sum += $i }
    END { print sum }')" = $((300 * 64))

# a wrong number is noticed, by place
run run synth --units 20 --combine sum --gather reduce --fault 7:wrong --verify
same "a wrong number: exit status" "$rc" 4
check "a wrong number: told" err_says 'combined to are wrong'

# ------------------------------------------------------------------ bad input
run run synth --combine average
refused 2 "no such operator"
check "no such operator: the line names them" \
    err_says '--combine average: want sum, min, max or histogram'
run run synth --combine
refused 2 "no operator"
for size in 0B 12B; do
    run run synth --combine min --result $size --gather reduce
    refused 2 "no whole numbers, $size"
done
check "no slave is left" wait_until 10 no_slaves
finish
