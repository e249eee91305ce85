#!/bin/bash
# reproduce-collectives.sh - the experiment chapter of the report on collective
# communication by Kim (Korea University, 98-NF-03-04-A-01), again: time against
# message size and against the number of members, for every algorithm, by the
# model with the report's three machines, and live.
#
#   [PLACE=lab|pvm|local|none] [LIVE_HOSTS=5] [RATE=100mbit] [LIVE_SECONDS=600]
#   [REPEATS=5] reproduce-collectives.sh [DIR]
#
# Live runs take place in a lab of $LIVE_HOSTS workstations if there can be one
# here, else on PVM on this host; `none` leaves them out.  Writes into DIR
# (reproduce-collectives):
#   model.csv             every algorithm, machine, P and size
#   crossovers.csv .md    from which size on one algorithm beats another
#   checks.csv .md        what the report says of its figures, in numbers
#   live.csv live.md      medians between members that are really there
#   *.svg                 plots (needs gnuplot)
# Exit status: 0 when all was computed and measured, whatever came out; 1 if a
# run failed.
. "${0%/*}/bench-lib.sh"
dir=${1:-reproduce-collectives}
mkdir -p "$dir" || exit 1
place=${PLACE:-}
live_hosts=${LIVE_HOSTS:-5} live_rate=${RATE:-100mbit}
live_seconds=${LIVE_SECONDS:-600} live_repeats=${REPEATS:-5}
ops="bcast reduce allreduce scan gather"
sizes=16B,64B,256B,1KiB,4KiB,16KiB,64KiB,256KiB,512KiB,1MiB,4MiB
names='sp2 t3e cluster'
export NOWFARM_LAB=nf-coll-$$

parties() { # MACHINE: the numbers of members that the report measured
    if [ "$1" = cluster ]; then echo 8,16; else echo 8,16,32; fi
}
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
        for op in bcast reduce allreduce scan; do
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
crossovers() {
    local machine p from to delta
    echo "from,to,ports,machine,slaves,bytes" > "$dir/crossovers.csv"
    while read -r delta from to; do
        for machine in $names; do
            for p in $(parties "$machine" | tr , ' '); do
                echo "$from,$to,$([ "$delta" = 2 ] && echo half || echo full),$machine,$p,$(
                    crossover "$machine,delta=$delta" "$p" "$from" "$to")" \
                    >> "$dir/crossovers.csv"
            done
        done
    done << 'END'
2 bcast.binomial bcast.nesbt
2 bcast.binomial bcast.kseg
2 bcast.binomial bcast.pipeline.hd
2 bcast.binomial bcast.twopath.hd
2 bcast.binomial bcast.circulant
1 bcast.binomial bcast.circulant
2 bcast.kseg bcast.pipeline.hd
2 reduce.binomial reduce.seg
2 allreduce.reduce_bcast allreduce.seg_doubling
2 scan.brent_kung scan.pipeline.hd
END
}

# ----------------------------------------------------- what the report says

check_line() { echo "$1,$2,$3" >> "$dir/checks.csv"; }
ratio_of() { calc "printf(\"%.2f\", $1 / $2)"; }
checks() {
    local machine a t8 t32
    echo "statement,machine,number" > "$dir/checks.csv"
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
        for a in $(parties "$machine" | tr , ' '); do
            check_line "allreduce of 512 KiB over $a: reduce+bcast / segmented" \
                "$machine" "$(ratio_of \
                    "$(one "$machine" "$a" allreduce.reduce_bcast 512KiB)" \
                    "$(one "$machine" "$a" allreduce.seg_doubling 512KiB)")"
        done
        for a in brent_kung rootp_chain rootp_seg_chain.hd pipeline.hd; do
            check_line "scan of 512 KiB over 16: linear / $a" "$machine" \
                "$(ratio_of "$(one "$machine" 16 scan.linear 512KiB)" \
                    "$(one "$machine" 16 scan.$a 512KiB)")"
        done
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
live_bench() { # OP
    local args=("$1" --algorithm all --sizes 8B,1KiB,16KiB,128KiB,1MiB
        --slaves "$(seq -s , 2 "$live_hosts")" --repeat "$live_repeats"
        --csv "$work/live.csv")
    local limit=$((live_until - SECONDS))
    [ $limit -gt 10 ] || return 2
    case $place in
    lab) timeout -k 5 $limit "$NF" lab exec ws0 "$NF" coll-bench "${args[@]}" \
        --hosts "$work/hosts" < /dev/null > /dev/null ;;
    *) timeout -k 5 $limit "$NF" coll-bench "${args[@]}" \
        --transport "$place" < /dev/null > /dev/null ;;
    esac
}
live() {
    local op status
    live_until=$((SECONDS + live_seconds))
    rm -f "$dir/live.csv"
    for op in $ops barrier; do
        live_bench "$op"
        status=$?
        if [ $status = 2 ] || [ $status = 124 ]; then
            echo "# $op and what follows is left out: $live_seconds s are over"
            break
        fi
        [ $status = 0 ] || exit 1
        if [ -e "$dir/live.csv" ]; then
            tail -n +2 "$work/live.csv" >> "$dir/live.csv"
        else
            cp "$work/live.csv" "$dir/live.csv"
        fi
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
    echo "# live: $live_hosts members, $place"
    live
    [ ! -e "$dir/live.csv" ] ||
        cut -d, -f1-5,10,13 "$dir/live.csv" > "$work/live.csv"
    markdown "$work/live.csv" > "$dir/live.md"
fi
[ ! -e "$work/failed" ] || exit 1
echo "# all in $dir"
