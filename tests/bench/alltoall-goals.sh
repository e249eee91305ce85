#!/bin/bash
# alltoall-goals.sh - what alltoall.sh has measured against its goals, one a line: our
# all-to-all takes at most
#
#   1 x     the better of Open MPI and MPICH with blocks of 64 KiB and more
#   1.5 x   the same with shorter ones
#   1.15 x  P - 1 plain TCP transfers of a block of 1 MiB
#
#   alltoall-goals.sh [-n] WORLDS SIZES SAMPLES
#
# WORLDS and SAMPLES are those of coll.sh, SIZES in bytes, between commas.  Medians are
# compared; a goal whose numbers are not there is open, and that is as bad as missed, but
# for those beside MPI if none is installed (-n).
#
# The exit status is 1 if a goal was missed, or could have been met and is open, or if none
# was met; 2 if the arguments are none of these.
. "${0%/*}/bench-lib.sh"
without_mpi=
[ "${1:-}" != -n ] || { without_mpi=yes; shift; }
if [ $# != 3 ] || ! [[ $2 =~ ^[0-9]+(,[0-9]+)*$ ]] || [ ! -r "$3" ]; then
    echo "alltoall-goals.sh: want [-n] WORLDS SIZES SAMPLES" >&2
    exit 2
fi
samples=$3 ops=alltoall sizes=$2
. "${0%/*}/coll-goals.sh"

sample_lines() { # of $world, as those of coll-goals.sh
    awk -F '\t' -v w="$world" '$1 == w { print $2, $3, $4, $5 }' "$samples" |
        sort -k4,4g
}
for world in $1; do
    hosts=${world%%:*}
    by_book '
        function line(yardstick, most, base,    got) {
            got = precise(median("ours", "alltoall", next_bytes), base)
            printf("goal: alltoall %-10s %8s  at most %-5s x %-8s  %8s  %s\n", world,
                next_bytes, most, yardstick, got, verdict(got, most))
        }
        END {
            while (points()) {
                line("MPI", next_bytes >= 65536 ? 1 : 1.5,
                    better_mpi("alltoall", next_bytes))
                if (next_bytes == 1048576)
                    line("(P-1) L", 1.15, limit("alltoall", next_bytes))
            }
        }' "world=$world"
done > "$work/goals"
cat "$work/goals"
met=$(grep -c ' met$' "$work/goals") missed=$(grep -c ' missed$' "$work/goals")
open=$(grep -c ' open$' "$work/goals") excused=0
[ -z "$without_mpi" ] || excused=$(grep -c ' x MPI .* open$' "$work/goals")
printf '# goals: %s met, %s missed, %s open\n' "$met" "$missed" "$open"
[ "$excused" = 0 ] ||
    echo "# $excused open, as neither Open MPI nor MPICH is installed: not judged"
[ "$open" = "$excused" ] || echo "# $((open - excused)) open, for want of numbers: not reached"
[ "$missed" = 0 ] && [ "$open" = "$excused" ] && [ "$met" -gt 0 ]
