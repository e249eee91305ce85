#!/bin/bash
# A unit that kills every slave that tries it is given up; the rest is done.
. "${0%/*}/lib.sh"
need_pvm

run run synth --units 50 --cost 5ms --chatty --slaves 4 --slots 1 \
    --fault 7:kill
same "exit status" "$rc" 1
check "the unit is named" err_says 'unit 7([^0-9]|$)'
check "its three tries are named" err_says '(3|three) (times|tries|attempts)'
check "what happened is named" err_says 'slave|died|killed|exited|lost'
for unit in $(seq 0 49); do
    grep -q ": unit $unit says hello$" "$work/err" || fail "unit $unit not done"
done
same "unit 7 was tried three times" \
    "$(grep -c ': unit 7 says hello$' "$work/err")" 3
check "nothing claims success" eval '! grep -qi verified "$work/out"'

run run synth --units 50 --cost 5ms --slaves 4 --slots 1 --fault 7:exit \
    --max-attempts 2 --json
same "exit instead of a signal: exit status" "$rc" 1
check "exit instead of a signal: JSON all the same" only_json
same "exit instead of a signal: lost slaves" "$(json lost_slaves)" 2
check "exit instead of a signal: the unit is named" err_says 'unit 7([^0-9]|$)'

# One that stops its slave: silence may be the network's fault twice, no more.
run run synth --units 50 --cost 5ms --slaves 2 --slots 1 --fault 7:stop \
    --heartbeat-timeout 500ms --json
same "a unit that stops its slaves: exit status" "$rc" 1
check "a unit that stops its slaves: it is named" err_says 'unit 7([^0-9]|$)'
same "a unit that stops its slaves: lost slaves" "$(json lost_slaves)" 5
# Copies count with it, or one unit would take slave after slave.
run run synth --units 60 --cost 100ms --slaves 10 --slots 1 --fault 55:stop \
    --heartbeat-timeout 500ms --policy auto:replicate=1 --json
same "with copies: exit status" "$rc" 1
at_most "with copies: lost slaves" "$(json lost_slaves)" 6
check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
