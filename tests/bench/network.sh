#!/bin/bash
# network.sh - broadcasts by a network that was measured: a lab of 8 hosts, of
# which two have 20 % of a processor and two have links of 20 Mbit/s, the others
# 100.  `nowfarm probe` measures it and then every tree of `nowfarm trees`, beside
# what the model says.  Then bcast.tree of a group that has that model beside all
# other broadcasts there are, each in the segments that the group gives it.  Last
# what that is beside the goals, see network-goals.sh; the exit status is 1 if one was
# missed.
#
#   [SIZES=1KiB,64KiB,1MiB] [REPEATS=5] [BUDGET=30s] [PAUSE=1ms]
#       network.sh [-f FRAMES] [-g] [MODEL]
#
# PAUSE comes before each broadcast of a group.  With its barriers one of 1 KiB puts 1.5 kB
# on each link, 0.6 ms at 20 Mbit/s: in a row each waits for what the one before has left,
# and what the model predicts is of links that are idle.  PAUSE=0ms: all in a row.
#
# BUDGET is that of both probes (`nowfarm probe --budget`, whose default it is): of the one
# whose model all of this goes by, and of one before it, whose time is to be less than a
# minute, with what it measures of groups, and without trees.
#
#   -f  frames that a link lets through at a time (default: 3; see `nowfarm lab`):
#       frame by frame, timers for 8 hosts of 100 Mbit/s are more than two processors
#       can do, and the processors are measured and not the links
#   -g  broadcasts of groups only, no trees by bare relays, of which those of long
#       messages take the most of the time
#
# MODEL: keep the model file.  Some sixteen minutes with REPEATS=3.
. "${0%/*}/bench-lib.sh"
need_pvm
sizes=${SIZES:-1KiB,64KiB,1MiB}
pause=${PAUSE:-1ms}
budget=(${BUDGET:+--budget "$BUDGET"})
frames=3 groups_only=
wrong() {
    echo "network.sh: $*" >&2
    exit 2
}
while getopts f:gh option; do
    case $option in
    f) frames=$OPTARG ;;
    g) groups_only=yes ;;
    h) sed -n '2,/^\. /s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) wrong "see network.sh -h" ;;
    esac
done
shift $((OPTIND - 1))
[[ $frames =~ ^[1-9][0-9]?$ ]] || wrong "$frames is not a number of frames"
export NOWFARM_LAB=nf-network-$$
reason=$("$NF" lab check 2>&1) || skip "${reason##*$'\n'}"
test_cleanup() { "$NF" lab down 2> /dev/null; }
"$NF" lab check --json > "$work/can" 2> /dev/null
for feature in rates cpu; do
    [ "$("$jsonget" "$work/can" features.$feature)" = true ] ||
        skip "the lab has no $feature here"
done
machine

lab() { "$NF" lab "$@" > /dev/null || exit 1; }
lab up 7 100mbit --frames="$frames"
for host in ws2 ws5; do lab cpu $host 20%; done
for host in ws3 ws6; do lab rate $host 20mbit; done
seq -f ws%g 0 7 > "$work/hosts"

# on_ws0 ARGS...: `nowfarm ARGS` there, its output in $work/out
on_ws0() {
    timeout 900 "$NF" lab exec ws0 "$NF" "$@" > "$work/out" 2> "$work/err" \
        < /dev/null && return
    echo "nowfarm $* failed:" >&2
    cat "$work/err" >&2
    exit 1
}
# column LIST FIELD: a line for each of that list in $work/out
column() { json "$1.*.$2"; }

# --- how long a probe takes: one that sends no trees along
on_ws0 probe --hosts "$work/hosts" "${budget[@]}" \
    -o "$work/first.json" --json
probe_s=$(json elapsed_s)

# --- trees, each by the same relays
trees=(--validate --trees "$sizes")
[ -z "$groups_only" ] || trees=()
on_ws0 probe --hosts "$work/hosts" "${budget[@]}" \
    -o "$work/model.json" "${trees[@]}" --json
[ $# = 0 ] || cp "$work/model.json" "$1"
echo "# ws2, ws5: 20 % of a processor; ws3, ws6: 20 Mbit/s; the others 100; $frames frames at a time"
echo "# probed in $(json elapsed_s) s, with trees: $(json points) times, $(json uneven) uneven"
printf '# what a message of a group takes beyond a bare one, us a host:'
for ((i = 0; i < 8; i++)); do
    printf ' %.1f' "$(json network.hosts.$i.runtime_us || echo 0)"
done
printf '\n# and a broadcast beyond its messages: %.0f us, and %.1f us a hop\n' \
    "$(json network.call_us || echo 0)" "$(json network.wake_us || echo 0)"
bare_trees() {
    for field in bytes tree nodes segments predicted_us measured_us; do
        column validation $field > "$work/column.$field"
    done
    paste "$work"/column.{bytes,tree,nodes,segments,predicted_us,measured_us} \
        > "$work/trees"
    printf '\n# trees, sent along by bare relays\n'
    show='{printf("%9d %-22s %5s %8s %12.0f %12.0f %+6.0f %%\n", $1, $2, $3, $4, $5,
        $6, 100 * ($5 / $6 - 1))}'
    printf '%9s %-22s %5s %8s %12s %12s %8s\n' bytes tree nodes segments \
        "predicted us" "measured us" error
    sort -s -k1,1n -k6,6g "$work/trees" | awk "$show"
}
: > "$work/trees"
[ -n "$groups_only" ] || bare_trees

# --- broadcasts of groups
# Of 1000 calls of 0.3 ms the medians of one and the same algorithm, measured twice in the
# same turns, are 2 % apart; without --repeat there would be 200.
for ((round = 0; round < repeats; round++)); do
    for size in ${sizes//,/ }; do
        often=()
        [ "$(numfmt --from=auto "${size%B}")" -gt 4096 ] || often=(--repeat 1000)
        on_ws0 coll-bench bcast --hosts "$work/hosts" --network "$work/model.json" \
            --algorithm all --sizes "$size" --pause "$pause" "${often[@]}" --json
        column results bytes > "$work/bytes"
        column results algorithm > "$work/algorithm"
        column results auto > "$work/chosen"
        column results segments > "$work/segments"
        column results median_us > "$work/us"
        paste "$work"/{bytes,algorithm,chosen,segments,us} |
            awk '$3 != "true" {print $1, $2, $4, $5}' >> "$work/rounds"
    done
done
sort -k1,1n -k2,2 -k4,4g "$work/rounds" | awk '
    function out() {
        if (n > 0) print key, n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    $1 " " $2 != last {out(); n = 0; last = $1 " " $2; key = last " " $3}
    {v[++n] = $4} END {out()}' > "$work/medians"
printf '\n# broadcasts of a group that has the model, %s apart; medians of %s rounds\n' \
    "$pause" "$repeats"
printf '%9s %-22s %8s %12s %12s %8s\n' bytes algorithm segments "predicted us" \
    "measured us" error
sort -k1,1n -k4,4g "$work/medians" | while read -r bytes name segments us; do
    if "$NF" plan bcast "${name#bcast.}" --network "$work/model.json" \
        --segments "$segments" --size "${bytes}B" --json > "$work/out" 2> "$work/err"; then
        predicted=$(json network.predicted_us)
    else
        predicted=-
    fi
    echo "$bytes $name $segments $predicted $us"
done > "$work/both"
awk '{printf("%9d %-22s %8s %12.0f %12.0f %+6.0f %%\n", $1, $2, $3, $4, $5,
    $4 > 0 ? 100 * ($4 / $5 - 1) : 0)}' "$work/both"

echo
goals=()
[ -z "$groups_only" ] || goals=(-g)
bash "${0%/*}/network-goals.sh" "${goals[@]}" "$probe_s" \
    "$(cut -d ' ' -f 1 "$work/rounds" | sort -un | paste -sd ,)" "$work/trees" "$work/both"
