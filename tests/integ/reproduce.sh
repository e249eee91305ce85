#!/bin/bash
# What `make reproduce-multicast` runs, with few placements and networks: its tables
# are there, and of what the first paper prints all comes out.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

RUNS=20 PLACEMENTS=1 NODES=3,10 timeout 100 bash \
    "$top_srcdir/tests/bench/reproduce-multicast.sh" r > out 2> err
same "exit status" "$?" 0
same "nothing is complained of" "$(cat err)" ""
same "what is printed and what is ours" \
    "$(awk -F, 'NR > 1 && $2 != "-" {n++; if ($2 != $3) print} END {print n}' r/facts.csv)" 18
same "points of the mesh" "$(wc -l < r/mesh.csv)" $((1 + 3 * (8 + 8 + 10 + 10)))
check "no header of trees along chains waits" \
    grep -qx 'points where headers of OPT-mesh or U-mesh wait,0' r/mesh-checks.csv
for f in facts mesh-checks figure-11 figure-12 figure-13 figure-14 figure-3 figure-4 \
    planner hnow-checks; do
    # a title, a line below it, and numbers, as many in each line
    check "$f is a table" awk -F'|' 'NR == 1 {n = NF}
        NF != n || n < 4 {exit 1} END {if (NR < 4) exit 1}' r/$f.md
    check "$f has all of its cells" eval "! grep -q '| *|\|nan\|inf' r/$f.md"
done
same "Figure 3 has both numbers of nodes" "$(grep -c '^| \(3\|10\) |' r/figure-3.md)" 2
if command -v gnuplot > /dev/null; then
    for f in 3 4 11 12 13 14; do
        check "figure $f is drawn" grep -q '</svg>' r/figure-$f.svg
    done
fi
RUNS=x timeout 100 bash "$top_srcdir/tests/bench/reproduce-multicast.sh" q > out 2> err
same "a run that fails: exit status" "$?" 1
check "a run that fails: is told" grep -q "sim hnow.* failed" err
finish
