#!/bin/bash
# reproduce-collectives.sh - the experiment chapter of the report on collective
# communication by Kim (Korea University, 98-NF-03-04-A-01), again, and for the
# operations that it leaves out: time against message size and against the
# number of members, for every algorithm, by the model with the report's three
# machines, and live.
#
#   [OPS='bcast scan'] [PLACE=lab|pvm|local|none] [LIVE_HOSTS=8] [RATE=100mbit]
#   [LIVE_SIZES=8B,...,1MiB] [LIVE_MEMBERS=2,4,...] [LIVE_BYTES=512KiB]
#   [REPEATS=5] [LIVE_SECONDS=1200] reproduce-collectives.sh [DIR]
#
# Live runs take place in a lab of $LIVE_HOSTS workstations if there can be one
# here, else on PVM on this host; `none` leaves them out.  All members take
# $LIVE_SIZES; $LIVE_BYTES goes to each number of $LIVE_MEMBERS.  After
# $LIVE_SECONDS what is left is left out, and said.  So 25 minutes in all are the
# most; shorter: fewer OPS, LIVE_HOSTS=5, REPEATS=3, LIVE_SECONDS=300, or for
# seeing that it works: OPS=bcast LIVE_HOSTS=3 REPEATS=1 LIVE_SIZES=8B,16KiB
# LIVE_BYTES=16KiB.
#
# Writes into DIR (reproduce-collectives):
#   model.csv             every algorithm, machine, P and size
#   crossovers.csv .md    from which size on one algorithm beats another
#   checks.csv .md        what the report says of its figures, in numbers
#   OP-MACHINE-16.svg, OP-MACHINE-members.svg          plots (need gnuplot)
#   live.csv              medians between members that are really there
#   live-best.md          the fastest of each size and number, and auto beside it
#   live-crossovers.md    as above, among the sizes measured
#   live-checks.md        as above, measured
#   OP-live-sizes.svg, OP-live-members.svg             plots
# Exit status: 0 when all was computed and measured, whatever came out; 1 if a
# run failed.
. "${0%/*}/bench-lib.sh"
dir=${1:-reproduce-collectives}
mkdir -p "$dir" || exit 1
place=${PLACE:-}
live_hosts=${LIVE_HOSTS:-8} live_rate=${RATE:-100mbit}
live_seconds=${LIVE_SECONDS:-1200} live_repeats=${REPEATS:-5}
live_sizes=${LIVE_SIZES:-8B,256B,1KiB,4KiB,16KiB,64KiB,256KiB,1MiB}
live_bytes=${LIVE_BYTES:-512KiB}
ops=${OPS:-bcast reduce allreduce scan gather scatter allgather reduce_scatter exscan barrier}
sizes=16B,64B,256B,1KiB,4KiB,16KiB,64KiB,256KiB,512KiB,1MiB,4MiB
names='sp2 t3e cluster'
export NOWFARM_LAB=nf-coll-$$

parties() { # MACHINE: the numbers of members that the report measured
    if [ "$1" = cluster ]; then echo 8,16; else echo 8,16,32; fi
}
# has OP: is it one of those wanted?
has() { [[ " $ops " = *" $1 "* ]]; }
# A failure may be that of a subshell: it is told at the end.
bench() { timeout -k 5 60 "$NF" coll-bench "$@" || touch "$work/failed"; }

# ------------------------------------------------------------------ the model

# with_units SIZES: plain numbers are bytes
with_units() { sed -E 's/([0-9])(,|$)/\1B\2/g' <<< "$1"; }

# cost MACHINE,delta=D P ALGORITHM SIZES: lines "bytes k us"
cost() {
    bench "${3%%.*}" --model "$1" --slaves "$2" --algorithm "$3" --sizes "$(with_units "$4")" \
        --csv "$work/cost.csv" > /dev/null
    awk -F, 'NR > 1 {print $3, $5, $13}' "$work/cost.csv"
}
one() { cost "$@" | awk '{print $3}'; } # us, of one size

tables() {
    local machine op delta
    echo "machine,ports,op,slaves,bytes,algorithm,segments,auto,model_us" \
        > "$dir/model.csv"
    for machine in $names; do
        for delta in 2 1; do
            for op in $ops; do
                bench "$op" --model "$machine,delta=$delta" --algorithm all \
                    --slaves "$(parties "$machine"),64" --sizes "$sizes" \
                    --csv "$work/all.csv" > /dev/null
                awk -F, -v OFS=, -v m="$machine" -v d=$delta 'NR > 1 {
                    print m, (d == 2 ? "half" : "full"), $1, $2, $3, $4, $5, $6,
                        $13}' "$work/all.csv" >> "$dir/model.csv"
            done
        done
    done
}
plots() {
    local machine op
    for machine in $names; do
        for op in $ops; do
            [ "$op" = barrier ] ||
                bench "$op" --model "$machine" --algorithm all --slaves 16 \
                    --sizes "$sizes" --plot "$dir/$op-$machine-16.svg" > /dev/null
            bench "$op" --model "$machine" --algorithm all \
                --slaves 4,8,16,32,64 --sizes 512KiB \
                --plot "$dir/$op-$machine-members.svg" > /dev/null
        done
    done
}

# crossover MACHINE,delta=D P FROM TO: the least size, in steps of 8 bytes, from
# which TO is faster; "never" up to 16 MiB
crossover() {
    local low=0 high=16777216 list line
    # in P blocks of doubles there is no less
    [[ $4 != *.seg* ]] || low=504
    while [ $((high - low)) -gt 8 ]; do
        list=$(awk -v l="$low" -v h="$high" 'BEGIN { # 30 steps, even or geometric
            for (i = 1; i <= 30; i++) {
                x = h > 64 * (l + 8) ? (l + 8) * (h / (l + 8)) ^ (i / 30) \
                    : l + (h - l) * i / 30
                x = 8 * int(x / 8 + 0.5)
                if (x > last && x > l && x <= h) {
                    printf("%s%d", last ? "," : "", x); last = x }
            }}')
        line=$(paste <(cost "$1" "$2" "$3" "$list") \
            <(work_b "$1" "$2" "$4" "$list") |
            awk -v l="$low" '$6 < $3 * (1 - 1e-12) {print l, $1; found = 1; exit}
                {l = $1} END {if (!found) print "never"}')
        if [ "$line" = never ]; then
            echo never
            return
        fi
        read -r low high <<< "$line"
    done
    echo "$high"
}
# the same as cost, with a file of its own: both run at a time
work_b() {
    bench "${3%%.*}" --model "$1" --slaves "$2" --algorithm "$3" --sizes "$(with_units "$4")" \
        --csv "$work/cost-b.csv" > /dev/null
    awk -F, 'NR > 1 {print $3, $5, $13}' "$work/cost-b.csv"
}
# 2: on half-duplex, 1: on full-duplex ports
pairs='2 bcast.binomial bcast.nesbt
2 bcast.binomial bcast.kseg
2 bcast.binomial bcast.pipeline.hd
2 bcast.binomial bcast.twopath.hd
2 bcast.binomial bcast.circulant
1 bcast.binomial bcast.circulant
2 bcast.kseg bcast.pipeline.hd
2 reduce.binomial reduce.seg
2 allreduce.reduce_bcast allreduce.seg_doubling
2 scan.brent_kung scan.pipeline.hd'
crossovers() {
    local machine p from to delta
    echo "from,to,ports,machine,slaves,bytes" > "$dir/crossovers.csv"
    while read -r delta from to; do
        has "${from%%.*}" || continue
        for machine in $names; do
            for p in $(parties "$machine" | tr , ' '); do
                echo "$from,$to,$([ "$delta" = 2 ] && echo half || echo full),$machine,$p,$(
                    crossover "$machine,delta=$delta" "$p" "$from" "$to")" \
                    >> "$dir/crossovers.csv"
            done
        done
    done <<< "$pairs"
}

# ----------------------------------------------------- what the report says

check_line() { echo "$1,$2,$3" >> "$dir/checks.csv"; }
ratio_of() { calc "printf(\"%.2f\", $1 / $2)"; }
checks_of_bcast() {
    local machine a t8 t32
    for machine in sp2 t3e; do
        for a in binomial kseg nesbt pipeline.hd; do
            t8=$(one "$machine" 8 bcast.$a 512KiB)
            t32=$(one "$machine" 32 bcast.$a 512KiB)
            check_line "bcast.$a of 512 KiB: time with 32 members / with 8" \
                "$machine" "$(ratio_of "$t32" "$t8")"
        done
    done
    for a in 1KiB 16KiB 256KiB 4MiB; do
        check_line "bcast of $a over 16: pipeline / 2-path" sp2 "$(ratio_of \
            "$(one sp2 16 bcast.pipeline.hd $a)" \
            "$(one sp2 16 bcast.twopath.hd $a)")"
    done
    for machine in $names; do
        for a in kseg nesbt pipeline.hd; do
            check_line "bcast of 512 KiB over 16: binomial / $a" "$machine" \
                "$(ratio_of "$(one "$machine" 16 bcast.binomial 512KiB)" \
                    "$(one "$machine" 16 bcast.$a 512KiB)")"
        done
    done
}
checks_of_allreduce() {
    local machine p
    for machine in $names; do
        for p in $(parties "$machine" | tr , ' '); do
            check_line "allreduce of 512 KiB over $p: reduce+bcast / segmented" \
                "$machine" "$(ratio_of \
                    "$(one "$machine" "$p" allreduce.reduce_bcast 512KiB)" \
                    "$(one "$machine" "$p" allreduce.seg_doubling 512KiB)")"
        done
    done
}
checks_of_scan() {
    local machine a
    for machine in $names; do
        for a in brent_kung rootp_chain rootp_seg_chain.hd pipeline.hd; do
            check_line "scan of 512 KiB over 16: linear / $a" "$machine" \
                "$(ratio_of "$(one "$machine" 16 scan.linear 512KiB)" \
                    "$(one "$machine" 16 scan.$a 512KiB)")"
        done
    done
}
checks() {
    local op
    echo "statement,machine,number" > "$dir/checks.csv"
    for op in bcast allreduce scan; do
        ! has $op || checks_of_$op
    done
}

# ------------------------------------------------------------------------ live

test_cleanup() { [ "$place" != lab ] || "$NF" lab down 2> /dev/null; }
live_up() {
    if [ -z "$place" ]; then
        place=none
        grep -q '^#define HAVE_PVM3 1' "$top_builddir/config.h" && place=pvm
        [ $place = none ] || ! "$NF" lab check > /dev/null 2>&1 || place=lab
    fi
    [ "$place" != lab ] ||
        timeout 60 "$NF" lab up $((live_hosts - 1)) "$live_rate" > /dev/null ||
        exit 1
    seq -f 'ws%g' 0 $((live_hosts - 1)) > "$work/hosts"
}
# live_members: numbers of members, ascending, all of them the last
live_members() {
    echo "${LIVE_MEMBERS:-2,3,4,5,6,8,12,16},$live_hosts" | tr , '\n' |
        awk -v most="$live_hosts" '$1 >= 2 && $1 <= most' | sort -nu |
        paste -sd ,
}
live_bench() { # SECONDS OP ARGS...
    local limit=$1
    shift
    rm -f "$work/live.csv"
    set -- "$1" --algorithm all --repeat "$live_repeats" \
        --csv "$work/live.csv" "${@:2}"
    case $place in
    lab) timeout -k 5 "$limit" "$NF" lab exec ws0 "$NF" coll-bench "$@" \
        --hosts "$work/hosts" < /dev/null > /dev/null ;;
    *) timeout -k 5 "$limit" "$NF" coll-bench "$@" \
        --transport "$place" < /dev/null > /dev/null ;;
    esac
}
# live_part TEXT OP ARGS...: one run, of at most twice its share of the time that
# is left, so that one that hangs leaves some to the others
live_part() {
    local text=$1 left=$((live_until - SECONDS)) status
    shift
    local limit=$((2 * left / live_parts + 20))
    [ $limit -le $left ] || limit=$left
    live_parts=$((live_parts - 1))
    status=124
    if [ $limit -gt 3 ]; then
        live_bench $limit "$@"
        status=$?
    fi
    if [ $status = 124 ] || [ $status = 137 ]; then
        echo "# left out, no time: $text" | tee -a "$dir/live-left-out.txt"
        return
    elif [ $status != 0 ]; then
        echo "# failed with exit status $status: $text" >&2
        touch "$work/failed"
        return
    fi
    [ -e "$dir/live.csv" ] || head -n 1 "$work/live.csv" > "$dir/live.csv"
    # what is measured in both parts counts once
    awk -F, 'NR == FNR {had[$1, $2, $3, $4, $6] = 1; next}
        FNR > 1 && !(($1, $2, $3, $4, $6) in had)' "$dir/live.csv" \
        "$work/live.csv" > "$work/new.csv"
    cat "$work/new.csv" >> "$dir/live.csv"
}
live() {
    local op members draw=()
    members=$(live_members)
    live_parts=$(($(wc -w <<< "$ops") * 2))
    live_until=$((SECONDS + live_seconds))
    rm -f "$dir"/live*
    for op in $ops; do
        if [ "$op" != barrier ]; then
            ! command -v gnuplot > /dev/null ||
                draw=(--plot "$dir/$op-live-sizes.svg")
            live_part "$op, all sizes" "$op" --slaves "$live_hosts" \
                --sizes "$live_sizes" "${draw[@]}"
        else
            live_parts=$((live_parts - 1))
        fi
        ! command -v gnuplot > /dev/null ||
            draw=(--plot "$dir/$op-live-members.svg")
        live_part "$op, $members members" "$op" --slaves "$members" \
            --sizes "$live_bytes" "${draw[@]}"
    done
}

# Of what was measured: columns op, slaves, bytes, algorithm, segments, auto,
# ..., median_us the 10th and predicted_us the 13th.
live_best() {
    echo "operation,members,bytes,fastest,k,us,model us,auto takes,k,us,auto / fastest"
    awk -F, 'NR > 1 && $10 != "" {
        key = $1 "," $2 "," $3
        if (!(key in seen)) {seen[key] = 1; keys[++n] = key}
        if ($6 == 1) {own[key] = $10; took[key] = $4 "," $5}
        else if (!(key in best) || $10 + 0 < best[key] + 0) {
            best[key] = $10; name[key] = $4 "," $5; model[key] = $13}
    } END {
        for (i = 1; i <= n; i++) {
            key = keys[i]
            # for some there is no formula on such ports
            predicted = model[key] != "" ? sprintf("%.0f", model[key]) : "-"
            printf("%s,%s,%.0f,%s,%s,%.0f,%.2f\n", key, name[key], best[key],
                predicted, took[key], own[key],
                best[key] > 0 ? own[key] / best[key] : 0)
        }
    }' "$dir/live.csv"
}
# us P ALGORITHM BYTES: measured, or nothing
live_us() {
    awk -F, -v p="$1" -v a="$2" -v b="$3" 'NR > 1 && $2 == p && $4 == a &&
        $3 == b && $6 == 0 {print $10; exit}' "$dir/live.csv"
}
# From the least measured size on from which TO is faster, up to the largest.
live_crossovers() {
    local delta from to p=$live_hosts
    echo "from -> to,bytes with $p members"
    while read -r delta from to; do
        # the same schedules, on the ports that there are
        case $delta-$to in
        2-bcast.circulant) continue ;;
        esac
        to=${to/pipeline.hd/pipeline.fd}
        awk -F, -v p="$p" -v from="$from" -v to="$to" '
            NR > 1 && $2 == p && $6 == 0 && $4 == from {a[$3 + 0] = $10}
            NR > 1 && $2 == p && $6 == 0 && $4 == to {b[$3 + 0] = $10
                if (!($3 + 0 in had)) {had[$3 + 0] = 1; size[++n] = $3 + 0}}
            END {
                for (i = 1; i <= n; i++) # sizes rise, but for those added
                    for (j = i + 1; j <= n; j++)
                        if (size[j] < size[i]) {
                            x = size[i]; size[i] = size[j]; size[j] = x}
                since = "never"
                for (i = n; i >= 1 && b[size[i]] < a[size[i]]; i--)
                    since = size[i]
                if (n > 0)
                    printf("%s -> %s,%s\n", from, to, since)
            }' "$dir/live.csv"
    done <<< "$pairs"
}
live_ratio() { # TEXT P ALGORITHM P ALGORITHM
    local a b
    a=$(live_us "$2" "$3" "$live_size") b=$(live_us "$4" "$5" "$live_size")
    [ -z "$a" ] || [ -z "$b" ] || echo "$1,$(ratio_of "$a" "$b")"
}
live_checks() {
    local p=$live_hosts fewest a
    fewest=$(live_members)
    fewest=${fewest%%,*}
    # in bytes, as the largest of what goes to several numbers of members
    live_size=$(awk -F, -v p="$fewest" 'NR > 1 && $2 == p && $1 != "barrier" {
        print $3; exit}' "$dir/live.csv")
    [ -n "$live_size" ] || return
    echo "of $live_size bytes,number"
    for a in binomial kseg nesbt pipeline.fd circulant; do
        live_ratio "bcast.$a: time with $p members / with $fewest" \
            "$p" bcast.$a "$fewest" bcast.$a
    done
    for a in kseg nesbt pipeline.fd twopath.hd circulant; do
        live_ratio "bcast over $p: binomial / $a" "$p" bcast.binomial "$p" \
            bcast.$a
    done
    for a in seg_doubling rec_doubling ring circulant; do
        live_ratio "allreduce over $p: reduce+bcast / $a" "$p" \
            allreduce.reduce_bcast "$p" allreduce.$a
    done
    for a in brent_kung rootp_chain rootp_seg_chain.fd pipeline.fd; do
        live_ratio "scan over $p: linear / $a" "$p" scan.linear "$p" scan.$a
    done
}

# -------------------------------------------------------------------------- all

# markdown FILE.csv: as a table
markdown() {
    awk -F, '{printf("|"); for (i = 1; i <= NF; i++) printf(" %s |", $i); print ""}
        NR == 1 {printf("|"); for (i = 1; i <= NF; i++) printf("---|"); print ""}' "$1"
}
# a line for each pair, a column for each machine and P
wide_crossovers() {
    awk -F, 'NR > 1 {
        row = $1 " -> " $2 " (" $3 ")"; column = $4 " " $5
        if (!(row in seen)) {rows[++n] = row; seen[row] = 1}
        if (!(column in had)) {columns[++m] = column; had[column] = 1}
        value[row, column] = $6
    } END {
        printf("from -> to (ports)")
        for (i = 1; i <= m; i++) printf(",%s", columns[i])
        print ""
        for (r = 1; r <= n; r++) {
            printf("%s", rows[r])
            for (i = 1; i <= m; i++) printf(",%s", value[rows[r], columns[i]])
            print ""
        }
    }' "$dir/crossovers.csv"
}

tables
crossovers
checks
wide_crossovers > "$work/wide.csv"
markdown "$work/wide.csv" > "$dir/crossovers.md"
markdown "$dir/checks.csv" > "$dir/checks.md"
if command -v gnuplot > /dev/null; then plots; fi
cat "$dir/crossovers.md"
echo
cat "$dir/checks.md"
live_up
if [ "$place" != none ]; then
    machine
    echo "# live: $live_hosts members, $place, at most $live_seconds s"
    live
    if [ -e "$dir/live.csv" ]; then
        for table in best crossovers checks; do
            live_$table > "$work/live-$table.csv"
            markdown "$work/live-$table.csv" > "$dir/live-$table.md"
            echo
            cat "$dir/live-$table.md"
        done
    fi
fi
[ ! -e "$work/failed" ] || exit 1
echo "# all in $dir"
