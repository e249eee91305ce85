#!/bin/bash
# reproduce-alltoall.sh - the numbers of Kim, Kang and Chung on all-to-all exchanges in
# wormhole networks, again: their Table 1, and the times that it stands for, on tori of 3x3
# to 16x16 and for blocks of 1 byte to 16 KiB.  All is simulated, and the same numbers
# come out everywhere.
#
#   reproduce-alltoall.sh [DIR]
#
# Writes into DIR (reproduce-alltoall):
#   table-1.csv .md          start-ups: ours, printed, and by the formulas of the text
#   figure-n.csv .md         times against N, blocks of 64 bytes
#   figure-size.csv .md      times against the size of blocks, on 8x8
#   checks.csv .md           what can be said of these, in numbers
#   table-1.svg, figure-n.svg, figure-size.svg       plots (need gnuplot)
# Exit status: 0 when all was computed, whatever came out; 1 if a run failed.
. "${0%/*}/bench-lib.sh"
dir=${1:-reproduce-alltoall}
mkdir -p "$dir" || exit 1

# markdown FILE.csv: as a table
markdown() {
    awk -F, '{printf("|"); for (i = 1; i <= NF; i++) printf(" %s |", $i); print ""}
        NR == 1 {printf("|"); for (i = 1; i <= NF; i++) printf("---|"); print ""}' "$1"
}
# torus NAME ARGS...: nowfarm sim torus ARGS, its CSV and its plot
torus() {
    local name=$1 draw=()
    shift
    ! command -v gnuplot > /dev/null || draw=(--plot "$dir/$name.svg")
    run -t 600 sim torus "$@" --csv "$work/$name.csv" "${draw[@]}"
    [ "$rc" = 0 ] && return
    echo "nowfarm sim torus $* failed with exit status $rc:" >&2
    cat "$work/err" >&2
    exit 1
}
# by_name PROGRAM FILE: awk, in which at["column"] is the number of that column
by_name() {
    awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i} '"$1" "$2"
}

torus table-1
torus figure-n --figure n
torus figure-size --figure size

by_name 'NR == 1 {print "N,naive (printed),Split-and-Merge (printed; text),MDH (printed; text),Tseng by formula (printed),cyclic double hop,Bruck along sides"}
    NR > 1 {
        printf("%s,%s (%s),%s (%s; %s),%s (%s; %s),%s (%s),%s,%s\n", $1,
            $at["naive"], $at["printed_naive"], $at["split_merge0"],
            $at["printed_split_merge0"], $at["text_split_merge0"], $at["mdh"],
            $at["printed_mdh"], $at["text_mdh"], $at["tseng"], $at["printed_tseng"],
            $at["cdh"], $at["bruck_grid"])
    }' "$work/table-1.csv" > "$dir/table-1.csv"

# figure COLUMN TITLE NAME: times, a line for each value of that column
figure() {
    by_name 'NR > 1 {
            x = $at["'"$1"'"]; name = substr($at["algorithm"], 10)
            if (name == "dh" || name == "mdh") name = "dh or mdh"
            if (!(x in had)) {had[x] = 1; xs[++n] = x}
            if (!((x, name) in us) || $at["time_us"] < us[x, name])
                us[x, name] = $at["time_us"]
        } END {
            m = split("naive;dh or mdh;split_merge;cdh;bruck_grid;pairwise_grid;mixed;pairwise_shift;pairwise_xor;burst", names, ";")
            printf("'"$2"'")
            for (j = 1; j <= m; j++) printf(",%s [us]", names[j])
            print ""
            for (i = 1; i <= n; i++) {
                printf("%s", xs[i])
                for (j = 1; j <= m; j++)
                    if ((xs[i], names[j]) in us) printf(",%.0f", us[xs[i], names[j]])
                    else printf(",-")
                print ""
            }
        }' "$work/$3.csv" > "$dir/$3.csv"
}
figure shape torus figure-n
figure block_bytes "bytes" figure-size

{
    echo "statement,number"
    by_name 'NR > 1 {
            same += $at["naive"] == $at["printed_naive"]
            same += $at["split_merge0"] == $at["printed_split_merge0"]
            same += $at["mdh"] == $at["printed_mdh"]
            same += $at["tseng"] == $at["printed_tseng"]
            merge += $at["text_split_merge0"] == $at["printed_split_merge0"]
            mdh += $at["text_mdh"] == $at["printed_mdh"]
            less += $at["mdh"] < $at["split_merge0"]
            n++
        } END {
            printf("numbers of Table 1 that come out,%d of %d\n", same, 4 * n)
            printf("Split-and-Merge: the text has what the table has,%d of %d\n", merge, n)
            printf("MDH: the text has what the table has,%d of %d\n", mdh, n)
            printf("N at which MDH has fewer start-ups than Split-and-Merge,%d of %d\n", less, n)
        }' "$work/table-1.csv"
    cat "$work/figure-n.csv" "$work/figure-size.csv" > "$work/both.csv"
    by_name 'NR > 1 && $1 != "shape" && $at["free_promised"] == 1 {
            promised++; kept += $at["free"] == 1
        } END {printf("points free of contention as promised,%d of %d\n", kept, promised)}' \
        "$work/both.csv"
    for figure in n size; do
        by_name 'NR > 1 && $at["time_us"] != "" {
                x = "'$figure'" == "n" ? $at["shape"] : $at["block_bytes"] " bytes"
                if (!(x in best)) xs[++n] = x
                if (!(x in best) || $at["time_us"] < best[x]) {
                    best[x] = $at["time_us"]; who[x] = substr($at["algorithm"], 10)
                }
            } END {
                for (i = 1; i <= n; i++)
                    if (who[xs[i]] != who[xs[i - 1]])
                        printf("fastest from %s on,%s\n", xs[i], who[xs[i]])
            }' "$work/figure-$figure.csv"
    done
} > "$dir/checks.csv"

for table in table-1 figure-n figure-size checks; do
    markdown "$dir/$table.csv" > "$dir/$table.md"
    printf '\n%s\n\n' "$table"
    cat "$dir/$table.md"
done
echo "# all in $dir"
