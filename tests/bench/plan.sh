#!/bin/bash
# plan.sh - what planning a multicast costs: CRL for 100 hosts and one segment is to
# stay below 10 ms, for 32 hosts and 1 MiB below 50 ms, for 1000 hosts below 1 s, with
# links that are equal, links that differ, and costs by curves as they are measured (a
# model has 512 hosts at most, so not of 1000).  Without arguments it says which of that
# was missed, and then the exit status is 1; tree.sh judges what the table of OPT-tree
# and the figures of the simulated mesh cost.
#
#   plan.sh [HOSTS BYTES]... | -j FILE       -j: judge the rows in FILE, measure nothing
. "${0%/*}/bench-lib.sh"
if [ "${1:-}" = -j ]; then
    cp "$2" "$work/plans" || exit 2
    shift 2
else
    machine
    "$top_builddir/tests/bench/plan" "$@" | tee "$work/plans"
    [ "${PIPESTATUS[0]}" = 0 ] || exit 1
fi
[ $# = 0 ] || exit 0
# worst KINDS HOSTS [BYTES]: the slowest by so many kinds of costs, of all sizes, in
# ms; nothing if one is not there
worst() {
    awk -v kinds="$1" -v hosts="$2" -v bytes="${3:-}" '
        $1 == hosts && $3 != "all" && (bytes == "" || $2 == bytes) {
            rows++
            for (i = 4; i < 4 + 2 * kinds; i += 2) {
                if ($i !~ /^[0-9.]+$/) bad = 1
                if ($i + 0 > most) most = $i + 0
            }
        } END {if (rows > 0 && !bad) print most}' "$work/plans"
}
echo
goal "100 hosts, one segment" "$(worst 3 100 1024)" 10
goal "32 hosts, 1 MiB" "$(worst 3 32 1048576)" 50
goal "1000 hosts, up to 1 MiB" "$(worst 2 1000)" 1000
goals_met
