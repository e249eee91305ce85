#!/bin/bash
# `nowfarm trees`, `nowfarm tree` and `nowfarm sim mesh`: what they print, draw and
# turn down.  Neither PVM nor time is needed.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

refuse() { # TEXT PATTERN ARGS...
    local text=$1 pattern=$2
    shift 2
    run "$@"
    refused 2 "$text"
    check "$text: the line says so" err_says "$pattern"
}
# numbers KEY: those of a list, in a line
numbers() { tr -d ' \n' < out | sed -n "s/.*\"$1\":\[\([-0-9.,]*\)\].*/\1/p"; }
children() {
    tr -d ' \n' < out |
        sed -n 's/,"addresses".*/}/; s/.*"children":\(\[\[.*\]\]\).*/\1/p'
}

# --- the list
run trees --json
same "trees: exit status" "$rc" 0
check "trees: stdout is one JSON object" only_json
json "trees.*.name" > names
for field in summary cost source on_chain; do
    same "trees: all have $field" "$(json "trees.*.$field" | wc -l)" "$(wc -l < names)"
done
at_least "trees" "$(wc -l < names)" 9
run trees
while read -r tree; do
    grep -q "^$tree: " out || fail "trees for people: $tree is missing"
done < names
refuse "an argument of trees" 'unexpected argument "x"' trees x

# --- table 1 of the paper
run tree opt --nodes 9 --hold 20 --end 55 --json
same "opt: exit status" "$rc" 0
check "opt: stdout is one JSON object" only_json
same "opt: time" "$(json time)" 135
same "opt: ready" "$(numbers ready)" 0,135,115,95,75,130,55,130,110
same "opt: children" "$(children)" "[[6,4,3,2,1],[],[],[],[5],[],[8,7],[],[]]"
for field in algorithm nodes root hold end ports; do
    has_field $field || fail "field $field is missing"
done
for row in "sequential 195" "chain 440" "binomial 220" \
    "binomial-rootceil 165" "binomial-bits 185" "opt 135" "multi-port 135" \
    "u-mesh 220" "opt-mesh 135"; do
    run tree "${row% *}" --nodes 9 --hold 20 --end 55 --json
    same "9 nodes: ${row% *}" "$(json time)" "${row#* }"
done
run tree opt --nodes 3 --hold 0.5 --end 1.25 --json
same "decimals" "$(json time) $(numbers ready)" "1.75 0,1.75,1.25"
run tree opt --nodes 2 --hold 9 --end 4 --json
same "hold beyond end is not charged in vain" "$(json time)" 4
run tree opt --nodes 1 --hold 0 --end 0 --json
same "a single node" "$(json time) $(children)" "0 [[]]"
run tree opt --nodes 4 --root 2 --hold 1 --end 1 --json
same "another root" "$(json root) $(children)" "2 [[1],[],[0,3],[]]"
run tree opt --nodes 1048576 --hold 20 --end 55
same "a million nodes: exit status" "$rc" 0
same "a million nodes: lines" "$(wc -l < out)" $((1048576 + 3))
for interval in 0 10 22; do
    run tree multi-port --nodes 12 --hold 22 --end 55 --ports 1 --interval $interval --json
    same "one port, interval $interval" "$(json time) $(json interval)" "154 "
done
run tree opt --nodes 12 --hold 2 --end 55 --ports 1 --interval 22 --json
same "one port, an interval longer than the hold" "$(json time) $(json interval)" "154 22"
run tree multi-port --nodes 12 --hold 22 --end 55 --ports 3 --interval 10 --json
same "three ports" "$(json time) $(json ports) $(json interval)" "125 3 10"
run tree opt --nodes 9 --hold 20 --end 55
check "for people" grep -q '^opt: 9 nodes, hold 20, end 55: ready after 135$' out
check "for people: who sends to whom" grep -Eq '^ +4 +75 +0  5$' out

# --- a mesh
at=3,2/1,5/2,1/3,4/4,3/4,4/5,1/5,4
run tree opt-mesh --shape 6x6 --at $at --hold 20 --end 55 --json
same "on a mesh: time" "$(json time)" 130
same "on a mesh: children" "$(children)" "[[5,3,1,2],[],[],[4],[],[7,6],[],[]]"
same "on a mesh: addresses" "$(json addresses.5.0),$(json addresses.5.1)" 4,4
run tree u-mesh --shape 6x6 --at $at --hold 20 --end 55
check "on a mesh: for people" grep -Eq '^ +4,3 +55 +3,2  5,1 4,4$' out

# --- pictures
for tree in "opt --nodes 9" "chain --nodes 1" "chain --nodes 1024" \
    "sequential --nodes 1024" "u-mesh --shape 6x6 --at $at"; do
    rm -f t.svg
    # shellcheck disable=SC2086
    run tree $tree --hold 20 --end 55 --draw t.svg
    same "a picture of ${tree%% --at*}: exit status" "$rc" 0
    same "a picture of ${tree%% --at*}: its end" "$(tail -c 7 t.svg)" "</svg>"
    if command -v xmllint > /dev/null; then
        check "a picture of ${tree%% --at*}: XML" xmllint --noout t.svg
    fi
done
same "the picture: nodes" "$(grep -c '<title>node ' t.svg)" 8
same "the picture: sends" "$(grep -c '<rect class="s".*<title>' t.svg)" 7
check "the picture: an address" grep -q '>4,4</text>' t.svg

# --- what is turned down
refuse "no tree" "which one" tree
refuse "an unknown tree" 'no tree "oak"' tree oak --nodes 3 --hold 1 --end 1
refuse "no nodes" "--nodes is missing" tree opt --hold 1 --end 1
refuse "no hold" "--hold is missing" tree opt --nodes 3 --end 1
refuse "no end" "--end is missing" tree opt --nodes 3 --hold 1
for bad in 0 -1 1048577 x 1e3 ""; do
    refuse "$bad nodes" "--nodes" tree opt --nodes "$bad" --hold 1 --end 1
done
for bad in -1 nan inf x 1e10 0.0001 ""; do
    refuse "hold $bad" "--hold" tree opt --nodes 3 --hold "$bad" --end 1
    refuse "end $bad" "--end" tree opt --nodes 3 --hold 1 --end "$bad"
done
refuse "a root that takes no part" "--root 3: want a count from 0 to 2" \
    tree opt --nodes 3 --root 3 --hold 1 --end 1
refuse "no ports" "--ports 0" tree opt --nodes 3 --hold 1 --end 1 --ports 0
refuse "ports without interval" "--interval is missing" \
    tree opt --nodes 3 --hold 1 --end 1 --ports 2
refuse "interval without ports" "goes with --ports" \
    tree opt --nodes 3 --hold 1 --end 1 --interval 2
refuse "a mesh without places" "go together" \
    tree opt-mesh --shape 6x6 --hold 1 --end 1
refuse "a mesh of no sides" "--shape 6x: want the sides" \
    tree opt-mesh --shape 6x --at 1,1 --hold 1 --end 1
for bad in 6,0 1 1,1,1 "1,1/" "1,1//2,2" x "" -1,1; do
    refuse "a place '$bad'" "want addresses" \
        tree opt-mesh --shape 6x6 --at "$bad" --hold 1 --end 1
done
refuse "a place twice" "nodes 0 and 1 are at one place" \
    tree opt-mesh --shape 6x6 --at 1,1/1,1 --hold 1 --end 1
refuse "places and root" "the first one is the root" \
    tree opt-mesh --shape 6x6 --at 1,1/2,2 --root 1 --hold 1 --end 1
refuse "places and another number" "--nodes 3: want a count from 2 to 2" \
    tree opt-mesh --shape 6x6 --at 1,1/2,2 --nodes 3 --hold 1 --end 1
refuse "no picture" "ends with .svg" \
    tree opt --nodes 3 --hold 1 --end 1 --draw t.png
refuse "a picture nowhere" "no directory" \
    tree opt --nodes 3 --hold 1 --end 1 --draw no/t.svg
refuse "a picture too large" "at most 1024 nodes" \
    tree opt --nodes 1025 --hold 1 --end 1 --draw x.svg
check "a picture too large: none" test ! -e x.svg
refuse "an argument too many" 'unexpected argument "x"' tree opt x
timeout 60 "$NF" tree opt --nodes 3 --hold 1 --end 1 > /dev/full 2> err
same "on a full disk: exit status" "$?" 1
same "on a full disk: one line" "$(err_lines)" 1

# --- the simulator: single runs, to the tick
tick() { # WANT ARGS...
    local want=$1
    shift
    run sim mesh --run 0 --json "$@"
    same "sim mesh $*" "$(json time_ticks)" "$want"
}
tick 54584 --nodes 4 --size 4KiB --algorithm opt-mesh
tick 54602 --nodes 4 --size 4KiB --algorithm opt-tree
check "the same in us" grep -q '"time_us":546.02[,}]' out
tick 54584 --nodes 4 --size 4KiB --algorithm opt-mesh --ports 1 --interval 10192
tick 68392 --nodes 4 --size 4KiB --algorithm u-mesh
tick 807472 --nodes 32 --size 32KiB --algorithm opt-mesh
tick 871002 --nodes 32 --size 32KiB --algorithm opt-tree
tick 41008 --shape 4x4x4 --seed 2000 --nodes 20 --size 1KiB --algorithm opt-mesh
tick 63376 --shape 4x4x4 --seed 2000 --nodes 20 --size 1KiB --algorithm u-mesh
tick 0 --nodes 1 --size 1KiB --algorithm opt-mesh
check "stdout is one JSON object" only_json
run sim mesh --shape 2x2x2x2x2x2x2x2x2 --nodes 256 --size 4KiB --algorithm opt-mesh --json
same "no header waits in a hypercube" "$(json blocked_headers) $(json runs)" "0.0 16"
run sim mesh --nodes 256 --size 4KiB --algorithm opt-mesh --json
same "no header waits" "$(json blocked_headers) $(json runs)" "0.0 16"
run sim mesh --nodes 256 --size 4KiB --algorithm opt-mesh --routing last --json
same "routed the other way they do" "$(json blocked_headers)" 18.0625
run sim mesh --nodes 256 --size 4KiB --algorithm opt-mesh --torus --json
same "on a torus: exit status" "$rc" 0
run sim mesh --nodes 9 --size 100B --algorithm sequential --json --runs 1 \
    --send-fixed 10 --send-byte 0 --hop 1 --recv-fixed 5 --recv-byte 0
same "other costs: they are told" "$(json costs_ticks.recv_fixed)" 5
check "other costs: messages wait" test "$(json blocked_headers)" != 0.0

# --- figures 11 to 14
# all of it in 20 s of one processor, however busy that is
(ulimit -t $((20 * slow)) && exec timeout 400 "$NF" sim mesh --csv f.csv) > out 2> err
same "all figures: exit status" "$?" 0
same "all figures: tables" "$(grep -c '^Figure 1[1-4]: ' out)" 4
same "all figures: rows" "$(wc -l < f.csv)" $((1 + 3 * (8 + 8 + 10 + 10)))
while read -r row; do
    check "as it should be: $row" grep -q "^$row" f.csv
done << 'EOF'
11,32,0,opt-mesh,16,205.7
11,32,1024,opt-tree,16,458.29
11,32,65536,u-mesh,16,23213.4
12,128,16384,opt-mesh,16,5503.7
12,128,65536,opt-tree,16,27100.9
13,8,4096,u-mesh,16,1025.7
13,256,4096,opt-tree,16,2549.9
14,192,65536,opt-mesh,16,22592.5
14,256,65536,opt-tree,16,37043.2
EOF
check "trees along chains never wait" awk -F, \
    '/mesh,/ && ($11 != 0 || $12 != 0) {exit 1}' f.csv
check "OPT-mesh is best, U-mesh worst" awk -F, '
    $4 == "opt-mesh" {best = $6}
    $4 == "opt-tree" {middle = $6}
    $4 == "u-mesh" && !(best < middle && middle < $6) {exit 1}' f.csv
run sim mesh --figure 13 --json
same "one figure" "$(json points.0.figure) $(json points.29.nodes)" "13 256"
check "one figure: no others" eval '! has_field points.30'
if command -v gnuplot > /dev/null; then
    run sim mesh --runs 1 --plot f.svg
    same "plots: exit status" "$rc" 0
    for f in 11 12 13 14; do
        check "plot $f" grep -q '</svg>' f-$f.svg
    done
    run sim mesh --runs 1 --nodes 8,16 --size 1KiB --plot own.png
    check "a plot of one's own" test -s own.png
    refuse "a plot against two things" "not both" \
        sim mesh --nodes 8,16 --size 1KiB,2KiB --plot own.png
fi

# --- what is turned down
refuse "sizes without nodes" "go together" sim mesh --size 1KiB
refuse "too many nodes" "--nodes 257: want a count from 1 to 256" \
    sim mesh --nodes 257 --size 1KiB
for bad in 4096 1TiB x -1B "" "1KiB,"; do
    refuse "size '$bad'" "--size" sim mesh --nodes 8 --size "$bad"
done
refuse "a small mesh for the figures" "take 256 nodes" sim mesh --shape 4x4
refuse "a mesh of too many nodes" "at most 65536 nodes" \
    sim mesh --shape 1000x1000
refuse "figure 15" "--figure 15" sim mesh --figure 15
refuse "a figure and nodes" "--figure 11: says" \
    sim mesh --figure 11 --nodes 8 --size 1KiB
refuse "figure 15 and nodes" "--figure 15" \
    sim mesh --figure 15 --nodes 8 --size 1KiB
refuse "an unknown tree" 'no tree "oak"' \
    sim mesh --nodes 8 --size 1KiB --algorithm oak
refuse "a hop of no time" "--hop 0" sim mesh --hop 0
refuse "no runs" "--runs 0" sim mesh --runs 0
refuse "run and runs" "exclude each other" sim mesh --run 1 --runs 2
refuse "a way to route" "--routing x: want first or last" sim mesh --routing x
refuse "a table nowhere" "--csv no/f.csv" sim mesh --csv no/f.csv
refuse "costs beyond all bounds" "hold, end and interval" \
    sim mesh --nodes 8 --size 1GB --send-byte 1000000000
refuse "an argument" 'unexpected argument "x"' sim mesh x

# --- hosts that differ: a, b and c, of which c has a thin link and slow hands
curve() { echo "{\"us\": $1, \"us_per_byte\": $2}"; }
model() { # COSTS-OF-A-SEND
    local from to byte first=1
    echo "{\"nowfarm_network\": 1, \"date\": \"$(date -u +%FT%TZ)\","
    echo '"medium": "switch", "route": "direct", "encoding": "raw",'
    echo '"collective": {"pieces": [[0, 176, 0.1]], "delta": 1, "o_s_us": 5,'
    echo '"t_op": []}, "hosts": ['
    echo "{\"name\": \"a\", \"send\": $1,"
    echo "\"recv\": $(curve 10 0.001), \"hold\": $(curve 20 0.08)},"
    echo "{\"name\": \"b\", \"send\": $(curve 20 0.001),"
    echo "\"recv\": $(curve 10 0.001), \"hold\": $(curve 20 0.08)},"
    echo "{\"name\": \"c\", \"send\": $(curve 200 0.01),"
    echo "\"recv\": $(curve 100 0.01), \"hold\": $(curve 200 0.4)}],"
    echo '"wires": ['
    for from in a b c; do
        for to in a b c; do
            [ $from != $to ] || continue
            [ $first -eq 1 ] || echo ,
            first=0
            byte=0.08
            [ $from$to = ab ] || [ $from$to = ba ] || byte=0.4
            echo "{\"from\": \"$from\", \"to\": \"$to\","
            echo "\"wire\": $(curve 50 $byte)}"
        done
    done
    echo ']}'
}
model "$(curve 20 0.001)" > net.json
run tree ecef --network net.json --size 1000B --json
same "ecef in a network: exit status" "$rc" 0
check "ecef in a network: stdout is one JSON object" only_json
# b: 21 + 130 + 11; the wire to b is held until 101, then 450 to c and 110 there
same "ecef in a network: times" \
    "$(json time_us) $(json hosts.0.ready_us) $(json hosts.1.ready_us)" \
    "661.0 0.0 162.0"
run trees --json
json "network_trees.*.name" > differ
at_least "trees for hosts that differ" "$(wc -l < differ)" 7
run tree crl --network net.json --size 1MiB --root b --json
crl=$(json time_us)
same "crl: root" "$(json root)" b
at_least "crl: segments" "$(json segments)" 2
same "crl: the root has all segments at once" "$(json hosts.1.ready_us)" 0.0
while read -r tree; do
    run tree "$tree" --network net.json --size 1MiB --root b --json
    same "$tree in a network: exit status" "$rc" 0
    check "$tree: crl is no slower" \
        awk "BEGIN { exit !($crl <= $(json time_us) * 1.000001) }"
done < <(cat differ names)
run tree crl --network net.json --size 1MiB --draw plan.svg
same "a plan is drawn: exit status" "$rc" 0
check "a plan is drawn" grep -q "</svg>" plan.svg
run tree crl --network net.json --size 1MiB --json
same "a plan: to the end that is printed" \
    "$(sed -n 's/.*>all ready at \([0-9]*\)<.*/\1/p' plan.svg)" \
    "$(printf %.0f "$(json time_us)")"
for v in 1 2; do
    host=$(json hosts.$v.name)
    check "a plan: when $host has all of it" grep -q \
        "<title>[a-c] to $host, last segment: .* ready at $(printf %.12g \
            "$(json hosts.$v.ready_us)")<" plan.svg
done
check "a plan: many segments together" \
    grep -q "<title>c, segments [0-9]* to $(json segments): .* receives" plan.svg
check "a plan: what is busy for longest" grep -q ">Busiest: the link to c, " plan.svg
at_least "a plan: its segments" "$(json segments)" 100
at_most "a plan: its picture" "$(wc -c < plan.svg)" 100000 bytes
if command -v xmllint > /dev/null; then
    check "a plan: XML" xmllint --noout plan.svg
fi
run tree crl --network net.json --size 16KiB --draw few.svg --json
same "few segments: exit status" "$rc" 0
check "few segments: each of them" eval '
    for q in $(seq "$(json segments)"); do
        grep -q "<title>[ab] to c, segment $q: receives from" few.svg || exit 1
    done'
{ # four that are alike, on a hub where 1000 bytes take 100 us
    sed 's/"switch"/"shared"/; /^"t_op"/q' net.json
    costs="\"send\": $(curve 0 0), \"recv\": $(curve 0 0), \"hold\": $(curve 0 0.1)"
    echo "{\"name\": \"a\", $costs}, {\"name\": \"b\", $costs},"
    echo "{\"name\": \"c\", $costs}, {\"name\": \"d\", $costs}], \"wires\": ["
    comma=
    for way in ab ac ad ba bc bd ca cb cd da db dc; do
        echo "$comma{\"from\": \"${way%?}\", \"to\": \"${way#?}\","
        echo "\"wire\": $(curve 0 0.1)}"
        comma=,
    done
    echo ']}'
} > hub.json
run tree binomial-bits --network hub.json --size 1000B --draw hub.svg
same "a tree on a hub is drawn: exit status" "$rc" 0
for send in "a to c: from 0 until 100, ready at 100" \
    "a to b: from 0 until 200, ready at 200" \
    "c to d: from 100 until 300, ready at 300"; do
    check "on a hub senders wait for the medium: $send" \
        grep -q "<title>$send</title>" hub.svg
done
run tree crl --network hub.json --size 64KiB --draw hubs.svg --json
at_least "a plan on a hub: segments" "$(json segments)" 2
check "a plan on a hub: the medium" grep -q '>medium</text>' hubs.svg
check "a plan on a hub: it is the busiest" grep -q '>Busiest: the medium, ' hubs.svg
check "a plan on a hub: each message on it" eval \
    '[ "$(grep -c ", segment [0-9]*: medium busy from " hubs.svg)" = \
    $((3 * $(json segments))) ]'
{ # two hosts only
    sed -n '1,/^"t_op"/p' net.json
    costs=$(curve 9 0.1)
    costs="\"send\": $costs, \"recv\": $costs, \"hold\": $costs"
    echo "{\"name\": \"a\", $costs}, {\"name\": \"b\", $costs}], \"wires\": ["
    echo "{\"from\": \"a\", \"to\": \"b\", \"wire\": $(curve 9 0.1)},"
    echo "{\"from\": \"b\", \"to\": \"a\", \"wire\": $(curve 9 0.1)}]}"
} > two.json
run tree crl --network two.json --size 64B
check "to one other host" grep -Eq "^crl: 64 bytes from a to 1 host[: ]" out
# whatever the byte at which a long name is cut
for head in "" x; do
    long=${head}$(printf '\303\266%.0s' {1..20})
    sed "s/\"b\"/\"$long\"/" net.json > long.json
    run tree crl --network long.json --size 64B --draw long.svg
    same "a long name '$head': exit status" "$rc" 0
    check "a long name '$head': UTF-8" iconv -f UTF-8 -t UTF-16 -o /dev/null \
        long.svg
    cut=$head$(printf '\303\266%.0s' {1..11})
    check "a long name '$head': it is there" grep -qF ">$cut<" long.svg
done

# --- parameters of made-up hosts: the star of figure 1 of Sawahata & Shibusawa
star() { # ROOT X_c R_m
    echo "{\"root\": $1, \"S_c\": [20, 20, 20, 20], \"S_m\": [0, 0, 0, 0],"
    echo "\"R_c\": [0, 0, 0, 0],"
    echo "\"R_m\": $3,"
    echo "\"X_c\": $2,"
    echo "\"X_m\": 0}"
}
wires='[[0, 80, 100, 100], [999, 0, 999, 999], [999, 999, 0, 999], [999, 999, 999, 0]]'
star 0 "$wires" '[0, 0, 0, 0]' > star.json
for row in "--blocking 340 [[1,2,3],[],[],[]]" "-- 160 [[1,2,3],[],[],[]]" \
    "--reorder 140 [[2,3,1],[],[],[]]"; do
    read -r way time want <<< "$row"
    [ "$way" != -- ] || way=
    # shellcheck disable=SC2086
    run tree ecef --network star.json --size 1kB $way --json
    same "parameters $way: exit status" "$rc" 0
    check "parameters $way: stdout is one JSON object" only_json
    same "parameters $way: times" "$(json time) $(json time_us)" \
        "$time.0 $time.0"
    same "parameters $way: children" "$(children)" "$want"
    same "parameters $way: the root" "$(json root) $(json nodes)" "0 4"
done
same "parameters: when each is ready" "$(numbers ready)" 0.0,140.0,120.0,140.0
for tree in crl exact; do
    run tree $tree --network star.json --size 1kB --json
    same "parameters: $tree" "$(json time)" 140.0
done
run tree exact --network star.json --size 1kB --blocking --json
same "parameters: the best of those that block" "$(json time)" 340.0
run tree ecef --network star.json --size 1kB --root 2 --json
same "parameters: another root" "$(json root) $(json ready.2)" "2 0.0"
# With ports of their senders the child with the longest way may not be the one to send
# to first.
star 0 '[[0, 7900, 0, 90], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]' '[0, 0, 0, 0]' |
    sed 's/^"X_m": 0}/"X_m": [[0, 0.05, 8, 0.05], [9, 0, 9, 9], [9, 9, 0, 9], [9, 9, 9, 0]],\
        "ports": true}/' > ports.json
for tree in $(cat differ names); do
    run tree "$tree" --network ports.json --size 1kB --json
    as_it_was=$(json time) children=$(children)
    same "ports: $tree: nothing to be told" "$(err_lines)" 0
    run tree "$tree" --network ports.json --size 1kB --reorder --json
    check "ports: $tree: another order is not slower" \
        awk "BEGIN {exit !($(json time) <= $as_it_was + 1e-6)}"
    [ "$(json reordered)" = true ] || echo "$tree" >> as-it-was
    [ "$(json reordered)" = true ] ||
        same "ports: $tree: is as it was" "$(children)" "$children"
done
check "ports: another order would be slower" grep -q '^sequential$' as-it-was
run tree exact --network ports.json --size 1kB --blocking --json
same "ports: of those that block" "$rc $(err_lines)" "0 0"
while read -r tree; do
    [ "$tree" != crl ] || continue
    run tree "$tree" --network star.json --size 64KiB --blocking --draw b.svg
    same "$tree that blocks: exit status" "$rc" 0
done < <(cat differ names)
run tree chain --network star.json --size 1B --json
same "a chain by number" "$(children)" "[[1],[2],[3],[]]"
run tree ecef --network star.json --size 1kB --blocking --draw block.svg
check "sends that block are drawn one after the other" \
    grep -q "<title>0 to 2: from 100 until 220, ready at 220</title>" block.svg
awk 'BEGIN {
    for (i = 0; i < 1024; i++) {
        c = c (i ? "," : "") 5 + i % 7
        m = m (i ? "," : "") 0.01
    }
    printf "{\"S_c\": [%s], \"S_m\": [%s], \"R_c\": [%s], \"R_m\": [%s], ", c, m, c, m
    print "\"X_c\": 1, \"X_m\": 0.1, \"ports\": true}"
}' > most.json
run tree crl --network most.json --size 1MiB --draw most.svg
same "a plan for 1024 hosts: exit status" "$rc" 0
at_most "a plan for 1024 hosts: its picture" "$(wc -c < most.svg)" 4000000 bytes
same "a plan for 1024 hosts: rows" \
    "$(grep -c '<title>[0-9]*: first segment at ' most.svg)" 1024
awk 'BEGIN {
    for (i = 0; i < 1025; i++) { c = c (i ? "," : "") 5; m = m (i ? "," : "") 0 }
    printf "{\"S_c\": [%s], \"S_m\": [%s], \"R_c\": [%s], \"R_m\": [%s], ", c, m, c, m
    print "\"X_c\": 1, \"X_m\": 0}"
}' > many.json
run tree chain --network many.json --size 1B
same "1025 hosts: exit status" "$rc" 0
refuse "a picture of 1025 hosts" "--draw d.svg: want at most 1024 hosts" \
    tree chain --network many.json --size 1B --draw d.svg
echo '{"S_c": [7], "S_m": [0], "R_c": [0], "R_m": [0], "X_c": 1, "X_m": 0}' > 1.json
run tree crl --network 1.json --size 1B --json
same "a single host" "$(json time) $(children)" "0.0 [[]]"
# TEXT PATTERN ROOT X_c R_m
refuse_params() {
    star "$3" "$4" "$5" > bad.json
    refuse "$1" "$2" tree ecef --network bad.json --size 1kB
}
refuse_params "parameters: a root that is no member" \
    "bad.json:1: root: 4: want an integer from 0 to 3" 4 0 '[0, 0, 0, 0]'
refuse_params "parameters: a negative time" "bad.json:4: X_c: -1: want" \
    0 -1 '[0, 0, 0, 0]'
refuse_params "parameters: a negative time per byte" \
    "bad.json:3: R_m\[1\]: -0.5: want" 0 1 '[0, -0.5, 0, 0]'
refuse_params "parameters: NaN" "bad.json:3: " 0 1 '[0, NaN, 0, 0]'
refuse_params "parameters: beyond all numbers" "bad.json:4: " 0 1e999 '[0, 0, 0, 0]'
refuse_params "parameters: a host is missing" \
    "bad.json:3: R_m: want a list of 4, one for each host" 0 1 '[0, 0, 0]'
refuse_params "parameters: a pair is missing" \
    "bad.json:4: X_c\[2\]: want a list of 4, one for each receiver" 0 \
    "[[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0], [1, 1, 1, 0]]" '[0, 0, 0, 0]'
refuse_params "parameters: a pair is null" "bad.json:4: X_c\[1\]\[2\]: null: want" \
    0 "[[0, 1, 1, 1], [1, 0, null, 1], [1, 1, 0, 1], [1, 1, 1, 0]]" '[0, 0, 0, 0]'
for itself in -1 0.5 '"a"'; do
    refuse_params "parameters: $itself from a host to itself" \
        "bad.json:4: X_c\[1\]\[1\]: want 0 here, nobody sends to itself" 0 \
        "[[0, 1, 1, 1], [1, $itself, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]" '[0, 0, 0, 0]'
done
sed 's/"X_m": 0/"n": 4/' star.json > bad.json
refuse "parameters: one is missing" 'bad.json:1: there is no "X_m"' \
    tree ecef --network bad.json --size 1kB
refuse "crl that blocks" "crl: plans for sends that do not block" \
    tree crl --network star.json --size 1kB --blocking
refuse "blocking and reordered" "is for sends that do not block" \
    tree ecef --network star.json --size 1kB --blocking --reorder
refuse "blocking without a network" "--blocking: goes with --network" \
    tree opt --nodes 3 --hold 1 --end 2 --blocking
refuse "another order without a network" "--reorder: goes with --network" \
    tree opt --nodes 3 --hold 1 --end 2 --reorder
refuse "parameters: a root beyond the last" "--root 4: want one of the 4 hosts" \
    tree ecef --network star.json --size 1kB --root 4
refuse "parameters: a root by name" "--root a: want one of the 4 hosts" \
    tree ecef --network star.json --size 1kB --root a

refuse "a network and no tree" "which one" tree --network net.json --size 64B
refuse "no size" "--size is missing" tree crl --network net.json
refuse "a size of no unit" "--size 12" tree crl --network net.json --size 12
refuse "a root that is no member" "--root d: want one of the 3 hosts" \
    tree crl --network net.json --size 1KiB --root d
refuse "a root beyond the last" "--root 3: want" \
    tree crl --network net.json --size 1KiB --root 3
refuse "a network and nodes" "hosts and times are those of net.json" \
    tree crl --network net.json --size 1KiB --nodes 3
refuse "a tree for hosts that differ without them" "want --network" \
    tree crl --nodes 3 --hold 1 --end 2
refuse "a size without a network" "goes with --network" \
    tree opt --nodes 3 --hold 1 --end 2 --size 1KiB
sed 's/"date": "20/"date": "22/' net.json > coming.json
refuse "a model that is still to be made" \
    "coming.json: date: 22[-:0-9T]*Z is still to come" \
    tree crl --network coming.json --size 1KiB
refuse "an unknown tree in a network" 'no tree "oak"' \
    tree oak --network net.json --size 1KiB
refuse "no such model" "none.json: No such file" \
    tree crl --network none.json --size 1KiB
model "$(curve -1 0.001)" > bad.json
refuse "a negative time" "bad.json:5: hosts\[0\].send.us: -1" \
    tree crl --network bad.json --size 1KiB
model "$(curve NaN 0.001)" > bad.json
refuse "a time that is no number" "bad.json:5: " \
    tree crl --network bad.json --size 1KiB
sed '/"from": "c", "to": "b"/,$d' net.json > bad.json
sed -i '$d' bad.json
echo ']}' >> bad.json
refuse "a missing pair" "wires: there is none from c to b" \
    tree crl --network bad.json --size 1KiB
for command in trees tree "sim mesh"; do
    # shellcheck disable=SC2086
    run $command --help
    same "$command --help: exit status" "$rc" 0
done
finish
