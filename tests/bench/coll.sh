#!/bin/bash
# coll.sh - collective operations between hosts of a lab: ours beside Open MPI,
# MPICH and PVM's group library, and beside the limit L(m), one plain TCP
# transfer of m bytes between two hosts.  All sides take turns in one run;
# samples are the slowest member's time of one call, and medians are compared.
#
#   coll.sh [-w WORLDS] [-o OPS] [-s SIZES] [-x SIDES] [-r ROUNDS] [-t MS]
#           [-l SECONDS] [-d FILE] [-a REPEATS] [-A SIZES] [-T SIZES] [-f FRAMES]
#           [-u] [-e]
#
#   -w  HOSTS:RATE ...: a lab of so many hosts, its links as for `nowfarm lab
#       up`, or `none`; local:MEMBERS is this machine without a lab
#       (default: "5:100mbit 8:100mbit 5:1gbit 5:none local:8")
#   -o  operations, between commas       -s  bytes of a block, between commas
#   -x  sides left out, between commas: openmpi, mpich, group, pvmds, chain, ours; group,
#       which is PVM's library, runs within ours: both begin with the same barrier; pvmds is
#       that library without direct routes, on this machine only.  The faster one counts
#   -r  each side runs so often in each world (default: $REPEATS, else 5)
#   -t  each run repeats an operation for so long, but 2 to 200 times
#   -l  limit for one run of one side; tuning an operation may take four times as long, and
#       every algorithm of it ten times
#   -d  all samples go to FILE: world, side, operation, bytes, microseconds
#   -a  then also every algorithm of ours, so many calls of each: what auto takes
#       beside the others, slowest last, and whether it is within 10 % of the best or
#       not above the middle half of its times; a tie if not, but it took the best in as
#       many segments, so that differs what was measured twice.  Of less than
#       4 KiB ten times as many, up to 1000: medians of 20 such calls differ by up
#       to twice between two series
#   -A  ... at these bytes of a block, between commas, by a table that is tuned at
#       the sizes that `--tune` takes by itself; default: at those of -s, for which
#       the table is tuned then
#   -T  tune the table at these bytes of a block, between commas, whatever -s and -A say
#   -f  frames that a link lets through at a time (default: 3; see `nowfarm lab`):
#       frame by frame, timers for 8 hosts of 100 Mbit/s are more than two processors
#       can do, and the processors are measured and not the links
#   -u  untuned: choose by the model alone, not by a table that
#       `nowfarm coll-bench --tune` writes for this world first
#   -e  exit with 1 if a goal was missed, auto's included, if none was met, if a run of
#       ours or tuning failed, or if there are no times of a side that is there; make
#       bench-coll does
#
# Beside ours stands a chain of bare TCP from host to host, in segments of 2896,
# 4096 and 16384 bytes, the fastest of them: what a plain chain takes on this
# machine, whose processors are those of all hosts of the lab.
# Needs root or user namespaces, as the lab does.  A side that is not installed
# is left out, in one line.  Debian: openmpi-bin libopenmpi-dev, mpich
# libmpich-dev.
#
# A tie with PVM's library is what is above its median and not above the middle half of
# its times.
#
# Links are timers of this machine, and where its processors sleep these are late: to those
# who sleep while they wait, as ours, PVM and plain TCP do, a link of 100 Mbit/s gives 3 to
# 5 % less than to Open MPI, which polls.  (Loops that run when nobody else wants
# to mend that, but hold up chains of hosts, and who yields.)
. "${0%/*}/bench-lib.sh"
. "${0%/*}/coll-goals.sh"
need_pvm

worlds="5:100mbit 8:100mbit 5:1gbit 5:none local:8"
ops=bcast,reduce,allreduce,reduce_scatter,scan,exscan,gather,scatter,allgather,alltoall,barrier
sizes=8,65536,1048576
left_out='' budget_ms=300 limit_s=150 samples='' all_repeats='' auto_sizes='' tune_sizes='' untuned='' frames=3 exacting=
tune_limits=4 all_limits=10
wrong() {
    echo "coll.sh: $*" >&2
    exit 2
}
usage() { sed -n '2,/^\. /s/^# \{0,1\}//p' "$0"; }
while getopts w:o:s:x:r:t:l:d:a:A:T:f:ueh option; do
    case $option in
    w) worlds=$OPTARG ;;
    o) ops=$OPTARG ;;
    s) sizes=$OPTARG ;;
    x) left_out=,$OPTARG, ;;
    r) repeats=$OPTARG ;;
    t) budget_ms=$OPTARG ;;
    l) limit_s=$OPTARG ;;
    d) samples=$OPTARG ;;
    a) all_repeats=$OPTARG ;;
    A) auto_sizes=$OPTARG ;;
    T) tune_sizes=$OPTARG ;;
    f) frames=$OPTARG ;;
    u) untuned=yes ;;
    e) exacting=yes ;;
    h) usage; exit 0 ;;
    *) wrong "see coll.sh -h" ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || wrong "what is $1? See coll.sh -h"
for number in "$repeats" "$budget_ms" "$limit_s" "${all_repeats:-1}" "$frames"; do
    [[ $number =~ ^[1-9][0-9]{0,5}$ ]] || wrong "$number is not a number from 1"
done
for op in ${ops//,/ }; do
    case $op in
    bcast | reduce | allreduce | reduce_scatter | scan | exscan) ;;
    gather | scatter | allgather | alltoall | barrier) ;;
    *) wrong "no operation $op" ;;
    esac
done
for bytes in ${sizes//,/ } ${auto_sizes//,/ } ${tune_sizes//,/ }; do
    if ! [[ $bytes =~ ^[1-9][0-9]{0,7}$ ]] || [ $((bytes % 8)) != 0 ]; then
        wrong "a size is a multiple of 8 bytes, not $bytes"
    fi
done
for world in $worlds; do
    [[ $world =~ ^(local:([2-9]|[1-9][0-9])|([2-9]|[1-9][0-9]):([1-9][0-9]*[kmg]bit|none))$ ]] ||
        wrong "a world is HOSTS:RATE, HOSTS:none or local:MEMBERS, not $world"
done
[ -z "$samples" ] || : > "$samples" || exit 2

export NOWFARM_LAB=nf-coll-$$
if tr ' ' '\n' <<< "$worlds" | grep -q '^[0-9]'; then
    reason=$(timeout 60 "$NF" lab check 2>&1) || skip "${reason##*$'\n'}"
fi
test_cleanup() { timeout -k 5 60 "$NF" lab down 2> /dev/null; }

# --- the worlds ------------------------------------------------------------

# world_up: of $hosts members and $rate; names in $names
world_up() {
    names=$(seq -s , -f 'ws%g' 0 $((hosts - 1)))
    [ "$rate" = local ] && return
    if [ "$rate" = none ]; then
        timeout -k 5 60 "$NF" lab up $((hosts - 1))
    else
        timeout -k 5 60 "$NF" lab up $((hosts - 1)) "$rate" \
            --frames="$frames"
    fi || exit 1
}
world_down() {
    [ "$rate" = local ] || timeout -k 5 60 "$NF" lab down || exit 1
}
# on_first COMMAND...: on ws0, within the limit; here if there is no lab
on_first() {
    if [ "$rate" = local ]; then
        timeout -k 5 "$limit_s" "$@" < /dev/null
    else
        timeout -k 5 "$limit_s" "$NF" lab exec ws0 "$@" < /dev/null
    fi
}

# --- the sides -------------------------------------------------------------
# Each is a function side_NAME that prints lines of samples.h, for the
# operations it has of $ops, and fails if not all of them came.

# has SIDE: it can run in this world
has() {
    [[ $left_out != *,$1,* ]] || return 1
    case $1 in
    tcp) [ "$rate" != local ] ;;
    chain) [ "$rate" != local ] && [[ ,$ops, = *,bcast,* ]] ;;
    openmpi | mpich) [ "$rate" != local ] && [ -x "$work/coll_mpi.$1" ] ;;
    group) has ours && [ -n "$pvmgs" ] ;;
    pvmds) [ "$rate" = local ] && has group ;;
    ours) [ -n "$have_ours" ] ;;
    esac
}
plan=("$sizes" 2 200 "$budget_ms") # least and most calls that are timed

side_tcp() {
    local tcp=$top_builddir/tests/bench/tcp_limit receiver status
    timeout -k 5 "$limit_s" "$NF" lab exec ws1 "$tcp" receive $port &
    receiver=$!
    on_first "$tcp" send ws1 $port "${plan[@]}"
    status=$?
    [ $status = 0 ] || kill "$receiver" 2> /dev/null
    wait "$receiver" && [ $status = 0 ]
}
# chain_of SEGMENT: from host to host, the last one first
chain_of() {
    local tcp=$top_builddir/tests/bench/tcp_limit i pids=() status
    timeout -k 5 "$limit_s" "$NF" lab exec "ws$((hosts - 1))" "$tcp" receive $port &
    pids+=($!)
    for ((i = hosts - 2; i > 0; i--)); do
        timeout -k 5 "$limit_s" "$NF" lab exec "ws$i" "$tcp" relay $port \
            "ws$((i + 1))" $port "$1" &
        pids+=($!)
    done
    on_first "$tcp" send ws1 $port "${plan[@]}" > "$work/chain"
    status=$?
    [ $status = 0 ] || kill "${pids[@]}" 2> /dev/null
    wait "${pids[@]}" && [ $status = 0 ] && sed "s/^tcp/chain$1/" "$work/chain"
}
segments="2896 4096 16384"
side_chain() {
    local segment
    for segment in $segments; do
        port=$((port + 1))
        chain_of "$segment" || return 1
    done
}
# Every rank has a host of its own, but the hosts share the cores of this
# machine: nobody may be bound to "the first core", and polling must yield.
side_openmpi() {
    on_first sh -c 'exec mpirun.openmpi --mca plm_rsh_agent "$PVM_RSH" "$@"' sh \
        --allow-run-as-root --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
        --mca mpi_yield_when_idle 1 --bind-to none \
        -H "${names//,/:1,}:1" -n "$hosts" "$work/coll_mpi.openmpi" "$ops" "${plan[@]}"
    grep -qx "done" "$work/lines"
}
# The same over UCX, which Debian's MPICH is built on; it has no yielding.
side_mpich() {
    on_first sh -c 'exec mpirun.mpich -launcher rsh -launcher-exec "$PVM_RSH" "$@"' \
        sh -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0 \
        -hosts "$names" -n "$hosts" "$work/coll_mpi.mpich" "$ops" "${plan[@]}"
    grep -qx "done" "$work/lines"
}
# ours_lines: the report of `nowfarm coll-bench OP --json` in $work/ours, as
# lines.  What is read of it: results, each with bytes, and KEY, the slowest
# member's time of each call.  Another form is a matter of here only, as other
# options are one of side_ours.
ours_lines() { # OP KEY
    local n bytes list
    for ((n = 0; ; n++)); do
        bytes=$("$jsonget" "$work/ours" results.$n.bytes 2> /dev/null) || break
        list=$("$jsonget" "$work/ours" "results.$n.$2") || return 1
        [ "$1" != barrier ] || bytes=0
        echo "$1 $bytes $hosts - ${list//[][]/}"
    done
    [ $n -gt 0 ]
}
set_where() { # where our members are, as options
    if [ "$rate" = local ]; then
        where=(--slaves "$hosts")
    else
        tr , '\n' <<< "$names" > "$work/hosts"
        where=(--hosts "$work/hosts" --slaves "$hosts")
    fi
}
# Has coll-bench, which ended with STATUS, no such operation?
is_none_of_ours() { # STATUS
    [ "$1" = 2 ] && grep -q 'no operation "' "$work/err"
}
# patiently TIMES COMMAND...: on the first host, for so many times the limit
patiently() {
    local times=$1
    shift
    limit_s=$((times * limit_s)) on_first "$@"
}
# reason_of STATUS TIMES: why that did not come to its end
reason_of() {
    if [ "$1" = 124 ]; then
        echo "it took more than $(($2 * limit_s)) s"
    else
        head -n 1 "$work/err"
    fi
}
# The table of each world is its own, so what it was tuned for is what is timed.
tune() {
    local op where status tuned=()
    set_where
    table=()
    [ -z "$untuned" ] || return
    rm -f "$here/table"
    if [ -n "$tune_sizes" ]; then
        tuned=(--sizes "${tune_sizes//,/B,}B")
    elif [ -z "$auto_sizes" ]; then
        tuned=(--sizes "${sizes//,/B,}B")
    fi
    for op in ${ops//,/ }; do
        patiently $tune_limits "$NF" coll-bench "$op" --tune \
            "${tuned[@]}" "${where[@]}" --out "$here/table" > "$work/lines" 2> "$work/err"
        status=$?
        if [ $status != 0 ] && ! is_none_of_ours $status; then
            echo "# $op was not tuned: $(reason_of $status $tune_limits)"
            echo "tune-$op" >> "$here/failed"
        fi
    done
    [ ! -s "$here/table" ] || table=(--table "$here/table")
}
side_ours() {
    local op where status beside=()
    set_where
    ! has group || beside=(--group-library)
    : > "$work/group_lines"
    for op in ${ops//,/ }; do
        on_first "$NF" coll-bench "$op" --sizes "${sizes//,/B,}B" "${where[@]}" \
            "${table[@]}" "${beside[@]}" --json > "$work/ours"
        status=$?
        [ $status = 2 ] && continue # not an operation of ours
        [ $status = 0 ] && ours_lines "$op" samples_us || return 1
        ours_lines "$op" libgpvm3_samples_us |
            awk 'NF == 5' >> "$work/group_lines"
    done
}

side_pvmds() {
    local op
    set_where
    for op in ${ops//,/ }; do
        on_first "$NF" coll-bench "$op" --sizes "${sizes//,/B,}B" "${where[@]}" \
            --route daemon --group-library --json > "$work/ours" || return 1
        ours_lines "$op" libgpvm3_samples_us | awk 'NF == 5'
    done
}

# build_mpi NAME PACKAGES
build_mpi() {
    if ! has_mpi "$1"; then
        echo "# $1 is left out: no mpicc.$1 and mpirun.$1 (Debian: $2)"
        return
    fi
    "mpicc.$1" -std=c11 -D_GNU_SOURCE -O2 -o "$work/coll_mpi.$1" \
        "$top_srcdir/tests/bench/coll_mpi.c" || exit 1
}

# --- measuring -------------------------------------------------------------

# keep SIDE LINES: one sample a line in $here/SIDE.OP.BYTES
keep() {
    awk -v dir="$here" -v side="$1" -v world="$world" -v all="${samples:-/dev/null}" '
        NF == 5 && $3 ~ /^[0-9]+$/ {
            n = split($5, us, ",")
            for (i = 1; i <= n; i++) {
                print us[i] >> (dir "/" side "." $1 "." $2)
                print world "\t" side "\t" $1 "\t" $2 "\t" us[i] >> all
            }
        }' "$2"
}
# once SIDE: one run; a failed one counts nothing, and the next side finds a
# world without what it may have left
port=7000
once() {
    port=$((port + 1))
    "side_$1" > "$work/lines" 2> "$work/err" & # so that signals are heard
    if wait $! && keep "$1" "$work/lines"; then
        [ "$1" != ours ] || keep group "$work/group_lines"
        return
    fi
    reason=$(grep -v '^libpvm' "$work/err" | grep . | head -n 1)
    echo "# $1 failed: ${reason:-not all came within $limit_s s}"
    echo "$1" >> "$here/failed"
    if [ "$rate" = local ]; then
        echo halt | timeout -k 5 20 pvm > /dev/null 2>&1
    else
        world_down
        world_up
    fi
}
chain_lines() {
    ! has chain || by_book '
        END {
            n = split(sizes, size, ",")
            for (i = 1; i <= n; i++) {
                if (size[i] < 4096) continue # nothing to cut up
                best = ""
                m = split(segments, segment, " ")
                for (j = 1; j <= m; j++)
                    best = least(best, median("chain", "chain" segment[j], size[i]))
                printf("# bcast of %s bytes down a chain of bare TCP: %s ms, " \
                    "%s x limit; ours %s x that\n", size[i], ms(best),
                    ratio(best, limit("bcast", size[i])),
                    ratio(median("ours", "bcast", size[i]), best))
            }
        }' "segments=$segments"
}
print_table() {
    printf '%-14s %8s %8s' "" "" limit
    printf '  |%16s     ' "Open MPI" MPICH libgpvm3 ours
    printf '  | %8s %8s\n%-14s %8s %8s' ours/ ours/ operation bytes ms
    printf '  |%8s %6s %5s' ms xlimit iqr ms xlimit iqr ms xlimit iqr ms xlimit iqr
    printf '  | %8s %8s\n' "best MPI" libgpvm3
    by_book '
        END {
            while (points()) {
                op = next_op
                bytes = next_bytes
                group = better_group(op, bytes)
                printf("%-14s %8s %8s", op, bytes, ms(limit(op, bytes)))
                n = split("openmpi mpich " group " ours", side, " ")
                for (i = 1; i <= n; i++) {
                    us = median(side[i], op, bytes)
                    printf("  |%8s %6s %5s", ms(us), ratio(us, limit(op, bytes)),
                        middle_half(side[i], op, bytes))
                }
                ours = median("ours", op, bytes)
                printf("  | %8s %8s%s\n", ratio(ours, better_mpi(op, bytes)),
                    ratio(ours, median(group, op, bytes)),
                    group == "pvmds" ? " by the pvmds" : "")
            }
        }'
}

# --- every algorithm -------------------------------------------------------

# algorithms_of OP ,SIZE,SIZE... CALLS
algorithms_of() {
    local status
    [ -n "$2" ] || return
    patiently $all_limits "$NF" coll-bench "$1" --algorithm all --sizes "${2#,}" \
        "${where[@]}" "${table[@]}" --repeat "$(($3 > 1000 ? 1000 : $3))" \
        --csv "$work/all.csv" > "$work/lines" 2> "$work/err"
    status=$?
    is_none_of_ours $status && return
    if [ $status = 0 ]; then
        auto_lines "$work/all.csv" | tee -a "$here/auto" "$work/autos"
    else
        echo "# all of $1 failed: $(reason_of $status $all_limits)"
        echo "all-$1" >> "$here/failed"
    fi
}
# every_algorithm: of all operations in this world, the lines to $here/auto too
every_algorithm() {
    local op where bytes few='' many=''
    set_where
    for bytes in $(tr , ' ' <<< "${auto_sizes:-$sizes}"); do
        if [ "$bytes" -lt 4096 ]; then many+=,${bytes}B; else few+=,${bytes}B; fi
    done
    printf '\n# auto beside every algorithm, %s calls each\n' "$all_repeats"
    for op in ${ops//,/ }; do
        if [ "$op" = barrier ]; then
            algorithms_of "$op" "${many:-$few}" $((10 * all_repeats))
            continue
        fi
        algorithms_of "$op" "$many" $((10 * all_repeats))
        algorithms_of "$op" "$few" "$all_repeats"
    done
    [ ! -s "$here/auto" ] || printf '# auto: %s met, %s ties, %s missed\n' \
        "$(grep -c ' met$' "$here/auto")" "$(grep -c ' tie$' "$here/auto")" \
        "$(grep -c ' missed$' "$here/auto")"
}

# --- all of it -------------------------------------------------------------

build_mpi openmpi "openmpi-bin libopenmpi-dev"
build_mpi mpich "mpich libmpich-dev"
pvmgs=$(PATH=$PATH:$(echo "${PVM_ROOT:-/usr/lib/pvm3}"/bin/* | tr ' ' :) \
    command -v pvmgs)
if [ -z "$pvmgs" ] || ! grep -q -- '-lgpvm3' "$top_builddir/Makefile"; then
    echo "# libgpvm3 is left out: there is no pvmgs, or it was built without"
    pvmgs=
fi
have_ours=
if timeout 20 "$NF" coll-bench --help > /dev/null 2>&1; then
    have_ours=yes
else
    echo "# ours is left out: this nowfarm has no coll-bench"
fi
machine | sed 's/medians (spread)/medians; a sample is the slowest member of one call/'
: > "$work/goals"
: > "$work/autos"
: > "$work/failures"
for world in $worlds; do
    here=$work/samples/$world
    mkdir -p "$here"
    case $world in
    local:*) hosts=${world#*:} rate=local ;;
    *) hosts=${world%:*} rate=${world#*:} ;;
    esac
    printf '\n# %s\n' \
        "$(if [ "$rate" = local ]; then echo "$hosts members on this machine"
        elif [ "$rate" = none ]; then echo "$hosts hosts, links without a limit"
        else echo "$hosts hosts, rate of each link: $rate, frames at a time: $frames"
        fi)"
    world_up
    [ -z "$have_ours" ] || tune
    for _ in $(seq "$repeats"); do
        for side in tcp chain openmpi mpich ours pvmds; do
            if has $side; then once $side; fi
        done
    done
    [ -z "$all_repeats" ] || [ -z "$have_ours" ] || every_algorithm
    world_down
    print_table
    chain_lines
    goal_lines | tee "$here/goals"
    cat "$here/goals" >> "$work/goals"
    ! has ours || unmeasured "$here/goals" >> "$work/failures"
    if [ -s "$here/failed" ]; then
        echo "# runs that failed: $(sort "$here/failed" | uniq -c | xargs)"
        grep -E '^(ours|all-|tune-)' "$here/failed" >> "$work/failures"
    fi
done
printf '\n# goals: %s met, %s ties, %s missed, %s open\n' \
    "$(grep -c ' met$' "$work/goals")" "$(grep -c ' tie$' "$work/goals")" \
    "$(grep -c ' missed$' "$work/goals")" "$(grep -c ' open$' "$work/goals")"
[ -n "$exacting" ] || exit 0
is_met "$work/goals" "$work/autos" "$work/failures"
