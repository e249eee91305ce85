#!/bin/bash
# What slaves print reaches the user, labelled, and never the JSON.
. "${0%/*}/lib.sh"
need_pvm

run run synth --units 30 --cost 2ms --chatty --slaves 3 --slots 1 --verify \
    --json
job_verified "chatty units"
same "every line of stdout came, once" \
    "$(grep -Ec '^[^ ].*: unit [0-9]+ says hello$' "$work/err")" 30
same "every line of stderr came, once" \
    "$(grep -Ec '^[^ ].*: unit [0-9]+ complains$' "$work/err")" 30
same "three labels" "$(sed -n 's/: unit [0-9]* says hello$//p' "$work/err" |
    sort -u | wc -l)" 3
check "no line is torn" eval '! grep -E "says hello|complains" "$work/err" |
    grep -Evq "^[^ ].*: unit [0-9]+ (says hello|complains)$"'

# the last words of a slave that dies
run run synth --units 5 --chatty --slaves 4 --slots 1 --fault 3:exit
same "a slave that dies: exit status" "$rc" 1
same "a slave that dies: its last words" \
    "$(grep -c ': unit 3 says hello$' "$work/err")" 3

run run synth --units 10 --slaves 2 --quiet
same "--quiet: exit status" "$rc" 0
same "--quiet: nothing on stderr" "$(err_lines)" 0

# as daemons start programs: sockets must not become standard files
timeout $((60 * slow)) "$NF" run synth --units 10 --slaves 2 \
    > "$work/out" <&- 2>&-
same "neither stdin nor stderr: exit status" $? 0
finish
