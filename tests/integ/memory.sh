#!/bin/bash
# Ten million units without inputs: the master needs less than 700 MiB.  And many units
# in many phases: what pieces there are takes memory, and not all that there could be.
. "${0%/*}/lib.sh"
slow_test
[ "$sanitized" = 0 ] || skip "sanitizers need memory of their own"
units=10000000

for policy in gss send:g=1000 presend:g=4096,td=1ms; do
    timeout 300 "$maxrss" "$work/rss" "$NF" run synth --units $units --in 0B \
        --policy "$policy" --transport local --slaves 2 --slots 1 --verify \
        --json > "$work/out" 2> "$work/err" < /dev/null
    rc=$?
    job_verified "$policy"
    read -r kib _ < "$work/rss"
    at_most "$policy: largest resident set" $((kib / 1024)) 700 MiB
done

# 1024 units in 56 phases: tables of all pieces would take 56 x 1024^2 x 8 bytes
timeout 600 "$maxrss" "$work/rss" "$NF" run sort --way bitonic --units 1024 \
    --count 20000 --transport local --slaves 2 --slots 1 --verify --json \
    > "$work/out" 2> "$work/err" < /dev/null
rc=$?
job_verified "sort in 56 phases"
read -r kib _ < "$work/rss"
at_most "sort in 56 phases: largest resident set" $((kib / 1024)) 120 MiB
finish
