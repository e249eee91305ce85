#!/bin/bash
# A kernel that returns an error: tried again, then reported with its reason.
. "${0%/*}/lib.sh"
mkdir "$work/marks"
transports=local
if (need_pvm > /dev/null); then transports="pvm local"; fi

for transport in $transports; do
    rm -f "$work/marks"/*
    run run synth --units 100 --slaves 2 --transport "$transport" \
        --fault 0:error-once,50:error-once,99:error-once \
        --fault-dir "$work/marks" --verify --json
    job_verified "$transport: three units fail once"
    same "$transport: retries" "$(json retries)" 3
    same "$transport: lost slaves" "$(json lost_slaves)" 0

    run run synth --units 100 --slaves 2 --transport "$transport" \
        --fault 5:error --json
    same "$transport: a unit always fails: exit status" "$rc" 1
    check "$transport: JSON all the same" only_json
    check "$transport: the unit and its reason" \
        err_says 'unit 5[^0-9].*as asked for'
    same "$transport: tried three times" "$(json retries)" 2

    run run synth --units 100 --slaves 2 --transport "$transport" \
        --fault 5:error --max-attempts 1 --json
    same "$transport: one attempt: exit status" "$rc" 1
    same "$transport: one attempt: retries" "$(json retries)" 0

    # a wrong result must be seen by --verify, or no test here means anything
    run run synth --units 100 --slaves 2 --transport "$transport" \
        --fault 5:wrong --verify --json
    same "$transport: a wrong byte: exit status" "$rc" 4
    same "$transport: a wrong byte: verified" "$(json verified)" false
    check "$transport: a wrong byte: the unit is named" \
        err_says 'unit 5([^0-9]|$)'
done

# The units that did not fail are delivered all the same.
run run synth --units 20 --fault 7:error --slaves 2 --out "$work/part.bin" --json
same "a unit given up, --out: exit status" "$rc" 1
check "a unit given up, --out: the file is said to lack it" \
    err_says "part.bin was written without"
same "a unit given up, --out: the file is whole" \
    "$(stat -c %s "$work/part.bin")" 160
run run synth --units 20 --slaves 2 --out "$work/whole.bin" --json
same "only the unit that failed differs" \
    "$(cmp -l "$work/part.bin" "$work/whole.bin" | awk '{print int(($1 - 1) / 8)}' |
        sort -u | tr '\n' ' ')" "7 "
finish
