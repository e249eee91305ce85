# shellcheck shell=bash disable=SC2154
# coll-goals.sh - what collective operations of ours may take, and what became of that;
# builds on bench-lib.sh.
#
# The world is $rate and $hosts, and $here has its samples, one a line, in
# SIDE.OP.BYTES; plain TCP is side and operation tcp, and barriers are of 0 bytes.

of() { # SIDE OP BYTES: median in us, or nothing
    local file=$here/$1.$2.$3
    [ ! -s "$file" ] || median "$file"
}
# limit_of OP BYTES: what the links allow, in us, or nothing
limit_of() {
    local l
    l=$(of tcp tcp "$2")
    [ -n "$l" ] || return
    case $1 in
    bcast | reduce | scan | exscan) echo "$l" ;;
    reduce_scatter | allgather) calc "print $l * ($hosts - 1) / $hosts" ;;
    allreduce) calc "print 2 * $l * ($hosts - 1) / $hosts" ;;
    gather | scatter | alltoall) calc "print $l * ($hosts - 1)" ;;
    esac
}
better_mpi() { # OP BYTES
    { of openmpi "$@"; of mpich "$@"; } | sort -g | head -n 1
}
better_group() { # OP BYTES: the side of PVM's library that is faster, or nothing
    local side
    for side in group pvmds; do
        [ -z "$(of $side "$@")" ] || echo "$(of $side "$@") $side"
    done | sort -g | awk 'NR == 1 { print $2 }'
}

# goals OP BYTES: lines "YARDSTICK AT_MOST", what our time may be of that; larger
# all-to-alls are judged by alltoall.sh
goals() {
    case $hosts:$rate/$1/$2 in
    5:100mbit/bcast/1048576) echo "limit 1.08"; echo "MPI 0.35" ;;
    8:100mbit/bcast/1048576) echo "limit 1.12"; echo "MPI 0.35" ;;
    5:100mbit/bcast/65536) echo "limit 1.3"; echo "MPI 0.6" ;;
    8:100mbit/bcast/65536) echo "limit 1.5"; echo "MPI 0.6" ;;
    5:1gbit/bcast/1048576) echo "limit 1.4" ;;
    5:none/bcast/1048576) echo "openmpi 2.5" ;;
    [58]:100mbit/allreduce/1048576) echo "limit 1.25"; echo "MPI 0.6" ;;
    [58]:100mbit/gather/1048576) echo "limit 1.05" ;;
    [58]:100mbit/scan/1048576) echo "MPI 0.5" ;;
    [58]:100mbit/*/8 | [58]:100mbit/barrier/0) echo "MPI 2.5" ;;
    esac
    case $hosts/$1/$2 in
    8/bcast/1048576 | 8/reduce/1048576) echo "libgpvm3 0.333" ;;
    */bcast/* | */reduce/* | */gather/* | */scatter/* | */barrier/*)
        echo "libgpvm3 1" ;;
    esac
}
# unmeasured GOALS: the lines of those that are open though who they are beside is there,
# by `has SIDE`
unmeasured() {
    local line words
    while read -r line; do
        read -ra words <<< "$line" # goal: OP BYTES at most MOST x YARDSTICK - open
        case ${words[7]} in
        limit) has tcp ;;
        MPI) has openmpi || has mpich ;;
        openmpi) has openmpi ;;
        libgpvm3) has group ;;
        esac && echo "$line"
    done < <(grep ' open$' "$1")
}
# Two who are both as fast as the links let them be are told apart by chance alone.
# is_tie OP BYTES: what ours takes is not above the middle half of what that library takes
is_tie() {
    local file
    file=$here/$(better_group "$1" "$2").$1.$2
    [ -s "$file" ] && sort -g "$file" | awk -v us="$(of ours "$1" "$2")" '
        { v[NR] = $1 }
        END { exit !(us != "" && us <= v[int((3 * NR + 3) / 4)]) }'
}
goal_lines() { # one goal a line, with what became of it
    local op bytes yardstick most base got became
    for op in ${ops//,/ }; do
        for bytes in ${sizes//,/ }; do
            [ "$op" != barrier ] || bytes=0
            while read -r yardstick most; do
                case $yardstick in
                limit) base=$(limit_of "$op" "$bytes") ;;
                MPI) base=$(better_mpi "$op" "$bytes") ;;
                openmpi) base=$(of openmpi "$op" "$bytes") ;;
                libgpvm3) base=$(of "$(better_group "$op" "$bytes")" "$op" "$bytes") ;;
                esac
                got=$(precise "$(of ours "$op" "$bytes")" "$base")
                became=$(verdict "$got" "$most")
                if [ "$became $yardstick $most" = "missed libgpvm3 1" ] &&
                    is_tie "$op" "$bytes"; then
                    became=tie
                fi
                printf 'goal: %-14s %8s  at most %-5s x %-8s  %8s  %s\n' "$op" \
                    "$bytes" "$most" "$yardstick" "$got" "$became"
            done < <(goals "$op" "$bytes")
            [ "$op" != barrier ] || break
        done
    done
}
