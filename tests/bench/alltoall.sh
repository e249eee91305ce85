#!/bin/bash
# alltoall.sh - all-to-all between hosts of a lab, measured by coll.sh: ours beside
# Open MPI, MPICH and L, one plain TCP transfer of a block; then what is chosen beside
# every algorithm.  The exit status is 1 if a goal was missed, in either part, or was not
# measured: see alltoall-goals.sh, and -e of coll.sh.
#
#   WORLDS  of the first part (default "5:100mbit 8:100mbit"), ROUNDS of it (3) with
#           blocks of SIZES bytes (1024,65536,1048576)
#   GRID    worlds of the second part (default "4:100mbit 5:100mbit 8:100mbit
#           9:100mbit") with blocks of GRID_SIZES bytes
#           (64,256,1024,4096,16384,65536,262144,1048576), CALLS (20) of each algorithm, which take
#           turns; by a table that is tuned at TUNE_SIZES, which are those of --tune from 32
#           bytes to 512 KiB: so each size that is judged lies between two that were tuned, or behind
#           the last one
#   PARTS   "mpi", "grid" or both (default)
#   FLAGS   more of coll.sh, such as -u: choose by the model alone
#
# The first part takes 10 minutes, the second over an hour, and at most two a world.
. "${0%/*}/bench-lib.sh"
need_pvm
coll=${0%/*}/coll.sh
sizes=${SIZES:-1024,65536,1048576}
grid_sizes=${GRID_SIZES:-64,256,1024,4096,16384,65536,262144,1048576}
tune_sizes=${TUNE_SIZES:-32,128,512,2048,8192,32768,131072,524288}
read -ra flags <<< "${FLAGS:-}"
here=$work # coll.sh has one of its own

case " ${PARTS:-mpi grid} " in *" mpi "*)
    worlds=${WORLDS:-5:100mbit 8:100mbit}
    bash "$coll" -w "$worlds" -o alltoall -s "$sizes" -x group,chain \
        -r "${ROUNDS:-3}" -d "$here/samples" "${flags[@]}" | tee "$here/first"
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || exit "$status"
    ! grep -Eq '^# runs that failed:.* (ours|tune-)' "$here/first" || missed=1
    without_mpi=()
    has_mpi openmpi || has_mpi mpich || without_mpi=(-n)
    bash "${0%/*}/alltoall-goals.sh" "${without_mpi[@]}" "$worlds" "$sizes" "$here/samples" || missed=1
    echo
    ;;
esac
case " ${PARTS:-mpi grid} " in *" grid "*)
    bash "$coll" -w "${GRID:-4:100mbit 5:100mbit 8:100mbit 9:100mbit}" -o alltoall \
        -s "$grid_sizes" -T "$tune_sizes" -x openmpi,mpich,group,chain,ours -r 1 -l 3600 \
        -a "${CALLS:-20}" "${flags[@]}" -e
    status=$?
    [ $status = 0 ] || [ $status = 1 ] || exit $status
    [ $status = 0 ] || missed=1
    ;;
esac
goals_met
