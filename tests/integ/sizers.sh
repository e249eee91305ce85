#!/bin/bash
# Every sizer does a real job, and `nowfarm chunks` answers scripts as people
# and programs write them.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

# --- real jobs: each sizer by itself, and with a pacer that sends ahead
sizers=$("$NF" policies | awk '/^Sizers/ { on = 1; next } /^Pacers/ { exit }
    on && /^  [a-z]/ { print $1 }')
# named here, as the list itself is made of the table that loses one
named() { # TEXT NAMES GOT
    same "$1" "$(echo "$3" | sort | xargs)" "$(printf '%s\n' $2 | sort | xargs)"
}
named "there are all sizers" "static cyclic fixed gss fac fac2 wf awf awf-b awf-c
    awf-d awf-e af rta tss tfss fiss viss fsc mfsc rand" "$sizers"
pacers=$("$NF" policies | awk '/^Pacers/ { on = 1; next }
    on && /^  [a-z]/ { print $1 }')
named "there are all pacers" "pull timer round window auto" "$pacers"
same "policies without a source" "$("$NF" policies | awk '
    /^(Sizers|Pacers)/ { on = 1; next }
    !on { next }
    /^  [a-z]/ { if (name != "") print name; name = $1 }
    /^    source: *[^ ]/ { name = "" }
    END { if (name != "") print name }')" ""
for sizer in $sizers; do
    for policy in "$sizer" "$sizer+auto" "$sizer+window:w=3"; do
        run run synth --transport local --slaves 3 --units 300 --cost 20us \
            --spread 0.5 --policy "$policy" --verify --json
        job_verified "$policy"
        same "$policy: units" "$(json units)" 300
        same "$policy: duplicates" "$(json duplicates)" 0
    done
done
if (need_pvm > /dev/null); then
    printf '%s slots=2\nws-none slaves=3 slots=1\n' "$(hostname)" > hosts
    for options in '--slaves 2 --slots 2' '--slots 7 --hosts hosts' \
        '--slaves 2 --hosts hosts'; do
        # shellcheck disable=SC2086
        run run synth --transport pvm $options --units 9 \
            --policy wf:speeds=3/2/1
        refused 2 "three speeds, $options"
        check "three speeds, $options: the line says which" \
            err_says 'wf:speeds=3/2/1.*3 given for [45] slots'
        check "three speeds, $options: nothing was started" \
            test -z "$(ls -A "$PVM_TMP")"
    done
    for policy in static cyclic:g=5 af+window awf-d wf:speeds=3/2/1; do
        run run synth --transport pvm --slaves 3 --units 300 --cost 20us \
            --policy "$policy" --verify --json
        job_verified "$policy over PVM"
    done
fi
run run synth --transport local --slaves 3 --units 9 --policy wf:speeds=1/2
refused 2 "speeds for fewer slots"
check "speeds for fewer slots: the line says which" \
    err_says 'wf:speeds=1/2.*2 given for 3 slots'

# --- chunks
chunks() { # TEXT POLICY N P EXPECTED
    run chunks "$2" --units "$3" --slaves "$4" --json
    same "$1: exit status" "$rc" 0
    same "$1" "$(tr -d '\n' < out)" \
        "{\"policy\":\"$2\",\"units\":$3,\"slaves\":$4,\"chunks\":[$5]}"
}
chunks "static lists every slave" static 2 4 1,1,0,0
chunks "no units" fac2 0 4 ""
chunks "trapezoid" tss:first=20,last=4 60 4 20,16,12,8,4
chunks "one slave" awf-b 10 1 1,1,1,1,1,1,1,1,1,1
chunks "2^40 units" fac:sigma=0 1099511627776 3 \
    366503875926,366503875926,366503875924

cat > script <<'EOF'
# two slaves, the second three times as slow
next 0
next 1
report 0 45 450 900 10.0 0.0
report 1 45 1350 1800 30.0 0
next 0          # 1.5 ceil(810/4)
next 1 100      # go on as if it had been 100
next 0
EOF
run chunks awf-c --units 900 --slaves 2 --script script --json
same "script: exit status" "$rc" 0
same "script: the answers" "$(json sizes | tr -d ' \n')" "[45,45,305,64,153]"

printf 'next 0\nreport 0 1 2 3 nan 5\n' > bad
run chunks af --units 900 --slaves 2 --script bad
refused 2 "a bad script"
check "a bad script: file and line" err_says 'bad:2: mean nan'
printf 'next 0\nnext 1\0\n' > bad
run chunks af --units 900 --slaves 2 --script bad
refused 2 "a NUL byte in a script"
check "a NUL byte in a script: file and line" err_says 'bad:2: '

check "no slave is left" wait_until 5 no_slaves
finish
