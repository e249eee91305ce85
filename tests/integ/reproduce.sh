#!/bin/bash
# What `make reproduce-multicast` runs, with few placements and networks: its tables
# are there, and of what the first paper prints all comes out.  What `make
# reproduce-collectives` and `make bench-coll` run, with few members on this host.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

RUNS=20 PLACEMENTS=1 NODES=3,10 timeout $((100 * slow)) bash \
    "$top_srcdir/tests/bench/reproduce-multicast.sh" r > out 2> err
same "exit status" "$?" 0
same "nothing is complained of" "$(cat err)" ""
same "what is printed and what is ours" \
    "$(awk -F, 'NR > 1 && $2 != "-" {n++; if ($2 != $3) print} END {print n}' r/facts.csv)" 18
same "points of the mesh" "$(wc -l < r/mesh.csv)" $((1 + 3 * (8 + 8 + 10 + 10)))
check "no header of trees along chains waits" \
    grep -qx 'points where headers of OPT-mesh or U-mesh wait,0' r/mesh-checks.csv
check "Figure 10: OPT-tree is the fastest, and more nodes take no less" awk -F, '
    NR == 1 {if ($3 != "opt") exit bad = 1; next}
    {n++; for (i = 4; i <= NF; i++) {if ($3 > $i) bad = 1; if ($3 < $i) faster++}}
    $1 == bytes {for (i = 3; i <= NF; i++) if ($i < last[i]) bad = 1}
    {bytes = $1; for (i = 3; i <= NF; i++) last[i] = $i}
    END {exit bad || NF != 6 || n != 2 * 29 || faster < n}' r/figure-10.csv
same "Figure 10: as the documentation has it" "$(cat r/figure-10.md)" \
    "$(grep -A 20 -F '| bytes | nodes | opt |' \
        "$top_srcdir/doc/reproduction-multicast.md" | grep '^|')"
for f in facts mesh-checks figure-10 figure-11 figure-12 figure-13 figure-14 figure-3 figure-4 \
    planner hnow-checks; do
    # a title, a line below it, and numbers, as many in each line
    check "$f is a table" awk -F'|' 'NR == 1 {n = NF}
        NF != n || n < 4 {exit 1} END {if (NR < 4) exit 1}' r/$f.md
    check "$f has all of its cells" eval "! grep -q '| *|\|nan\|inf' r/$f.md"
done
same "Figure 3 has both numbers of nodes" "$(grep -c '^| \(3\|10\) |' r/figure-3.md)" 2
if command -v gnuplot > /dev/null; then
    for f in 3 4 10 11 12 13 14; do
        check "figure $f is drawn" grep -q '</svg>' r/figure-$f.svg
    done
fi
RUNS=x timeout $((100 * slow)) bash "$top_srcdir/tests/bench/reproduce-multicast.sh" q > out 2> err
same "a run that fails: exit status" "$?" 1
check "a run that fails: is told" grep -q "sim hnow.* failed" err

# All-to-all on tori: the tables are those of the documentation.
timeout $((300 * slow)) bash "$top_srcdir/tests/bench/reproduce-alltoall.sh" a > out 2> err
same "all-to-all: exit status" "$?" 0
same "all-to-all: nothing is complained of" "$(cat err)" ""
check "all-to-all: all numbers that are printed come out" \
    grep -qx 'numbers of Table 1 that come out,28 of 28' a/checks.csv
for f in table-1 figure-n figure-size checks; do
    check "all-to-all: $f is a table" awk -F'|' 'NR == 1 {n = NF}
        NF != n || n < 4 {exit 1} END {if (NR < 4) exit 1}' a/$f.md
    check "all-to-all: $f has all of its cells" eval "! grep -q '| *|\|nan\|inf' a/$f.md"
    same "all-to-all: $f is as in the documentation" \
        "$(grep -cvxFf "$top_srcdir/doc/reproduction-alltoall.md" a/$f.md)" 0
done

OPS='bcast scan barrier' PLACE=local LIVE_HOSTS=3 REPEATS=1 LIVE_SIZES=8B,16KiB \
    LIVE_BYTES=16KiB timeout $((100 * slow)) bash \
    "$top_srcdir/tests/bench/reproduce-collectives.sh" c > out 2> err
same "collectives: exit status" "$?" 0
same "collectives: nothing is complained of" "$(cat err)" ""
check "collectives: nothing is left out" test ! -e c/live-left-out.txt
same "collectives: cross-over points, as the documentation has them" \
    "$(grep -x '| \(bcast\|scan\)\..*' c/crossovers.md)" \
    "$(grep '^| \(bcast\|scan\)\..*(\(half\|full\))' \
        "$top_srcdir/doc/reproduction-collectives.md")"
same "collectives: a line for each operation, size and number of members" \
    "$(sed -n '3,$s/^| \([a-z]*\) | \([0-9]*\) | \([0-9]*\) .*/\1 \2 \3/p' \
        c/live-best.md | xargs)" \
    "bcast 3 8 bcast 3 16384 bcast 2 16384 scan 3 8 scan 3 16384 scan 2 16384 barrier 2 0 barrier 3 0"
check "collectives: times are numbers, and none is 0" awk -F'|' 'NR > 2 && !($7 > 0 &&
    $11 > 0 && $12 > 0) {exit 1}' c/live-best.md
check "collectives: ratios of what was measured" \
    grep -q '^| scan over 3: linear / pipeline.fd | [0-9.]* |$' c/live-checks.md

timeout $((100 * slow)) bash "$top_srcdir/tests/bench/coll.sh" -w local:3 -o bcast,barrier \
    -s 8,4096 -r 1 -t 1 -x openmpi,mpich,chain -a 2 -e -d samples > out 2> err
same "coll.sh: exit status" "$?" "$(grep -q '^[^#].* missed$' out && echo 1 || echo 0)"
for op in bcast barrier; do
    check "coll.sh: $op beside others" awk -v op=$op '$1 == op && $0 ~ /\|/ {n++}
        END {exit n != (op == "bcast" ? 2 : 1)}' out
done
check "coll.sh: auto beside every algorithm" \
    grep -q '^auto: bcast  *4096  bcast\..* x the best ' out
check "coll.sh: samples of ours" grep -q 'ours.*bcast' samples
check "coll.sh: no run failed" eval "! grep -q 'failed' out"

# Members on this machine have neither MPI nor a wire beside them: goals are open, and
# so none is met.
WORLDS=local:3 SIZES=1024,65536 ROUNDS=1 GRID=local:4 GRID_SIZES=64 CALLS=2 \
    FLAGS="-u -t 1" timeout $((100 * slow)) bash "$top_srcdir/tests/bench/alltoall.sh" > out 2> err
same "alltoall.sh: exit status" "$?" 1
same "alltoall.sh: ours was measured" \
    "$(awk '$1 == "alltoall" && /\|/ && $(NF - 5) > 0 && $2 > 64' out | wc -l)" 2
same "alltoall.sh: a goal for each size" "$(grep -c '^goal: alltoall local:3 .* open$' out)" 2
check "alltoall.sh: auto beside every algorithm" \
    grep -q '^auto: alltoall  *64  alltoall\..* x the best ' out
check "alltoall.sh: no run failed" eval "! grep -q 'failed' out"

POINTS=4096 KEYS=10000 UNITS=4 REPEATS=1 timeout $((100 * slow)) bash \
    "$top_srcdir/tests/bench/phases.sh" > out 2> err
same "phases.sh: exit status" "$?" "$(grep -q ' missed$' out && echo 1 || echo 0)"
for side in local pvm; do
    check "phases.sh: sort beside the library, $side" \
        grep -q "^sort-$side .* 2 slaves, on slaves .* ms .* x library\$" out
done
check "phases.sh: times are numbers, and parts of the whole" awk '
    / on slaves  / { here = $6 } / 2 slaves, all / { if (!(here > 0 && $5 >= here)) bad = 1; n++ }
    END { exit bad || n < 2 }' out
check "no pvmd is left" wait_until 10 no_pvmd
finish
