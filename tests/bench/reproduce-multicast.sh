#!/bin/bash
# reproduce-multicast.sh - the experiments of two papers on multicast, again: Lee
# (Trans. KIPS 6(9), 1999), multicast on a wormhole mesh, its Figures 10 to 14,
# Table 1 and examples; and Sawahata and Shibusawa, multicast on networks of
# workstations that differ, their Figures 3 and 4.  All is simulated, and the
# same numbers come out everywhere.
#
#   [RUNS=1000] [PLACEMENTS=16] [NODES=3,5,...] reproduce-multicast.sh [DIR]
#
# RUNS networks for each number of NODES, PLACEMENTS of nodes on the mesh.
#
# Writes into DIR (reproduce-multicast):
#   facts.csv .md         single times that the first paper prints, and ours
#   figure-10.csv .md     Figure 10, by the model of that machine, us
#   mesh.csv              Figures 11 to 14, every point
#   figure-11.md ... -14.md     the same as tables, us
#   mesh-checks.csv .md   what the paper says of these figures, in numbers
#   hnow.csv              Figures 3 and 4, every column
#   figure-3.md, figure-4.md, planner.md
#   hnow-checks.csv .md   what the other paper says, in numbers
#   figure-3.svg, -4.svg, -10.svg ... -14.svg         plots (need gnuplot)
# Exit status: 0 when all was computed, whatever came out; 1 if a run failed.
. "${0%/*}/bench-lib.sh"
dir=${1:-reproduce-multicast}
mkdir -p "$dir" || exit 1
runs=${RUNS:-1000} placements=${PLACEMENTS:-16}
nodes=${NODES:-3,5,10,20,40,60,80,100}

die() {
    echo "$*" >&2
    exit 1
}
# markdown FILE.csv: as a table
markdown() {
    awk -F, '{printf("|"); for (i = 1; i <= NF; i++) printf(" %s |", $i); print ""}
        NR == 1 {printf("|"); for (i = 1; i <= NF; i++) printf("---|"); print ""}' "$1"
}
# seconds ARGS...: nowfarm ARGS, and say how long that kept a processor busy
seconds() {
    local TIMEFORMAT='%U %S'
    { time "$NF" "$@" > "$work/out"; } 2> "$work/time" ||
        die "nowfarm $* failed: $(cat "$work/time")"
    tail -n 1 "$work/time" | awk -v what="$1 $2" \
        '{printf("# nowfarm %s: %.1f s of one processor\n", what, $1 + $2)}'
}

# ------------------------------------------------------------- single examples

# fact STATEMENT PRINTED TREE ARGS...
fact() {
    local statement=$1 printed=$2
    run tree "${@:3}" --json
    [ "$rc" = 0 ] || die "nowfarm tree ${*:3} failed"
    echo "$statement,$printed,$(printf %.10g "$(json time)")" >> "$dir/facts.csv"
}
facts() {
    local k=2 t at='3,2/1,5/2,1/3,4/4,3/4,4/5,1/5,4'
    echo "what,printed,ours" > "$dir/facts.csv"
    for t in 55 75 95 110 115 130 130 135; do
        fact "Table 1: $k nodes (hold 20; end 55)" $t opt --nodes $k --hold 20 --end 55
        k=$((k + 1))
    done
    fact "7 nodes (10; 40): OPT-tree" 80 opt --nodes 7 --hold 10 --end 40
    fact "the same: binomial" 120 binomial --nodes 7 --hold 10 --end 40
    fact "the same: binomial whose root keeps the larger half" - \
        binomial-rootceil --nodes 7 --hold 10 --end 40
    fact "the same: binomial by the bits of the rank" - binomial-bits --nodes 7 \
        --hold 10 --end 40
    fact "7 nodes (20; 20): OPT-tree" 60 opt --nodes 7 --hold 20 --end 20
    fact "the same: binomial" 60 binomial --nodes 7 --hold 20 --end 20
    fact "Figure 3: 4 nodes (2; 5): sequential" 9 sequential --nodes 4 --hold 2 --end 5
    fact "the same: OPT-tree" 9 opt --nodes 4 --hold 2 --end 5
    fact "the same: binomial" 10 binomial --nodes 4 --hold 2 --end 5
    fact "the same: chain" 15 chain --nodes 4 --hold 2 --end 5
    fact "8 nodes of a 6x6 mesh (20; 55): OPT-mesh" 130 opt-mesh --shape 6x6 \
        --at "$at" --hold 20 --end 55
    fact "the same: U-mesh" 165 u-mesh --shape 6x6 --at "$at" --hold 20 --end 55
}

# ------------------------------------------------------------------- Figure 10

# Measured on an IBM SP, but here by the model: 1 byte and 1 KiB.  One of its three
# trees is not described; the three binomial ones that there are stand for it.
sp_trees=(opt binomial binomial-rootceil binomial-bits)
figure_10() {
    local bytes k tree row
    (
        IFS=,
        echo "bytes,nodes,${sp_trees[*]}"
    )
    for bytes in 1 1024; do
        for k in {2..16} {24..128..8}; do
            row=$bytes,$k
            for tree in "${sp_trees[@]}"; do
                run tree "$tree" --nodes "$k" --json \
                    --hold "$(awk "BEGIN {print 20 + 0.02 * $bytes}")" \
                    --end "$(awk "BEGIN {print 55 + 0.07 * $bytes}")"
                [ "$rc" = 0 ] || die "nowfarm tree $tree failed"
                row+=,$(printf %.10g "$(json time)")
            done
            echo "$row"
        done
    done
}
# figure_10_plot: gnuplot's commands; both sizes side by side
figure_10_plot() {
    local bytes i plots
    echo "set terminal svg size 900,400; set output '$dir/figure-10.svg'"
    echo "set datafile separator ','; set key left top; set multiplot layout 1,2"
    echo "set xlabel 'nodes'; set ylabel 'us'; set yrange [0:]"
    for bytes in 1 1024; do
        plots=
        for i in "${!sp_trees[@]}"; do
            plots+="${plots:+, }'$dir/figure-10.csv' every ::1 using "
            plots+="(\$1 == $bytes ? \$2 : 1/0):$((i + 3)) with linespoints "
            plots+="pointsize 0.4 title '${sp_trees[i]}'"
        done
        echo "set title '$bytes byte$([ $bytes = 1 ] || echo s)'; plot $plots"
    done
    echo "unset multiplot"
}
sp() {
    figure_10 > "$dir/figure-10.csv" || exit 1
    awk -F, 'NR == 1 || $2 ~ /^(2|4|7|8|16|32|64|96|128)$/' "$dir/figure-10.csv" \
        > "$work/table.csv"
    markdown "$work/table.csv" > "$dir/figure-10.md"
    ! command -v gnuplot > /dev/null ||
        figure_10_plot | gnuplot || die "figure 10 was not drawn"
}

# -------------------------------------------------------------------- the mesh

# mesh_table FIGURE COLUMN: a line for each x, a column for each tree
mesh_table() {
    awk -F, -v f="$1" -v x="$2" 'BEGIN {title = x == 3 ? "bytes" : "nodes"}
        NR > 1 && $1 == f {
            if (!($x in had)) {had[$x] = 1; xs[++n] = $x}
            if (!($4 in seen)) {seen[$4] = 1; names[++m] = $4}
            value[$x, $4] = $6; waits[$x, $4] = $11
        } END {
            printf("%s", title)
            for (j = 1; j <= m; j++) printf(",%s [us]", names[j])
            printf(",times that headers of opt-tree wait\n")
            for (i = 1; i <= n; i++) {
                printf("%s", xs[i])
                for (j = 1; j <= m; j++) printf(",%.1f", value[xs[i], names[j]])
                printf(",%.1f\n", waits[xs[i], "opt-tree"])
            }
        }' "$dir/mesh.csv"
}
mesh_checks() {
    local right
    echo "statement,number"
    awk -F, 'NR > 1 {
        key = $1 "," $2 "," $3; us[key, $4] = $6
        if (!(key in had)) {had[key] = 1; keys[++n] = key}
        if ($11 > 0) blocked[$4]++
        if ($4 == "opt-mesh" && $6 - $10 > more) more = $6 - $10
    } END {
        for (i = 1; i <= n; i++) {
            a = us[keys[i], "opt-mesh"]; b = us[keys[i], "opt-tree"]
            c = us[keys[i], "u-mesh"]
            ordered += a < b && b < c
        }
        printf("points where OPT-mesh < OPT-tree < U-mesh,%d of %d\n", ordered, n)
        printf("points where headers of OPT-mesh or U-mesh wait,%d\n",
            blocked["opt-mesh"] + blocked["u-mesh"])
        printf("points where headers of OPT-tree wait,%d\n", blocked["opt-tree"])
        printf("OPT-mesh less the OPT time without distances: at most,%.2f us\n",
            more)
    }' "$dir/mesh.csv"
    awk -F, '$1 == 11 || $1 == 12 { # off the line through 1 KiB and 64 KiB
        us[$1, $4, $3] = $6; sizes[$3] = 1; names[$4] = 1; figures[$1] = 1
    } END {
        for (f in figures) for (a in names) {
            slope = (us[f, a, 65536] - us[f, a, 1024]) / (65536 - 1024)
            for (s in sizes) {
                line = us[f, a, 1024] + slope * (s - 1024)
                d = us[f, a, s] / line - 1
                if (d < 0) d = -d
                if (s > 0 && d > most[a]) most[a] = d
                if (s == 0 && d > none[a]) none[a] = d
            }
        }
        for (a in names)
            printf("%s: most that 1 to 64 KiB are off a straight line; 0 bytes,%.2f %%; %.2f %%\n",
                a, 100 * most[a], 100 * none[a])
    }' "$dir/mesh.csv" | sort
    awk -F, '($1 == 13 || $1 == 14) {us[$1, $2, $4] = $6} END {
        split("8 32 128 256", ks, " ")
        for (f = 13; f <= 14; f++) for (i = 1; i <= 4; i++) {
            k = ks[i]
            printf("%s %d nodes: U-mesh / OPT-mesh; OPT-tree / OPT-mesh,%.2f; %.2f\n",
                f == 13 ? "4 KiB" : "64 KiB", k,
                us[f, k, "u-mesh"] / us[f, k, "opt-mesh"],
                us[f, k, "opt-tree"] / us[f, k, "opt-mesh"])
        }
    }' "$dir/mesh.csv"
    for right in first last; do
        run sim mesh --nodes 256 --size 4KiB --algorithm opt-mesh \
            --runs "$placements" --routing $right --json
        [ "$rc" = 0 ] || die "the other routing failed"
        echo "OPT-mesh 256 nodes 4 KiB routed $right coordinate first: us; headers that wait,$(
            awk -v t="$(json mean_us)" -v b="$(json blocked_headers)" \
                'BEGIN {printf("%.1f; %.1f", t, b)}')"
    done
}
mesh() {
    local f draw=()
    ! command -v gnuplot > /dev/null || draw=(--plot "$dir/figure.svg")
    seconds sim mesh --runs "$placements" --csv "$dir/mesh.csv" "${draw[@]}"
    for f in 11 12 13 14; do
        mesh_table $f $((f <= 12 ? 3 : 2)) > "$work/table.csv"
        markdown "$work/table.csv" > "$dir/figure-$f.md"
    done
    mesh_checks > "$dir/mesh-checks.csv" || exit 1
}

# ------------------------------------------------------- hosts that are not equal

# hnow_table DECIMALS NAME...: means, a line for each number of nodes; ratios have
# three decimals
hnow_table() {
    local decimals=$1
    shift
    awk -F, -v d="$decimals" -v list="$(printf '%s;' "$@")" '
        NR > 1 {
            if (!($1 in had)) {had[$1] = 1; ns[++n] = $1}
            mean[$1, $4] = $5
        } END {
            m = split(list, names, ";") - 1
            printf("nodes")
            for (j = 1; j <= m; j++) printf(",%s", names[j])
            print ""
            for (i = 1; i <= n; i++) {
                printf("%s", ns[i])
                for (j = 1; j <= m; j++)
                    printf(",%.*f", names[j] ~ "/" ? 3 : d, mean[ns[i], names[j]])
                print ""
            }
        }' "$dir/hnow.csv"
}
hnow_checks() {
    awk -F, 'NR > 1 {
        if (!($1 in had)) {had[$1] = 1; ns[++n] = $1}
        mean[$1, $4] = $5; se[$1, $4] = $6 / sqrt($3)
    } END {
        print "statement,FEF,ECEF"
        for (i = 1; i <= n; i++)
            printf("%d nodes: blocking less non-blocking [us],%.0f,%.0f\n", ns[i],
                mean[ns[i], "FEF-B"] - mean[ns[i], "FEF-NB"],
                mean[ns[i], "ECEF-B"] - mean[ns[i], "ECEF-NB"])
        for (i = 1; i <= n; i++)
            printf("%d nodes: what Algorithm 1 gains (standard error) [us],%.1f (%.1f),%.1f (%.1f)\n",
                ns[i], mean[ns[i], "FEF A1 gain"], se[ns[i], "FEF A1 gain"],
                mean[ns[i], "ECEF A1 gain"], se[ns[i], "ECEF A1 gain"])
    }' "$dir/hnow.csv"
}
hnow() {
    local draw=()
    ! command -v gnuplot > /dev/null || draw=(--plot "$dir/figure.svg")
    seconds sim hnow --runs "$runs" --nodes "$nodes" --csv "$dir/hnow.csv" \
        "${draw[@]}"
    hnow_table 0 FEF-B FEF-NB ECEF-B ECEF-NB > "$work/table.csv"
    markdown "$work/table.csv" > "$dir/figure-3.md"
    hnow_table 1 FEF-NB FEF-NB+A1 "FEF A1 gain" ECEF-NB ECEF-NB+A1 \
        "ECEF A1 gain" > "$work/table.csv"
    markdown "$work/table.csv" > "$dir/figure-4.md"
    hnow_table 0 ECEF-NB+A1 ECEF-LA-NB+A1 FNF-NB+A1 CRL "CRL/(ECEF+A1)" CRL/LB \
        > "$work/table.csv"
    markdown "$work/table.csv" > "$dir/planner.md"
    hnow_checks > "$dir/hnow-checks.csv"
}

facts
sp
mesh
hnow
for table in facts mesh-checks hnow-checks; do
    markdown "$dir/$table.csv" > "$dir/$table.md"
done
for table in facts figure-10 figure-11 figure-12 figure-13 figure-14 mesh-checks figure-3 \
    figure-4 planner hnow-checks; do
    printf '\n%s\n\n' "$table"
    cat "$dir/$table.md"
done
echo "# all in $dir"
