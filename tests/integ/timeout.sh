#!/bin/bash
# --unit-timeout: a unit that never ends is tried elsewhere, then given up.
. "${0%/*}/lib.sh"
need_pvm
mkdir "$work/marks"

run run synth --units 40 --cost 5ms --slaves 3 --slots 1 --unit-timeout 500ms \
    --fault 5:hang-once --fault-dir "$work/marks" --verify --json
job_verified "a unit that hangs once"
check "a unit that hangs once: it did" test -e "$work/marks/fault-5"
at_least "a unit that hangs once: retries" "$(json retries)" 1
at_most "a unit that hangs once: took" "$took_ms" $((5000 * slow)) ms

run run synth --units 40 --cost 5ms --slaves 4 --slots 1 --unit-timeout 500ms \
    --fault 5:hang --chatty
same "a unit that always hangs: exit status" "$rc" 1
check "a unit that always hangs: it is named" err_says 'unit 5([^0-9]|$)'
check "a unit that always hangs: so is the limit" err_says 'limit|timeout|500'
same "a unit that always hangs: the others are done" \
    "$(grep ': unit [0-9]* says hello$' "$work/err" |
        sed 's/.*: unit \([0-9]*\) .*/\1/' | sort -u | wc -l)" 40
at_most "a unit that always hangs: took" "$took_ms" $((10000 * slow)) ms
check "no slave is left" wait_until 5 no_slaves
finish
