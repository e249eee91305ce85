#!/bin/bash
# nowfarm sim farm: makespans to the microsecond, the fields of a report, and
# platform files that are wrong.  Neither PVM nor time is needed.
. "${0%/*}/lib.sh"
cd "$work" || exit 99
platforms=$top_srcdir/conf/platforms

# --- what it finds ---------------------------------------------------------

# makespan TEXT SECONDS PLATFORM POLICY ARGS...
makespan() {
    local text=$1 want=$2 platform=$3 policy=$4
    shift 4
    run sim farm --platform "$platform" --policy "$policy" --json "$@"
    same "$text: exit status" "$rc" 0
    check "$text: stdout is one JSON object" only_json
    same "$text: makespan" \
        "$(sed -n 's/^ *"makespan_s": \(.*\),$/\1/p' out)" "$want"
}
# values of an independent simulator
makespan "four speeds, send" 12.932 "$platforms/four-speeds.json" send
makespan "four speeds, auto" 11.712 "$platforms/four-speeds.json" auto
makespan "four speeds, 4 units" 0.412 "$platforms/four-speeds.json" auto \
    --units 4
cat > p.json << 'EOF'
{"units": 6, "slaves": 2, "cost": 90, "ts": [5, 0], "tr": [5, 0]}
EOF
makespan "two timers" 0.0004 p.json presend:td=100us/150us
makespan "from a pipe" 0.0004 <(cat p.json) presend:td=100us/150us
echo '{"units": 1, "slaves": 1, "cost": 999999999999}' > p.json
makespan "12 digits" 999999.999999 p.json send

for field in app units slaves slots policy transport makespan_s compute_s \
    lower_bound_s messages bytes_out bytes_in retries duplicates lost_slaves failed_units \
    failures verified breakdown_s.compute breakdown_s.transfer \
    breakdown_s.master breakdown_s.idle breakdown_s.tail platform \
    per_slave.0.units per_slave.0.busy_s per_slave.0.blocked_s \
    per_slave.0.idle_s per_slave.0.starve_s per_slave.0.max_queue; do
    has_field "$field" || fail "field $field is missing"
done
has_field startup_s && fail "field startup_s has no meaning here"

# what auto has learnt of every slot: the second slave has two
echo '{"units": 60, "cost": [%s], "slots": [1, 2], "speed": [1, "1/2"],
    "prop": 10}' | sed "s/%s/$(yes 1000 | head -n 60 | paste -sd,)/" > p.json
run sim farm --platform p.json --policy auto --json
for at in 0:0:0:0.001 1:1:0:0.002 2:1:1:0.002; do
    IFS=: read -r entry slave slot service <<< "$at"
    same "auto $entry: slave" "$(json "auto.$entry.slave")" "$slave"
    same "auto $entry: slot" "$(json "auto.$entry.slot")" "$slot"
    same "auto $entry: service" "$(json "auto.$entry.service_s")" "$service"
    for field in host chunks td_s latency_s window; do
        has_field "auto.$entry.$field" || fail "field auto.$entry.$field"
    done
done
check "auto: no more slots than there are" eval '! has_field auto.3'
same "bytes: not known to a platform" "$(json bytes_out) $(json bytes_in)" "0 0"
run sim farm --platform p.json --policy send --json
check "auto: empty with other pacers" eval '! has_field auto.0'

for file in "$platforms"/*.json; do
    for policy in send gss auto; do
        what="$(basename "$file"), $policy"
        run sim farm --platform "$file" --policy $policy --json
        same "$what: exit status" "$rc" 0
        check "$what: the parts add up and the bound holds" \
            awk -v m="$(json makespan_s)" -v b="$(json lower_bound_s)" \
            -v c="$(json breakdown_s.compute)" \
            -v t="$(json breakdown_s.transfer)" \
            -v a="$(json breakdown_s.master)" -v i="$(json breakdown_s.idle)" \
            -v l="$(json breakdown_s.tail)" 'BEGIN {
                d = c + t + a + i + l - m
                exit !(m >= b && b > 0 && d < 1e-6 && -d < 1e-6)
            }'
    done
done
run sim farm --platform "$platforms/failures.json" --policy send --json
same "failures: slaves lost" "$(json lost_slaves)" 3
run sim farm --platform "$platforms/switch.json" --policy send
mv out first
run sim farm --platform "$platforms/switch.json" --policy send
check "the same run twice gives the same report" cmp -s first out
run sim farm --platform "$platforms/switch.json" --policy send --seed 2
check "another seed gives another" test "$(cmp -s first out; echo $?)" = 1
run sim farm --platform "$platforms/four-speeds.json"
same "report for people: exit status" "$rc" 0
check "report for people: makespan and bound" grep -qE \
    '^makespan +11\.712000 s  \(lower bound 11\.636364 s' out
check "report for people: a line for each slave" \
    test "$(grep -cE '^ +[0-3] ' out)" = 4

echo '{"units": 9, "slaves": 1, "cost": 9,
"failures": [{"slave": 0, "at": 20}]}' > p.json
run sim farm --platform p.json
refused 1 "nobody left"
check "nobody left: the line says when" err_says '0\.000020 s: 2 of 9'

# --- what it refuses -------------------------------------------------------

# bad TEXT PATTERN ARGS...
bad() {
    local text=$1 pattern=$2
    shift 2
    run -t 10 "$@"
    refused 2 "$text"
    check "$text: the line says what" err_says "$pattern"
}
good=$platforms/four-speeds.json
bad "no simulation" 'sim: what' sim
bad "unknown simulation" frm sim frm
bad "no platform" '--platform is missing' sim farm
bad "stray argument" stray sim farm --platform "$good" stray
bad "unknown option" frob sim farm --platform "$good" --frob
bad "unknown policy" bogus sim farm --platform "$good" --policy bogus
bad "negative units" '--units -1' sim farm --platform "$good" --units -1
bad "bad seed" '--seed x' sim farm --platform "$good" --seed x
bad "no such file" 'nosuch.json: No such file' sim farm --platform nosuch.json
bad "a directory" '/: Is a directory' sim farm --platform /
head -c 90 "$good" > cut.json
bad "truncated" '^nowfarm: cut.json:2: ' sim farm --platform cut.json
: > empty.json
bad "empty" '^nowfarm: empty.json:1: ' sim farm --platform empty.json
head -c 3000 /dev/urandom > noise.json
bad "noise" '^nowfarm: noise.json:[0-9]+: ' sim farm --platform noise.json

# file TEXT PATTERN, then the file on stdin: the line is "p.json:" PATTERN
file() {
    cat > p.json
    bad "$1" "^nowfarm: p\.json:$2" sim farm --platform p.json
}
file "negative rate" '3: speed\[1\]: want a speed' << 'EOF'
{"units": 4, "cost": 10,
 "speed": [1,
           -2]}
EOF
file "empty host list" '2: speed: a list of 0: want 1' << 'EOF'
{"units": 4, "cost": 10,
 "speed": []}
EOF
file "no slaves" '1: slaves: 0: want' <<< '{"units":4,"cost":1,"slaves":0}'
file "costs of the wrong length" '2: cost: 3 costs for 4 units' << 'EOF'
{"units": 4, "slaves": 1,
 "cost": [1, 2, 3]}
EOF
file "wrong type" '1: blocking: want true or false' \
    <<< '{"units":4,"slaves":1,"cost":1,"blocking":"yes"}'
file "NaN" '2: ' << 'EOF'
{"units": 4, "slaves": 1,
 "cost": NaN}
EOF
file "duplicate key" '3: duplicate object key' << 'EOF'
{"units": 4, "slaves": 1,
 "cost": 3,
 "units": 4}
EOF
file "too large" '1: too big integer' <<< '{"units":18446744073709551616}'
file "unknown key" '2: speeds: no such key \(did you mean "speed"' << 'EOF'
{"units": 4, "slaves": 1, "cost": 1,
 "speeds": [1]}
EOF
file "a file of costs that is not there" '1: cost\.file: nocosts: No such' \
    <<< '{"units":4,"slaves":1,"cost":{"file":"nocosts"}}'
mkdir sub
echo '{"units":2,"slaves":1,"cost":{"file":"costs.csv"}}' > sub/p.json
printf '10\n-3\n' > sub/costs.csv
bad "a bad cost in a file" '^nowfarm: sub/costs.csv:2: -3: want' \
    sim farm --platform sub/p.json
printf '# us\n10, 3\n' > sub/costs.csv
run sim farm --platform sub/p.json --policy send
check "costs from a file beside the platform" \
    grep -q '^makespan  *0\.000013 s' out

# A slave that becomes faster only later, and a way to it: the bound holds.
echo '{"units": 100, "slaves": 1, "cost": 20000, "speed": ["1/4"],
    "prop": 10000, "load": {"0": [[74709, "4"]]}}' > "$work/late.json"
run sim farm --platform "$work/late.json" --policy static --json
check "a load trace and a way: makespan" \
    grep -q '"makespan_s": 0.580665,' "$work/out"
same "a load trace and a way: lower bound, ms" \
    "$(awk -v s="$(json lower_bound_s)" 'BEGIN {printf("%.3f", s * 1000)}')" 580.665
finish
