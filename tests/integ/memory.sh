#!/bin/bash
# Ten million units without inputs: the master needs less than 700 MiB.
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
finish
