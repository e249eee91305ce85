#!/bin/bash
# alltoall.sh - all-to-all between hosts of a lab, measured by coll.sh: ours beside
# Open MPI, MPICH and L, one plain TCP transfer of a block; then what is chosen beside
# every algorithm.  The first part says what became of the goals; at the end the exit
# status is 1 if one was missed.
#
#   WORLDS  of the first part (default "5:100mbit 8:100mbit"), ROUNDS of it (3) with
#           blocks of SIZES bytes (1024,65536,1048576)
#   GRID    worlds of the second part (default "4:100mbit 5:100mbit 8:100mbit
#           9:100mbit") with blocks of GRID_SIZES bytes (64,1024,16384,131072,1048576),
#           CALLS (20) of each algorithm, which take turns
#   PARTS   "mpi", "grid" or both (default)
#   FLAGS   more of coll.sh, such as -u: choose by the model alone
#
# The first part takes 10 minutes, the second 40 and at most an hour a world.
. "${0%/*}/bench-lib.sh"
need_pvm
coll=${0%/*}/coll.sh
sizes=${SIZES:-1024,65536,1048576} grid_sizes=${GRID_SIZES:-64,1024,16384,131072,1048576}
read -ra flags <<< "${FLAGS:-}"
here=$work # coll.sh has one of its own

# goal WORLD BYTES YARDSTICK AT_MOST OURS BASE: one line, with what became of it
goal() {
    local got verdict=open
    if [ -n "$5" ] && [ -n "$6" ]; then
        got=$(calc "printf(\"%.3g\", $5 / $6)")
        verdict=$(calc "print ($got <= $4 ? \"met\" : \"missed\")")
    fi
    printf 'goal: alltoall %-10s %8s  at most %-5s x %-8s  %8s  %s\n' "$1" "$2" "$4" \
        "$3" "${got:--}" "$verdict"
}
# of WORLD SIDE OP BYTES: the median, or nothing
of() {
    awk -F '\t' -v w="$1" -v s="$2" -v o="$3" -v b="$4" \
        '$1 == w && $2 == s && $3 == o && $4 == b { print $5 }' "$here/samples" \
        > "$here/some"
    [ ! -s "$here/some" ] || median "$here/some"
}
goals_of() { # WORLD
    local bytes ours mpi l hosts=${1%%:*}
    for bytes in ${sizes//,/ }; do
        ours=$(of "$1" ours alltoall "$bytes")
        mpi=$({ of "$1" openmpi alltoall "$bytes"; of "$1" mpich alltoall "$bytes"; } |
            sort -g | head -n 1)
        l=$(of "$1" tcp tcp "$bytes")
        if [ "$bytes" -ge 65536 ]; then
            goal "$1" "$bytes" MPI 1 "$ours" "$mpi"
        else
            goal "$1" "$bytes" MPI 1.5 "$ours" "$mpi"
        fi
        [ "$bytes" != 1048576 ] || goal "$1" "$bytes" "(P-1) L" 1.15 "$ours" \
            "${l:+$(calc "printf(\"%.9g\", ($hosts - 1) * $l)")}"
    done
}

case " ${PARTS:-mpi grid} " in *" mpi "*)
    worlds=${WORLDS:-5:100mbit 8:100mbit}
    bash "$coll" -w "$worlds" -o alltoall -s "$sizes" -x group,chain \
        -r "${ROUNDS:-3}" -d "$here/samples" "${flags[@]}" || exit
    for world in $worlds; do goals_of "$world"; done | tee "$here/goals"
    missed=$(grep -c ' missed$' "$here/goals")
    printf '# goals: %s met, %s missed, %s open\n\n' "$(grep -c ' met$' "$here/goals")" \
        "$missed" "$(grep -c ' open$' "$here/goals")"
    ;;
esac
case " ${PARTS:-mpi grid} " in *" grid "*)
    bash "$coll" -w "${GRID:-4:100mbit 5:100mbit 8:100mbit 9:100mbit}" -o alltoall \
        -s "$grid_sizes" -x openmpi,mpich,group,chain,ours -r 1 -l 3600 \
        -a "${CALLS:-20}" "${flags[@]}" || exit
    ;;
esac
goals_met
