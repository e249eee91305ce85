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
samples=$3

# of WORLD SIDE OP BYTES: the median, or nothing
of() {
    awk -F '\t' -v w="$1" -v s="$2" -v o="$3" -v b="$4" \
        '$1 == w && $2 == s && $3 == o && $4 == b { print $5 }' "$samples" \
        > "$work/some"
    [ ! -s "$work/some" ] || median "$work/some"
}
# line WORLD BYTES YARDSTICK AT_MOST OURS BASE
line() {
    local got
    got=$(precise "$5" "$6")
    printf 'goal: alltoall %-10s %8s  at most %-5s x %-8s  %8s  %s\n' "$1" "$2" "$4" \
        "$3" "$got" "$(verdict "$got" "$4")"
}
goals_of() { # WORLD BYTES
    local ours mpi l hosts=${1%%:*}
    ours=$(of "$1" ours alltoall "$2")
    mpi=$({ of "$1" openmpi alltoall "$2"; of "$1" mpich alltoall "$2"; } |
        sort -g | head -n 1)
    l=$(of "$1" tcp tcp "$2")
    line "$1" "$2" MPI "$([ "$2" -ge 65536 ] && echo 1 || echo 1.5)" "$ours" "$mpi"
    [ "$2" != 1048576 ] || line "$1" "$2" "(P-1) L" 1.15 "$ours" \
        "${l:+$(calc "printf(\"%.9g\", ($hosts - 1) * $l)")}"
}

for world in $1; do
    for bytes in ${2//,/ }; do goals_of "$world" "$bytes"; done
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
