#!/bin/bash
# nowfarm sim hnow: means that are known, its table, CSV, JSON and pictures, and
# what it refuses.
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/lib.sh"
cd "$work" || exit 99

mean() { json "results.$1.mean"; }
near() { # near TEXT GOT WANT: to 1e-6
    check "$1: $2" awk -v a="$2" -v b="$3" \
        'BEGIN { d = a - b; exit !(a != "" && d * d <= 1e-12 * b * b) }'
}

# --- numbers ---------------------------------------------------------------

run sim hnow --nodes 10 --size 1kB --runs 1000 --json
same "JSON: exit status" "$rc" 0
check "JSON: nothing else on stdout" only_json
same "JSON: nodes" "$(json n)" 10
same "JSON: bytes" "$(json bytes)" 1000
near "FEF, blocking" "$(mean FEF-B)" 5349.426642
near "FEF, not blocking" "$(mean FEF-NB)" 2917.889967
near "ECEF, blocking" "$(mean ECEF-B)" 2490.311931
near "ECEF, reordered" "$(mean ECEF-NB+A1)" 1815.748846
near "what that gains" "$(mean 'ECEF A1 gain')" 110.921123
run sim hnow --nodes 40 --runs 200 --json
near "CRL" "$(mean CRL)" 2035.721856
near "CRL and the bound" "$(mean CRL/LB)" 1.210049
run sim hnow --nodes 40 --runs 200 --json
mv out first
run sim hnow --nodes 40 --runs 200 --json
check "the same again" cmp -s first out
run sim hnow --nodes 1,2 --runs 3 --size 0B --json
same "one node, nothing to send: exit status" "$rc" 0
same "one node takes no time" "$(json rows.0.results.CRL.max)" 0.0

# --- table, CSV, pictures --------------------------------------------------

run sim hnow --nodes 3,10 --runs 100 --csv t.csv
same "table: exit status" "$rc" 0
same "table: rows" "$(grep -c '^10 ' out)" 4
check "table: figures are named" grep -q '^Figure 4: ' out
same "CSV: lines" "$(wc -l < t.csv)" 31
same "CSV: fields" "$(awk -F, '{ n[NF]++ } END { print n[8] }' t.csv)" 31
if command -v gnuplot > /dev/null; then
    run sim hnow --nodes 3,10,20 --runs 20 --plot p.svg
    same "pictures: exit status" "$rc" 0
    for figure in 3 4; do
        check "pictures: figure $figure" grep -q '</svg>' p-$figure.svg
    done
    run sim hnow --nodes 3,10,20 --runs 20 --plot p.svg --figure 4
    check "one picture: to the very file" grep -q '</svg>' p.svg
fi

# --- what it refuses -------------------------------------------------------

# bad TEXT PATTERN ARGS...
bad() {
    local text=$1 pattern=$2
    shift 2
    run -t 10 sim hnow "$@"
    refused 2 "$text"
    check "$text: the line says what" err_says "$pattern"
}
bad "no nodes" '--nodes 0' --nodes 0
bad "an empty list" '--nodes' --nodes ''
bad "a list that ends early" '--nodes' --nodes 3,
bad "too many nodes" '--nodes 2001' --nodes 3,2001
bad "no number" '--nodes x' --nodes x
bad "a long word" '--nodes' --nodes 11111111111111111111111111111111111111111
bad "a long list" 'at most 32' --nodes "$(seq -s, 1 40)"
bad "no unit" '--size 1000' --size 1000
bad "NaN" '--size nan' --size nan
bad "negative size" '--size -1B' --size -1B
bad "too large" '--size 2GiB' --size 2GiB
bad "no runs" '--runs 0' --runs 0
bad "too many runs" '--runs 100001' --runs 100001
bad "stray argument" stray stray
bad "unknown option" frob --frob
bad "a figure that is not there" '--figure 5' --figure 5 --plot x.svg
bad "a figure and no picture" '--plot' --figure 3
bad "a directory that is not there" 'nodir' --csv nodir/t.csv
bad "no kind of picture" 'x-3.txt' --plot x.txt
finish
