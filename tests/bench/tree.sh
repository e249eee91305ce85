#!/bin/bash
# tree.sh - what multicast trees cost: OPT-tree's table for a million nodes is to
# take less than 25 ms, its first touch of memory included; and figures 11 to 14 on
# a simulated mesh, all 16 placements, less than 20 s on one core.
. "${0%/*}/bench-lib.sh"
machine
"$top_builddir/tests/bench/tree" "$@" || exit 1
echo
echo "figures 11 to 14, one core:"
core=()
command -v taskset > /dev/null && core=(taskset -c 0)
for _ in 1 2 3; do
    TIMEFORMAT='  %R s, %U s of them computing'
    time "${core[@]}" "$top_builddir/apps/nowfarm/nowfarm" sim mesh > /dev/null ||
        exit 1
done
