#!/bin/bash
# `nowfarm sim torus`: Table 1, exchanges on tori, what it draws and turns down.
# Neither PVM nor time is needed.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

refuse() { # TEXT PATTERN ARGS...
    local text=$1 pattern=$2
    shift 2
    run sim torus "$@"
    refused 2 "$text"
    check "$text: the line says so" err_says "$pattern"
}

# --- Table 1
run sim torus
same "the table: exit status" "$rc" 0
while read -r row; do
    check "the table: $row" eval "tr -s ' ' < out | grep -qxF '$row'"
done << 'EOF'
7 12 13 13 10 8 (-2) 12 12 8 6 whole as printed
11 20 19 19 14 12 (-2) 20 18 12 8 whole as printed
15 28 23 23 18 16 (-2) 20 22 16 8 whole as printed
33 64 45 43 (-2) 36 34 (-2) 68 44 34 12 rings as printed
63 124 75 75 66 64 (-2) 68 74 64 12 rings as printed
129 256 145 143 (-2) 132 130 (-2) 260 144 130 16 rings as printed
255 508 271 271 258 256 (-2) 260 270 256 16 rings as printed
EOF
run sim torus --json --csv t.csv
check "the table: stdout is one JSON object" only_json
same "the table: N = 129" "$(json rows.5.n) $(json rows.5.rings.split_merge0) \
$(json rows.5.by_text.split_merge0) $(json rows.5.off_by_text.split_merge0) \
$(json rows.5.printed.split_merge0)" "129 145 143 -2 145"
same "the table: N = 15, whole" "$(json rows.2.whole.mdh)" 18
check "the table: N = 33, not whole" eval '! has_field rows.3.whole'
check "the table: CSV" grep -qx \
    '7,12,13,12,10,8,6,12,13,12,10,8,6,12,13,8,12,13,10,12' t.csv
same "the table: CSV, rows" "$(wc -l < t.csv)" 8
run sim torus --side 6,9 --json
same "another side: even" "$(json rows.0.rings.mdh) $(json rows.0.tseng)" "6 12"
check "another side: no merge" eval '! has_field rows.0.rings.split_merge0'
check "another side: no formula" eval '! has_field rows.0.by_text'
same "another side: odd" "$(json rows.1.rings.split_merge0)" 17

# --- exchanges
run sim torus --shape 7x7 --size 64B --algorithm mdh --json
cp out odd.json
run sim torus --shape 7x7 --algorithm dh --json
same "dh, blocks of 64 bytes if nothing is said: exit status" "$rc" 0
check "dh of odd sides is mdh" cmp out odd.json
run sim torus --shape 6x6 --size 64B --algorithm dh --json
same "Double-Hop: exit status" "$rc" 0
check "Double-Hop: stdout is one JSON object" only_json
# 6 start-ups, 108 blocks, ways of 4 channels in 4 steps and of 3 in 2
same "Double-Hop: time" "$(json time_ticks)" \
    $((6 * 5500 + 108 * 64 * 7 + 4 * 3 * 2 + 2 * 2 * 2))
same "Double-Hop: nobody waits" "$(json blocked_headers) $(json shared_links) \
$(json free) $(json free_promised)" "0 0 true true"
same "Double-Hop: alone" "$(json ideal_ticks)" "$(json time_ticks)"
same "Double-Hop: shape" "$(json shape.0) $(json shape.1) $(json nodes)" "6 6 36"
same "costs are told" "$(json costs_ticks.recv_fixed) $(json lanes)" "3500 2"
for shape in 2 9 4x4 5x5 8x8 3x4 3x3x3 15x15; do
    run sim torus --shape $shape --size 64B --csv e.csv
    same "all on $shape: exit status" "$rc" 0
    check "all on $shape: who promises keeps it" \
        awk -F, '$9 == 1 && $10 != 1 {exit 1}' e.csv
    check "all on $shape: who has a channel alone is free" awk -F, '
        NR > 1 && $4 != "alltoall.burst" && ($8 <= 1) != ($10 == 1) {exit 1}' \
        e.csv
    check "all on $shape: some promise" grep -q ',1,1,' e.csv
done
check "contention is told" grep -q 'none, as promised$' out
check "and where there is some" grep -Eq '^cdh .*yes$' out
run sim torus --shape 6x6,7x7,3x4 --size 8B --algorithm dh,naive --csv e.csv
same "dh is mdh where a side is odd" "$(cut -d, -f1,4 e.csv | tr '\n' ' ')" \
    "shape,algorithm 6x6,alltoall.dh 6x6,alltoall.naive 7x7,alltoall.mdh \
7x7,alltoall.naive 3x4,alltoall.mdh 3x4,alltoall.naive "
run sim torus --shape 7x7 --size 8B --algorithm dh,mdh --csv e.csv
same "and once only" "$(cut -d, -f1,4 e.csv | tr '\n' ' ')" \
    "shape,algorithm 7x7,alltoall.mdh "
run sim torus --shape 6x6,7x7 --size 8B --csv e.csv
same "dh and mdh of all" "$(cut -d, -f1,4 e.csv | grep -E 'dh$' |
    grep -v cdh | tr '\n' ' ')" \
    "6x6,alltoall.dh 6x6,alltoall.mdh 7x7,alltoall.mdh "
run sim torus --shape 6x6,7x7 --size 8B --algorithm dh,mdh,bruck:radix=4 --csv e.csv
same "who does not fit is left out" "$(cut -d, -f1,4 e.csv | tr '\n' ' ')" \
    "shape,algorithm 6x6,alltoall.dh 6x6,alltoall.mdh \
6x6,alltoall.bruck:radix=4 7x7,alltoall.mdh 7x7,alltoall.bruck:radix=4 "
run sim torus --shape 7x7 --size 64B --algorithm mdh --pace free --json
same "free pace: nothing is promised" "$(json free_promised) $(json pace)" \
    "false free"
run sim torus --shape 3 --size 10B --algorithm naive --json --send-fixed 7 \
    --send-byte 0 --hop 1 --recv-fixed 3 --recv-byte 0
same "other costs" "$(json time_ticks)" $((2 * (7 + 3 + 2) + 30))

# --- more messages than can be written down
run sim torus --shape 4,410 --size 0B --algorithm naive,dh --csv e.csv
same "on a ring of 410: exit status" "$rc" 0
check "on a ring of 410: naive has no numbers" grep -Eq '^naive( +-){8}$' out
check "on a ring of 410: why" grep -qx \
    'naive: 410 ranks send more blocks than can be written down, 33554432' out
check "on a ring of 410: others have" grep -Eq '^dh .* as promised$' out
check "on a ring of 410: CSV" grep -qx '410,410,0,alltoall.naive,,,,,,,,,,,' e.csv
same "on a ring of 410: CSV, fields" "$(tr -d -c ',\n' < e.csv | sort -u)" ,,,,,,,,,,,,,,
run sim torus --shape 4,410 --size 0B --algorithm naive,dh --json
same "where there is none: exit status" "$rc" 0
check "where there is none: stdout is one JSON object" only_json
same "where there is none: who" "$(json points.0.algorithm) $(json points.2.algorithm) \
$(json points.2.shape.0) $(json points.2.left_out)" "alltoall.naive alltoall.naive \
410 410 ranks send more blocks than can be written down, 33554432"
check "where there is none: no numbers" eval '! has_field points.2.steps'
check "where there is some: numbers" has_field points.0.time_us
check "where there is some: no reason" eval '! has_field points.3.left_out'

# --- a cycle of messages that wait for each other
run sim torus --shape 7x7 --size 3000B --lanes 1 --algorithm mdh,pairwise_shift
same "one lane: exit status" "$rc" 0
check "one lane: who promises needs no other" grep -Eq '^mdh .* as promised$' out
check "one lane: flat pairwise is stuck" grep -Eq '^pairwise_shift .* stuck$' out
check "one lane: the cycle" grep -q \
    '^pairwise_shift: [0-9]* messages wait for each other in a cycle: ' out
run sim torus --shape 7x7 --size 3000B --lanes 1 --algorithm pairwise_shift --json
check "one lane: JSON" has_field stuck
check "one lane: JSON has no time" eval '! has_field time_us'
run sim torus --shape 7x7 --size 3000B --algorithm pairwise_shift --json
check "two lanes: it is not" eval '! has_field stuck'

# --- figures
plot=''
command -v gnuplot > /dev/null && plot=yes
run -t 240 sim torus --figure n --csv n.csv ${plot:+--plot n.svg}
same "figure n: exit status" "$rc" 0
same "figure n: tori" "$(cut -d, -f1 n.csv | sort -u | wc -l)" $((1 + 14))
run sim torus --figure size --json ${plot:+--plot size.svg}
same "figure size: the last point" "$(json points.103.shape.1) \
$(json points.103.block_bytes)" "8 16384"
if [ -n "$plot" ]; then
    check "figure n: drawn" grep -q '</svg>' n.svg
    check "figure size: drawn" grep -q '</svg>' size.svg
    for what in "" "--side 3,5" "--shape 4x4,4x8 --size 8B" \
        "--shape 4x4 --size 0B,8B"; do
        rm -f p.svg
        # shellcheck disable=SC2086
        run sim torus $what --plot p.svg
        same "a plot of ${what:-the table}: exit status" "$rc" 0
        check "a plot of ${what:-the table}" grep -q '</svg>' p.svg
    done
    refuse "a plot against two things" "not both" \
        --shape 4x4,5x5 --size 4B,8B --plot p.svg
    refuse "one file for both" "one file" --csv p.svg --plot p.svg
fi

# --- what plan says of channels, as text and as JSON
for algorithm in mdh cdh pairwise_shift; do
    run plan alltoall $algorithm --shape 5x5 --check
    grep '^# step ' out | sed 's/[^0-9]\{1,\}/ /g' > text
    grep -o 'at most [0-9]* ([a-z ]*)' out > most
    run plan alltoall $algorithm --shape 5x5 --check --json
    for field in messages largest_blocks channel_messages channel_blocks; do
        json "load.steps.*.$field" > column.$field
    done
    paste -d ' ' column.{messages,largest_blocks,channel_messages,channel_blocks} |
        awk '{print " " NR " " $0}' > steps
    check "plan $algorithm: each step's channels as in the text" cmp text steps
    promised="not promised"
    [ "$(json load.channel_promised)" = false ] || promised="as it must be"
    same "plan $algorithm: the fullest channel" \
        "at most $(json load.channel_messages) ($promised)" "$(cat most)"
done

# by hand: all to the next one, two blocks; then 0 and 2 change places, and in the
# end 1 has one block for 0
run plan alltoall naive --shape 1x3 --check --json
same "plan: channels, the first step" "$(for r in 0 1 2 3; do
    has_field load.steps.0.channels.$r || break
    echo "$(json load.steps.0.channels.$r.rank) \
$(json load.steps.0.channels.$r.side)$(json load.steps.0.channels.$r.direction) \
$(json load.steps.0.channels.$r.messages) $(json load.steps.0.channels.$r.blocks)"
done | tr '\n' ';')" "0 1+ 1 2;1 1+ 1 2;2 1+ 1 2;"
run plan alltoall mdh --shape 1x3 --check --json
same "plan: channels, the last step" "$(json load.steps.2.channels.0.rank) \
$(json load.steps.2.channels.0.side)$(json load.steps.2.channels.0.direction) \
$(json load.steps.2.channels.0.messages) $(json load.steps.2.channels.0.blocks)" \
    "1 1- 1 1"
check "plan: no other channel" eval '! has_field load.steps.2.channels.1'

# --- what is turned down
refuse "an argument" 'unexpected argument "x"' x
refuse "an unknown option" "unknown option" --wrong
for bad in 0 1 301 x -3 3.5 "" "3,"; do
    refuse "side '$bad'" "want a count from 2 to 300" --side "$bad"
done
refuse "a size without torus" "goes with --shape" --size 4B
for bad in "" x 4x 0x4 "4x4," -4; do
    refuse "torus '$bad'" "--shape" --shape "$bad" --size 4B
done
refuse "a torus of too many nodes" "at most 1024 nodes" --shape 33x32 --size 4B
refuse "a torus and a side" "is of the table" --shape 4x4 --size 4B --side 3
for bad in 4096 1TiB x -1B "" "1KiB,"; do
    refuse "size '$bad'" "--size" --shape 4x4 --size "$bad"
done
refuse "a message beyond all bounds" "has more than 1000000000" \
    --shape 4x4 --size 1GB
refuse "a figure that there is not" "--figure 11: want n or size" --figure 11
refuse "a figure and a size" "says what" --figure n --size 4B
for only in "--algorithm dh" "--pace free" "--lanes 1" "--hop 3"; do
    # shellcheck disable=SC2086
    refuse "$only of the table" "goes with --shape or --figure" $only
done
refuse "an unknown algorithm" "no such algorithm" \
    --shape 4x4 --size 4B --algorithm oak
refuse "another operation" "no such algorithm" \
    --shape 4x4 --size 4B --algorithm bcast.flat
refuse "an algorithm that fits nowhere" "shape of two odd sides" \
    --shape 3x4 --size 4B --algorithm split-merge
refuse "an algorithm of too many blocks" "--algorithm naive: 512 ranks send more" \
    --shape 512 --size 0B --algorithm dh,naive
refuse "a shape of the algorithm" "said by --shape" \
    --shape 4x4 --size 4B --algorithm dh:shape=4x4
refuse "a pace" "want steps or free" --shape 4x4 --size 4B --pace x
refuse "three lanes" "--lanes 3" --shape 4x4 --size 4B --lanes 3
refuse "a hop of no time" "--hop 0" --shape 4x4 --size 4B --hop 0
refuse "a table nowhere" "--csv no/t.csv" --csv no/t.csv
refuse "another kind of picture" "ends with .svg or .png" --plot t.gif
timeout 60 "$NF" sim torus --side 5 > /dev/full 2> err
same "on a full disk: exit status" "$?" 1
same "on a full disk: one line" "$(err_lines)" 1

finish
