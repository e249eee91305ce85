#!/bin/bash
# coll-profile.sh - where the processors' time goes when the links of a lab have
# no limits: our broadcast beside Open MPI's, in one table of what was running.
#
#   coll-profile.sh [HOSTS [BYTES [CALLS]]]      (default: 5 1048576 1000)
#
# Both make as many calls, each after a barrier, on all hosts of the lab, which
# share this machine's processors.  perf counts who is on a processor, 4000 times
# a second; idle ones, perf itself and our filling and checking of buffers are left
# out.  Shares are of each side's own time, starting included.  In a virtual
# machine a sample may be late, and is counted where interrupts are let in again:
# _raw_spin_unlock_irqrestore, finish_task_switch.
# Needs what the lab needs, and perf with the right to watch all processors
# (Debian: linux-perf).  Without Open MPI only ours is shown.
. "${0%/*}/bench-lib.sh"
need_pvm
hosts=${1:-5} bytes=${2:-1048576} calls=${3:-1000}
for number in "$hosts" "$bytes" "$calls"; do
    if ! [[ $number =~ ^[1-9][0-9]{0,7}$ ]]; then
        echo "coll-profile.sh: $number is not a number from 1" >&2
        exit 2
    fi
done
export NOWFARM_LAB=nf-profile-$$
reason=$(timeout 60 "$NF" lab check 2>&1) || skip "${reason##*$'\n'}"
perf record -q -a -e cpu-clock -o "$work/perf" true > "$work/err" 2>&1 ||
    skip "perf cannot watch all processors: $(head -n 1 "$work/err")"
test_cleanup() { timeout -k 5 60 "$NF" lab down 2> /dev/null; }

on_first() { timeout -k 5 150 "$NF" lab exec ws0 "$@" < /dev/null; }
# watched SIDE COMMAND...: its samples, a line "object symbol" each
watched() {
    local side=$1
    shift
    perf record -q -a -e cpu-clock -F 4000 -o "$work/perf" -- "$@" \
        > "$work/$side.out" 2> "$work/err" || {
        echo "# $side failed: $(grep . "$work/err" | tail -n 1)"
        return 1
    }
    perf report -i "$work/perf" --stdio --no-children -F sample,comm,dso,sym -g none \
        2> /dev/null | awk -F '[[:space:]][[:space:]]+' '
        /^#/ || NF < 4 { next }
        $3 ~ /^(perf|swapper)$/ || $0 ~ /pv_native_safe_halt|default_idle/ { next }
        $5 ~ /bench_(fill|is_right)/ { next }
        { print $2 "\t" $4 "\t" $5 }' > "$work/$side.samples"
    [ -s "$work/$side.samples" ]
}
# What a sample was doing, by the function's name
classify() {
    awk -F '\t' '
        function kind(object, symbol) {
            if (object !~ /kernel/)
                return object ~ /libpvm|nowfarm|libmpi|libopen|pvmd/ ? \
                    "the programs and their libraries" : \
                    object ~ /libc/ ? "libc (copies, entry of calls)" : "other programs"
            if (symbol ~ /copy|memcpy|memset|clear_page|csum/)
                return "kernel: copies between programs and packets"
            if (symbol ~ /tcp|ip_|inet|skb|sock|nf_|veth|netif|net_rx|dev_|br_|qdisc|sch_|eth|napi|gro|fib|neigh|page_pool/)
                return "kernel: TCP/IP, packets, links of the lab"
            if (symbol ~ /poll|select|fget|fput|fd|epoll|wake|wait_queue/)
                return "kernel: select, poll and wake-ups"
            if (symbol ~ /sched|switch|futex|enqueue|dequeue|pick_next|update_|yield|idle|rq|task/)
                return "kernel: scheduling"
            if (symbol ~ /alloc|free|slab|page|slub|memcg|folio/)
                return "kernel: memory of packets"
            return "kernel: rest (entry of calls, interrupts, locks)"
        }
        { sum[kind($2, $3)] += $1; all += $1 }
        END { for (k in sum) printf("%s\t%.1f\n", k, 100 * sum[k] / all) }' "$1"
}

timeout -k 5 60 "$NF" lab up $((hosts - 1)) || exit 1
names=$(seq -s , -f 'ws%g' 0 $((hosts - 1)))
tr , '\n' <<< "$names" > "$work/hosts"
sides=ours
machine
watched ours timeout -k 5 150 "$NF" lab exec ws0 "$NF" coll-bench bcast \
    --sizes "${bytes}B" --hosts "$work/hosts" --slaves "$hosts" \
    --repeat "$calls" --json || exit 1
us=$("$jsonget" "$work/ours.out" results.0.median_us)
echo "# ours: $(calc "printf(\"%.0f\", $us)") us a call, by" \
    "$("$jsonget" "$work/ours.out" results.0.algorithm)," \
    "$("$jsonget" "$work/ours.out" results.0.segments) segments"
if command -v mpicc.openmpi > /dev/null &&
    mpicc.openmpi -std=c11 -D_GNU_SOURCE -O2 -o "$work/coll_mpi" \
        "$top_srcdir/tests/bench/coll_mpi.c" &&
    watched openmpi timeout -k 5 150 "$NF" lab exec ws0 sh -c \
        'exec mpirun.openmpi --mca plm_rsh_agent "$PVM_RSH" "$@"' sh \
        --allow-run-as-root --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
        --mca mpi_yield_when_idle 1 --bind-to none -H "${names//,/:1,}:1" \
        -n "$hosts" "$work/coll_mpi" bcast "$bytes" "$calls" "$calls" 60000; then
    echo "# Open MPI: $(awk '$1 == "bcast" {printf("%.0f", $4)}' "$work/openmpi.out") us a call"
    sides="ours openmpi"
fi
for side in $sides; do
    printf '\n%s: percent of %s samples\n' "$side" \
        "$(awk -F '\t' '{n += $1} END {print n}' "$work/$side.samples")"
    classify "$work/$side.samples" | sort -t $'\t' -k 2,2gr |
        awk -F '\t' '{printf("  %5.1f  %s\n", $2, $1)}'
    echo "  of these, the functions with most:"
    awk -F '\t' '{n += $1; s[$2 " " $3] += $1}
        END {for (k in s) printf("%.1f\t%s\n", 100 * s[k] / n, k)}' \
        "$work/$side.samples" | sort -gr | head -n 12 |
        awk -F '\t' '{printf("    %5.1f  %s\n", $1, $2)}'
done
exit 0
